"""The command `pdfocr export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_dagster import cli_choices as choice
from pdfocr_dagster import cli_options as option

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
    hocr: Annotated[
        Path | None, typer.Option(file_okay=False, help="A new folder for hOCR files: lines with their places.")
    ] = None,
    searchable_pdf: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="A new folder for PDFs: each document as it is, with what was read as invisible text."
        ),
    ] = None,
    page_breaks: choice.PageBreaksOption = None,
    front_matter: choice.FrontMatterOption = None,
    tables: choice.TablesOption = None,
    normalize: choice.NormalizeOption = None,
    figures: choice.FiguresOption = None,
    source_profile: option.SourceProfileOption = None,
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
    collection: Annotated[str, typer.Option(help="As for `pdfocr run`.")] = "pdfocr",
) -> None:
    """Write what was read in other forms. No model is asked."""
    from pdfocr_core.outputs.datasets import By, rows_of, write_jsonl, write_parquet
    from pdfocr_core.store import store_opener
    from pdfocr_dagster.command import print_error
    from pdfocr_dagster.environment import variable
    from pdfocr_dagster.exporting import rewrite_markdown_files
    from pdfocr_dagster.exporting_lines import export_hocr, export_searchable_pdfs
    from pdfocr_dagster.storage import SourcesResource, WorkspaceResource

    console = Console(stderr=True)
    root = option.existing(workspace)
    place = option.place_of(root, endpoint, workspace_profile)
    choices = {
        "markdown_page_breaks": page_breaks.value if page_breaks else None,
        "markdown_front_matter": front_matter,
        "markdown_tables": tables.value if tables else None,
        "markdown_normalize": normalize,
        "figures": figures,
    }
    if not (parquet or jsonl or markdown or hocr or searchable_pdf):
        raise typer.BadParameter("name what to write: --parquet, --jsonl, --markdown, --hocr or --searchable-pdf")
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
                "sources": option.without_none({"endpoint": endpoint, "profile": source_profile}),
                "pages": option.without_none(choices),
            }
            groups = rewrite_markdown_files(root, collection, resources)
            console.print(
                f"Markdown of {groups} groups in {root}/markdown", highlight=False, markup=False, soft_wrap=True
            )
        complete = hocr is None or export_hocr(opened, hocr, console)
        if searchable_pdf is not None:
            opener = store_opener(SourcesResource(endpoint=endpoint, profile=source_profile).storage())
            passwords = (variable("passwords") or "").splitlines()
            complete &= export_searchable_pdfs(opened, searchable_pdf, opener, passwords, console)
        if not complete:
            raise typer.Exit(FAILED)
    except PdfocrError as error:
        print_error(error, console)
        raise typer.Exit(WRONG_USE if isinstance(error, ConfigurationError) else FAILED) from None
    except OSError as error:
        console.print(f"pdfocr: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(FAILED) from None
