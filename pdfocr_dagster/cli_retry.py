"""The command `pdfocr retry`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from pdfocr_core.errors import PdfocrError
from pdfocr_core.settings import EngineKind, TextLayer
from pdfocr_dagster import cli_choices as choice
from pdfocr_dagster import cli_options as option

__all__ = ["retry"]

WRONG_USE = 2


def retry(
    workspace: Annotated[str, typer.Argument(help="The workspace with documents that did not end well.")],
    reason: Annotated[list[str] | None, typer.Option(help="Reason code to read again; repeat for more.")] = None,
    status: Annotated[list[str] | None, typer.Option(help="All reasons of documents with this status.")] = None,
    engine: Annotated[EngineKind | None, typer.Option(help="As for `pdfocr run`.")] = None,
    model: Annotated[str | None, typer.Option(help="As for `pdfocr run`.")] = None,
    cpu_model: option.CpuModelOption = None,
    server: Annotated[list[str] | None, typer.Option(help="As for `pdfocr run`.")] = None,
    vllm_arg: Annotated[list[str] | None, typer.Option(help="As for `pdfocr run`.")] = None,
    text_layer: Annotated[TextLayer | None, typer.Option(help="As for `pdfocr run`.")] = None,
    keep_margins: choice.KeepMarginsOption = None,
    apply_filter: choice.ApplyFilterOption = False,
    filter_languages: choice.LanguagesOption = None,
    markdown: Annotated[bool, typer.Option(help="Write Markdown files too.")] = True,
    source_profile: option.SourceProfileOption = None,
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
    collection: Annotated[str, typer.Option(help="As for `pdfocr run`.")] = "pdfocr",
    accept_license: Annotated[bool, typer.Option(help="As for `pdfocr run`.")] = False,
    quiet: Annotated[bool, typer.Option(help="No progress, only the summary.")] = False,
) -> None:
    """Read again what failed, and only that: documents and pages with these reasons. Without options: all failures."""
    from pdfocr_dagster.command import Order, carry_out, print_error
    from pdfocr_dagster.progress import own_stream
    from pdfocr_dagster.retrying import choose_failed
    from pdfocr_dagster.storage import WorkspaceResource

    root = option.existing(workspace)
    place = option.place_of(root, endpoint, workspace_profile)
    try:
        failed = choose_failed(WorkspaceResource(**place).open(), reason or (), status or ())
    except PdfocrError as error:
        print_error(error, Console(stderr=True))
        raise typer.Exit(WRONG_USE) from None
    inference = {
        "engine": engine.value if engine else None,
        "model": model,
        "cpu_model": option.cpu_model(cpu_model),
        "server_urls": option.server_urls(server),
        "vllm_args": vllm_arg or None,
        "accept_license": accept_license or None,
    }
    pages = {
        "retry": sorted(failed.reasons),
        "text_layer": text_layer.value if text_layer else None,
        "keep_margins": keep_margins,
        "filter_languages": [filter_languages] if filter_languages else None,
        **(choice.like_olmocr(filter_languages) if apply_filter else {}),
    }
    order = Order(
        workspace=root,
        collection=collection,
        resources={
            "inference": option.without_none(inference),
            "pages": option.without_none(pages),
            "workspace": place,
            "sources": option.without_none({"endpoint": endpoint, "profile": source_profile}),
        },
        markdown=markdown,
        retry=failed,
        quiet=quiet,
        observing=option.observing(),
    )
    raise typer.Exit(carry_out(order, Console(file=own_stream(sys.stderr))))
