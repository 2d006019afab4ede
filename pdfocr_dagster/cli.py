"""The `pdfocr` command.

Exit codes of `pdfocr run`: 0 every document is ok, 3 some are not, 2 wrong use or configuration, 1 the run failed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pdfocr_core.errors import PdfocrError
from pdfocr_core.settings import EngineKind, TextLayer
from pdfocr_dagster import cli_choices as choice
from pdfocr_dagster import cli_options as option
from pdfocr_dagster.cli_bench import bench
from pdfocr_dagster.cli_collections import import_olmocr, prune
from pdfocr_dagster.cli_compare import compare
from pdfocr_dagster.cli_export import export
from pdfocr_dagster.cli_options import absolute, existing, place_of, without_none
from pdfocr_dagster.cli_retry import retry
from pdfocr_dagster.cli_view import view

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Turn collections of PDFs into text for language models.",
)

OK, FAILED, WRONG_USE = 0, 1, 2

MetricsPortOption = Annotated[
    int | None, typer.Option("--metrics-port", min=1, max=65535, help="Serve counters for Prometheus on this port.")
]
LogFileOption = Annotated[str | None, typer.Option("--log-file", help="Append a log to this file, JSON lines.")]


def _version(wanted: bool) -> None:
    if wanted:
        from pdfocr_core import __version__

        typer.echo(f"pdfocr {__version__}")
        raise typer.Exit


@app.callback()
def _main(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    pass


@app.command()
def run(
    sources: Annotated[
        list[str] | None, typer.Argument(help="Files, folders, globs, archives, .txt lists, s3:// URLs.")
    ] = None,
    workspace: option.WorkspaceOption = "workspace",
    engine: Annotated[EngineKind | None, typer.Option(help="Who reads; auto takes vllm where a GPU is found.")] = None,
    model: Annotated[str | None, typer.Option(help="A model profile, hub id or local directory.")] = None,
    cpu_model: option.CpuModelOption = None,
    server: Annotated[list[str] | None, typer.Option(help="URL (with /v1) of a server that runs already.")] = None,
    vllm_arg: Annotated[list[str] | None, typer.Option(help="One argument for `vllm serve`; repeat for more.")] = None,
    markdown: Annotated[bool, typer.Option(help="Write Markdown files too.")] = True,
    pages_per_group: Annotated[int | None, typer.Option(min=1, help="Pages of a partition.")] = None,
    text_layer: Annotated[TextLayer | None, typer.Option(help="What a PDF's own text is used for.")] = None,
    in_flight: Annotated[int | None, typer.Option(min=1, help="Pages in flight; unset: the engine decides.")] = None,
    max_page_error_rate: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of bad pages that makes a document `failed`.")
    ] = None,
    source_profile: option.SourceProfileOption = None,
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
    collection: Annotated[str, typer.Option(help="Name of the collection in a shared Dagster instance.")] = "pdfocr",
    reread: Annotated[bool, typer.Option(help="Read every group again, whatever was read before.")] = False,
    accept_license: Annotated[bool, typer.Option(help="Accept a model's restricted licence.")] = False,
    page_range: choice.PagesOption = None,
    keep_lines: choice.KeepLinesOption = None,
    keep_margins: choice.KeepMarginsOption = None,
    reselect: choice.ReselectOption = False,
    apply_filter: choice.ApplyFilterOption = False,
    filter_languages: choice.LanguagesOption = None,
    filter_forms: choice.FormsOption = None,
    filter_spam: choice.SpamOption = None,
    filter_duplicates: choice.DuplicatesOption = None,
    filter_blank: choice.BlankOption = None,
    filter_min_pages: choice.MinPagesOption = None,
    filter_max_pages: choice.MaxPagesOption = None,
    filter_min_bytes: choice.MinBytesOption = None,
    filter_max_bytes: choice.MaxBytesOption = None,
    page_breaks: choice.PageBreaksOption = None,
    front_matter: choice.FrontMatterOption = None,
    tables: choice.TablesOption = None,
    normalize: choice.NormalizeOption = None,
    figures: choice.FiguresOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Progress and the books, one JSON object a line.")] = False,
    quiet: Annotated[bool, typer.Option(help="No progress, only the summary.")] = False,
    metrics_port: MetricsPortOption = None,
    log_file: LogFileOption = None,
) -> None:
    """Index the sources, read everything that is not done, write the results and the report."""
    from pdfocr_dagster.command import Order, carry_out
    from pdfocr_dagster.progress import own_stream

    # A process started in the background by a script may ignore Ctrl-C, and Dagster would then ignore SIGTERM too.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    inference = {
        "engine": engine.value if engine else None,
        "model": model,
        "cpu_model": option.cpu_model(cpu_model),
        "server_urls": option.server_urls(server),
        "vllm_args": vllm_arg or None,
        "accept_license": accept_license or None,
    }
    pages = {
        "text_layer": text_layer.value if text_layer else None,
        "in_flight": in_flight,
        "max_page_error_rate": max_page_error_rate,
        "reuse": False if reread else None,
        "page_range": page_range,
        "keep_lines": keep_lines,
        "keep_margins": keep_margins,
        "filter_languages": [filter_languages] if filter_languages else None,
        "filter_forms": filter_forms,
        "filter_spam": filter_spam,
        "filter_duplicates": filter_duplicates,
        "filter_blank": filter_blank,
        "filter_min_pages": filter_min_pages,
        "filter_max_pages": filter_max_pages,
        "filter_min_bytes": filter_min_bytes,
        "filter_max_bytes": filter_max_bytes,
        "markdown_page_breaks": page_breaks.value if page_breaks else None,
        "markdown_front_matter": front_matter,
        "markdown_tables": tables.value if tables else None,
        "markdown_normalize": normalize,
        "figures": figures,
        **(choice.like_olmocr(filter_languages) if apply_filter else {}),
    }
    index = {"sources": sources, "pages_per_group": pages_per_group}
    raise typer.Exit(
        carry_out(
            Order(
                workspace=absolute(workspace),
                collection=collection,
                index=without_none(index),
                resources={
                    "inference": without_none(inference),
                    "pages": without_none(pages),
                    "workspace": place_of(absolute(workspace), endpoint, workspace_profile),
                    "sources": without_none({"endpoint": endpoint, "profile": source_profile}),
                },
                markdown=markdown,
                again=reread or reselect,
                as_json=as_json,
                quiet=quiet,
                observing=option.observing(metrics_port, log_file),
            ),
            Console(file=own_stream(sys.stderr)),
        )
    )


app.command()(retry)


@app.command()
def status(
    workspace: Annotated[str, typer.Argument(help="The workspace to look at.")],
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as one JSON object.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One figure a line.")] = False,
) -> None:
    """Print what became of a workspace, during a run or after it: documents, pages, tokens, failures, what is to come."""
    from pdfocr_dagster.command import print_error
    from pdfocr_dagster.status import read_status, status_csv, status_tables
    from pdfocr_dagster.storage import WorkspaceResource

    try:
        found = read_status(WorkspaceResource(**place_of(existing(workspace), endpoint, workspace_profile)).open())
    except PdfocrError as error:
        print_error(error, Console(stderr=True))
        raise typer.Exit(WRONG_USE) from None
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=1))
    elif as_csv:
        typer.echo(status_csv(found), nl=False)
    else:
        Console().print(status_tables(found))


app.command()(prune)
app.command()(import_olmocr)
app.command()(view)
app.command()(compare)
app.command()(export)
app.command()(bench)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=0, help="OCR processes; 0 means one per core.")] = 0,
    cpu_model: option.CpuModelOption = None,
) -> None:
    """Run the CPU OCR server alone: OpenAI-compatible, no GPU. A key in PDFOCR_SERVER_API_KEY is then required."""
    if context.args:
        raise typer.BadParameter(f"unknown arguments: {' '.join(context.args)}")
    from pdfocr_core.cpu_engine.models import DEFAULT_MODEL
    from pdfocr_core.cpu_engine.server import command

    argv = command(host, port, workers, option.cpu_model(cpu_model) or DEFAULT_MODEL)
    os.execv(argv[0], argv)  # noqa: S606 - becomes the server


@app.command()
def models(
    profiles_dir: Annotated[
        Path | None, typer.Option(envvar="PDFOCR_PROFILES_DIR", help="A folder with model profiles of your own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """List the models that are known by name."""
    from pdfocr_core.engines.profile import all_profiles

    try:
        known = all_profiles([profiles_dir] if profiles_dir else [])
    except PdfocrError as error:
        Console(stderr=True).print(f"pdfocr: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(WRONG_USE) from None
    if as_json:
        typer.echo(json.dumps([profile.model_dump(mode="json") for profile in known], indent=1))
        return
    from rich.table import Table

    table = Table("name", "model", "tier", "size", "licence", "restricted", "vLLM", box=None, header_style="bold")
    for profile in known:
        licence = profile.licence
        restricted = "--accept-license" if licence.restricted else ""
        least, most = profile.serve.min_vllm, profile.serve.max_vllm
        versions = " ".join(words for words in (least and f">={least}", most and f"<={most}") if words)
        table.add_row(profile.name, profile.model, str(profile.tier), profile.size, licence.id, restricted, versions)
    # One line a model, also where the terminal is narrow: the list is made to be searched.
    Console(width=max(Console().width, 180)).print(table, markup=False, soft_wrap=True)


@app.command()
def doctor(
    workspace: option.WorkspaceOption = "workspace",
    engine: Annotated[EngineKind, typer.Option()] = EngineKind.AUTO,
    model: Annotated[str | None, typer.Option()] = None,
    cpu_model: option.CpuModelOption = None,
    server: Annotated[list[str] | None, typer.Option()] = None,
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
) -> None:
    """Check what a run would need and say what is missing."""
    from pdfocr_core.doctor import checks
    from pdfocr_core.settings import ServerSettings, StorageSettings
    from pdfocr_dagster.environment import settings_from
    from pdfocr_dagster.places import no_empty_folder

    given = {"engine": None if engine is EngineKind.AUTO else engine, "model": model, "server_urls": server or None}
    given |= {"cpu_model": cpu_model}
    console = Console()
    missing = 0
    try:
        storage = settings_from(
            StorageSettings, {"profile": workspace_profile, "endpoint": endpoint}, prefix="workspace_"
        )
        with no_empty_folder(absolute(workspace)):
            for check in checks(absolute(workspace), settings_from(ServerSettings, given), storage):
                missing += not check.ok
                sign = "[green]ok[/]     " if check.ok else "[red]missing[/]"
                console.print(f"{sign} {check.name}: ", end="", highlight=False)
                console.print(check.detail, markup=False, highlight=False, soft_wrap=True)
                if not check.ok and check.remedy:
                    console.print(f"         {check.remedy}", markup=False, highlight=False, soft_wrap=True)
    except PdfocrError as error:
        Console(stderr=True).print(f"pdfocr: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(WRONG_USE) from None
    raise typer.Exit(FAILED if missing else OK)


def main() -> None:
    """The console script."""
    app(prog_name="pdfocr")


if __name__ == "__main__":
    main()
