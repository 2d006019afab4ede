"""The command `pdfocr export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_dagster.cli_choices import (
    FiguresOption,
    FrontMatterOption,
    NormalizeOption,
    PageBreaksOption,
    TablesOption,
)
from pdfocr_dagster.cli_options import (
    EndpointOption,
    SourceProfileOption,
    WorkspaceProfileOption,
    existing,
    place_of,
    without_none,
)

__all__ = ["export"]

FAILED, WRONG_USE = 1, 2


def export(
    workspace: Annotated[str, typer.Argument(help="The workspace: a local folder or s3:// URL.")],
    parquet: Annotated[
        Path | None, typer.Option(help="A file (*.parquet) or a new folder, for Hugging Face `datasets` and others.")
    ] = None,
    jsonl: Annotated[Path | None, typer.Option(dir_okay=False, help="A file with one JSON object a line.")] = None,
    by_page: Annotated[
        bool, typer.Option("--by-page/--by-document", help="One row per page, or per document with text.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write the workspace's Markdown files anew, as the options below say.")
    ] = False,
    page_breaks: PageBreaksOption = None,
    front_matter: FrontMatterOption = None,
    tables: TablesOption = None,
    normalize: NormalizeOption = None,
    figures: FiguresOption = None,
    source_profile: SourceProfileOption = None,
    workspace_profile: WorkspaceProfileOption = None,
    endpoint: EndpointOption = None,
    collection: Annotated[str, typer.Option(help="As for `pdfocr run`.")] = "pdfocr",
) -> None:
    """Write what was read in other forms. No model is asked."""
    from pdfocr_core.outputs.datasets import By, rows_of, write_jsonl, write_parquet
    from pdfocr_dagster.command import print_error
    from pdfocr_dagster.exporting import rewrite_markdown_files
    from pdfocr_dagster.storage import WorkspaceResource

    console = Console(stderr=True)
    root = existing(workspace)
    place = place_of(root, endpoint, workspace_profile)
    choices = {
        "markdown_page_breaks": page_breaks.value if page_breaks else None,
        "markdown_front_matter": front_matter,
        "markdown_tables": tables.value if tables else None,
        "markdown_normalize": normalize,
        "figures": figures,
    }
    if not (parquet or jsonl or markdown):
        raise typer.BadParameter("name what to write: --parquet, --jsonl or --markdown")
    try:
        opened = WorkspaceResource(**place).open()
        by, what = (By.PAGE, "pages") if by_page else (By.DOCUMENT, "documents")
        written: dict[Path, int] = {}
        if parquet is not None:
            written[parquet] = write_parquet(rows_of(opened, by), parquet, by)
        if jsonl is not None:
            written[jsonl] = write_jsonl(rows_of(opened, by), jsonl)
        for target, number in written.items():
            console.print(f"{number:,} {what} in {target}", highlight=False, markup=False, soft_wrap=True)
        if markdown:
            resources = {
                "workspace": place,
                "sources": without_none({"endpoint": endpoint, "profile": source_profile}),
                "pages": without_none(choices),
            }
            groups = rewrite_markdown_files(root, collection, resources)
            console.print(
                f"Markdown of {groups} groups in {root}/markdown", highlight=False, markup=False, soft_wrap=True
            )
    except PdfocrError as error:
        print_error(error, console)
        raise typer.Exit(WRONG_USE if isinstance(error, ConfigurationError) else FAILED) from None
    except OSError as error:
        console.print(f"pdfocr: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(FAILED) from None
