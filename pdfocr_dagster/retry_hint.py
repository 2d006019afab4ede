"""The command that reads again what failed, with the options that make it read as the run did."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from pdfocr_core.cpu_engine.models import DEFAULT_MODEL
from pdfocr_core.settings import EngineKind, ServerSettings

__all__ = ["engine_options", "retry_words"]


def engine_options(server: ServerSettings) -> list[str]:
    """Who reads, as options of `pdfocr retry`. A server's URL that holds a secret is left to be filled in."""
    words = [] if server.engine is EngineKind.AUTO else ["--engine", server.engine.value]
    if server.model is not None:
        words += ["--model", server.model]
    if server.cpu_model != DEFAULT_MODEL:
        words += ["--cpu-model", server.cpu_model]
    for url in server.server_urls:
        words += ["--server", "URL" if "?" in url or "@" in url else url]
    words += [f"--vllm-arg={argument}" for argument in server.vllm_args]
    if server.accept_license:
        words.append("--accept-license")
    return words


def retry_words(
    workspace: str,
    server: ServerSettings,
    resources: Mapping[str, Mapping[str, Any]],
    *,
    collection: str,
    markdown: bool,
) -> str:
    """The whole command for a workspace, ready to be pasted.

    Args:
        workspace: as the user may write it.
        server: who read.
        resources: what else the run was given, by resource.
        collection: the run's.
        markdown: whether the run wrote Markdown.
    """
    pages, sources = resources.get("pages", {}), resources.get("sources", {})
    place = resources.get("workspace", {})
    words = ["pdfocr", "retry", workspace, *engine_options(server), *_filters(pages)]
    if pages.get("keep_margins"):
        words.append("--keep-margins")
    for name, value in (
        ("--text-layer", pages.get("text_layer")),
        ("--endpoint", place.get("endpoint")),
        ("--workspace-profile", place.get("profile")),
        ("--source-profile", sources.get("profile")),
        ("--collection", None if collection == "pdfocr" else collection),
    ):
        words += [] if value is None else [name, value]
    return shlex.join(words if markdown else [*words, "--no-markdown"])


def _filters(pages: Mapping[str, Any]) -> list[str]:
    """Documents that failed before they were judged are judged as the others were."""
    languages = pages.get("filter_languages") or []
    words = ["--apply-filter"] if languages and pages.get("filter_forms") and pages.get("filter_spam") else []
    return [*words, "--filter-language", ",".join(languages)] if languages else words
