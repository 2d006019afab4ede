"""The command that a summary or report names works as shown: it reads with what the run read with."""

from __future__ import annotations

import io
import shlex
from typing import Any

import typer
from rich.console import Console

from pdfocr_core.outputs.books import Books
from pdfocr_core.outputs.failures import Failure, retry_command
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.settings import ServerSettings
from pdfocr_dagster.cli import app
from pdfocr_dagster.retry_hint import engine_options, retry_words
from pdfocr_dagster.summary import BadDocuments, print_summary

REMOTE: dict[str, Any] = {
    "engine": "remote",
    "model": "olmocr-2",
    "server_urls": ["http://a:8000/v1", "http://b:8000/v1"],
    "vllm_args": ["--max-model-len=4096"],
    "accept_license": True,
}


def parsed(command: str) -> dict[str, Any]:
    """What `pdfocr retry` takes the command for; an option that it does not have ends this."""
    program, name, *words = shlex.split(command)
    assert (program, name) == ("pdfocr", "retry")
    retry = typer.main.get_command(app).commands["retry"]  # type: ignore[attr-defined]
    context = retry.make_context("retry", words)
    return {
        key: getattr(value, "value", value)
        for key, value in context.params.items()
        if value not in (None, False, (), [])
    }


def test_every_option_is_one_that_retry_has() -> None:
    command = retry_words(
        "my letters",
        ServerSettings(**REMOTE),
        {
            "pages": {
                "text_layer": "off",
                "keep_margins": True,
                "filter_languages": ["de"],
                "filter_forms": True,
                "filter_spam": True,
            },
            "workspace": {"root": "/my letters", "endpoint": "http://s3:9000", "profile": "mine"},
            "sources": {"profile": "theirs"},
        },
        collection="letters",
        markdown=False,
    )
    assert parsed(command) == {
        "workspace": "my letters",
        "engine": "remote",
        "model": "olmocr-2",
        "server": REMOTE["server_urls"],
        "vllm_arg": REMOTE["vllm_args"],
        "accept_license": True,
        "text_layer": "off",
        "keep_margins": True,
        "apply_filter": True,
        "filter_languages": "de",
        "endpoint": "http://s3:9000",
        "workspace_profile": "mine",
        "source_profile": "theirs",
        "collection": "letters",
    }


def test_what_was_left_to_the_defaults_is_left_out() -> None:
    assert retry_words("w", ServerSettings(), {}, collection="pdfocr", markdown=True) == "pdfocr retry w"


def test_a_secret_is_never_shown() -> None:
    for url in ("https://me:secret@host/v1", "https://host/v1?key=secret"):
        assert engine_options(ServerSettings(server_urls=(url,))) == ["--server", "URL"]


def test_the_report_s_command_reads_with_the_same_engine() -> None:
    failure = Failure("documents", "failed", "truncated")
    command = retry_command("w", failure, engine_options(ServerSettings(**REMOTE)))
    assert parsed(command)["reason"] == ["truncated"]
    assert parsed(command)["server"] == REMOTE["server_urls"]


def test_the_summary_shows_it() -> None:
    bad = BadDocuments()
    bad.add(
        StatusRow(
            document_id="d",
            content_id="c",
            url="a.pdf",
            group="g",
            status=DocumentStatus.FAILED,
            reason="truncated",
            engine_id="e",
        )
    )
    console = Console(file=io.StringIO(), width=80)
    print_summary(console, Books(), bad, "w", None, retry="pdfocr retry w --engine cpu")
    assert console.file.getvalue().count("pdfocr retry w --engine cpu\n") == 1  # type: ignore[attr-defined]
