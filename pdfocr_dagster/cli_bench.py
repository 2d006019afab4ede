"""The command `pdfocr bench`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_dagster.cli_options import existing, place_of, told_files

if TYPE_CHECKING:
    from pdfocr_core.bench.candidates import Candidate
    from pdfocr_core.bench.data import BenchData
    from pdfocr_core.bench.score import Score
    from pdfocr_core.workspace import Workspace

__all__ = ["bench"]

INCOMPLETE = 3


def bench(
    data: Annotated[
        Path | None, typer.Argument(help="A folder of olmOCR-Bench (pdfs/ and *.jsonl), or one of its JSONL files.")
    ] = None,
    candidates: Annotated[
        list[Path] | None, typer.Option(help="A folder of <stem>_pg<page>_repeat<n>.md; repeat for more.")
    ] = None,
    workspace: Annotated[
        list[str] | None, typer.Option("--workspace", "-w", help="A workspace that has read the PDFs; repeat for more.")
    ] = None,
    no_labels: Annotated[
        bool, typer.Option("--no-labels", help="Measure a workspace's text where nobody has written tests.")
    ] = False,
    pages: Annotated[int, typer.Option(min=1, help="With --no-labels: pages that are looked at, spread evenly.")] = 200,
    html: Annotated[
        Path | None, typer.Option(help="Write failures side by side with their pages to this file.")
    ] = None,
    html_pages: Annotated[int, typer.Option(min=0, help="Failed pages that are shown of each candidate.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    skip_baseline: Annotated[bool, typer.Option("--skip-baseline", help="Leave the baseline tests out.")] = False,
    force: Annotated[bool, typer.Option(help="Go on where pages have no test.")] = False,
    missing_as_empty: Annotated[bool, typer.Option(help="Count pages that were not read as empty.")] = False,
    prices: Annotated[str | None, typer.Option(help="IN,OUT of a million tokens, or IN,OUT,GPU_HOUR.")] = None,
    workspace_profile: Annotated[str | None, typer.Option(help="AWS profile for the workspaces.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="URL of an S3-compatible store.")] = None,
) -> None:
    """Score text with olmOCR-Bench, or measure it without labels. Exit code 3: a score is missing or incomplete."""
    from pdfocr_dagster.command import print_error

    try:
        if no_labels:
            _without_labels(workspace or [], pages, (endpoint, workspace_profile), as_json=as_json)
            return
        if data is None:
            raise ConfigurationError(
                "No benchmark is named.", remedy="pdfocr bench DATA, or --no-labels --workspace W."
            )
        scores = _scored(
            data,
            candidates or [],
            workspace or [],
            (endpoint, workspace_profile),
            prices,
            html,
            html_pages,
            baseline=not skip_baseline,
            every_page=not force,
            missing_as_empty=missing_as_empty,
        )
    except PdfocrError as error:
        print_error(error, Console(stderr=True))
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps({"candidates": [score.to_json(outcomes=True) for score in scores]}, indent=1))
    else:
        from pdfocr_dagster.benching import score_tables

        Console().print(score_tables(scores))
        if html is not None:
            Console().print(f"Failures beside their pages: {html}", markup=False, highlight=False, soft_wrap=True)
    if not all(score.complete for score in scores):
        raise typer.Exit(INCOMPLETE)


def _scored(
    path: Path,
    folders: list[Path],
    workspaces: list[str],
    reached: tuple[str | None, str | None],
    prices: str | None,
    html: Path | None,
    html_pages: int,
    *,
    baseline: bool,
    every_page: bool,
    missing_as_empty: bool,
) -> list[Score]:
    from pdfocr_core.bench.data import open_bench
    from pdfocr_core.bench.katex import formulas
    from pdfocr_core.bench.score import run_bench
    from pdfocr_dagster.comparing import parse_prices

    paid = parse_prices(prices)
    data = open_bench(path, baseline=baseline, every_page=every_page)
    judged = _candidates(data, folders, workspaces, reached)
    with formulas() as compare:
        results = [
            (one, run_bench(data, one, compare, missing_as_empty=missing_as_empty, prices=paid)) for one in judged
        ]
    if html is not None:
        from pdfocr_core.bench.html import bench_html
        from pdfocr_core.outputs.pictures import PagePictures
        from pdfocr_core.settings import RenderSettings

        with PagePictures(RenderSettings()) as pictures:
            made = bench_html(data, results, pictures, pages=html_pages)
        with told_files():
            html.parent.mkdir(parents=True, exist_ok=True)
            html.write_text(made, encoding="utf-8", errors="replace")
    return [score for _candidate, score in results]


def _candidates(
    data: BenchData, folders: list[Path], workspaces: list[str], reached: tuple[str | None, str | None]
) -> list[Candidate]:
    from pdfocr_core.bench.candidates import MarkdownFolder, WorkspacePages

    if not folders and not workspaces:
        folders = data.candidate_folders()
    if not folders and not workspaces:
        raise ConfigurationError(
            "There is nothing to judge.", remedy="Name --candidates DIR or --workspace W, or put folders beside pdfs/."
        )
    found: list[Candidate] = [MarkdownFolder(folder) for folder in folders]
    return found + [WorkspacePages(_opened(name, reached), data) for name in workspaces]


def _opened(name: str, reached: tuple[str | None, str | None]) -> Workspace:
    from pdfocr_dagster.storage import WorkspaceResource

    endpoint, profile = reached
    return WorkspaceResource(**place_of(existing(name), endpoint, profile)).open()


def _without_labels(names: list[str], pages: int, reached: tuple[str | None, str | None], *, as_json: bool) -> None:
    from pdfocr_core.bench.unlabelled import measure_workspace, shared_tables
    from pdfocr_core.outputs.compare import compare
    from pdfocr_core.outputs.pictures import PagePictures
    from pdfocr_core.settings import RenderSettings
    from pdfocr_dagster.benching import measure_tables

    if not 1 <= len(names) <= 2:
        raise ConfigurationError(
            "Without labels one workspace is measured, or two against each other.", remedy="Name --workspace W."
        )
    opened = [_opened(name, reached) for name in names]
    with PagePictures(RenderSettings()) as pictures:
        measured = [measure_workspace(workspace, pictures, pages) for workspace in opened]
    pair = None
    if len(opened) == 2:
        tables = shared_tables(opened[0], opened[1], pages)
        pair = (compare(opened[0], opened[1]).mean, sum(tables) / len(tables) if tables else None)
    if as_json:
        made: dict[str, Any] = {"workspaces": [one.to_json() for one in measured]}
        if pair is not None:
            made |= {"agreement": pair[0], "teds": pair[1]}
        typer.echo(json.dumps(made, indent=1))
    else:
        Console().print(measure_tables(measured, pair))
