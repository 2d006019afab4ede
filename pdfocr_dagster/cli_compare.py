"""The command `pdfocr compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pdfocr_core.errors import PdfocrError
from pdfocr_dagster.cli_options import existing, told_files

__all__ = ["compare"]

_PRICES = "Prices there: IN,OUT of a million tokens, or IN,OUT,GPU_HOUR."


def compare(
    first: Annotated[str, typer.Argument(help="A workspace.")],
    second: Annotated[str, typer.Argument(help="Another one, with the same documents read by another engine.")],
    html: Annotated[Path | None, typer.Option(help="Write the comparison to this HTML file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    pages: Annotated[int, typer.Option(min=0, help="Pages that are shown: those that agree least.")] = 20,
    prices_first: Annotated[str | None, typer.Option(help=_PRICES)] = None,
    prices_second: Annotated[str | None, typer.Option(help=_PRICES)] = None,
    workspace_profile: Annotated[str | None, typer.Option(help="AWS profile for both workspaces.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="URL of an S3-compatible store.")] = None,
) -> None:
    """Compare two workspaces page by page: text, agreement, tokens, seconds, cost. How to choose a model."""
    from pdfocr_core.outputs.compare import compare as compare_workspaces
    from pdfocr_core.outputs.html_compare import comparison_html
    from pdfocr_dagster.command import print_error
    from pdfocr_dagster.comparing import comparison_tables, parse_prices
    from pdfocr_dagster.storage import WorkspaceResource

    roots = [existing(name) for name in (first, second)]
    try:
        opened = [WorkspaceResource(root=root, endpoint=endpoint, profile=workspace_profile).open() for root in roots]
        prices = (parse_prices(prices_first), parse_prices(prices_second))
        comparison = compare_workspaces(opened[0], opened[1], prices, shown=pages)
    except PdfocrError as error:
        print_error(error, Console(stderr=True))
        raise typer.Exit(2) from None
    if html is not None:
        with told_files():
            html.parent.mkdir(parents=True, exist_ok=True)
            html.write_text(comparison_html(comparison), encoding="utf-8", errors="replace")
    if as_json:
        typer.echo(json.dumps(comparison.to_json(), indent=1))
    else:
        Console().print(comparison_tables(comparison))
        if html is not None:
            Console().print(f"Differences, page by page: {html}", markup=False, highlight=False, soft_wrap=True)
