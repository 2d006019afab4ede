"""The options that choose which documents and pages are read, and what Markdown looks like. Imports nothing heavy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pdfocr_core.settings import PageBreaks, Tables

_FILTERS = "Filters: documents left out before the model sees any page"
_MARKDOWN = "Markdown files"

PagesOption = Annotated[
    str | None, typer.Option("--pages", metavar="RANGES", help="Pages to read of every document, as 1-3,7,10-.")
]
KeepLinesOption = Annotated[
    bool | None,
    typer.Option(
        "--keep-lines/--no-keep-lines",
        help="Keep the place of every line, for hOCR and searchable PDFs; with the CPU engine and text layers.",
    ),
]
KeepMarginsOption = Annotated[
    bool | None,
    typer.Option(
        "--keep-margins/--no-keep-margins",
        help="Keep page numbers and running heads in the text; with the CPU engine and text layers.",
    ),
]
ReselectOption = Annotated[
    bool,
    typer.Option(
        "--reselect", help="Apply filters and --pages to groups that are done too; pages that were read stay."
    ),
]
ApplyFilterOption = Annotated[
    bool,
    typer.Option(
        "--apply-filter",
        help="As olmOCR does: no forms, no download spam, English only unless --filter-language says otherwise.",
        rich_help_panel=_FILTERS,
    ),
]
LanguagesOption = Annotated[
    str | None,
    typer.Option(
        "--filter-language",
        metavar="CODES",
        help="Keep documents in these languages, as en,de; judged by the text layer of the first pages.",
        rich_help_panel=_FILTERS,
    ),
]
FormsOption = Annotated[
    bool | None, typer.Option("--filter-forms", help="No forms with text fields.", rich_help_panel=_FILTERS)
]
SpamOption = Annotated[
    bool | None, typer.Option("--filter-spam", help="No pages that lure to downloads.", rich_help_panel=_FILTERS)
]
DuplicatesOption = Annotated[
    bool | None, typer.Option("--filter-duplicates", help="One of several equal files.", rich_help_panel=_FILTERS)
]
BlankOption = Annotated[
    bool | None, typer.Option("--filter-blank", help="No documents without any ink.", rich_help_panel=_FILTERS)
]
MinPagesOption = Annotated[
    int | None, typer.Option("--filter-min-pages", min=1, help="Pages at least.", rich_help_panel=_FILTERS)
]
MaxPagesOption = Annotated[
    int | None, typer.Option("--filter-max-pages", min=1, help="Pages at most.", rich_help_panel=_FILTERS)
]
MinBytesOption = Annotated[
    int | None, typer.Option("--filter-min-bytes", min=1, help="Bytes at least.", rich_help_panel=_FILTERS)
]
MaxBytesOption = Annotated[
    int | None, typer.Option("--filter-max-bytes", min=1, help="Bytes at most.", rich_help_panel=_FILTERS)
]
PageBreaksOption = Annotated[
    PageBreaks | None,
    typer.Option("--page-breaks", help="Between pages: a blank line, a rule, a comment.", rich_help_panel=_MARKDOWN),
]
FrontMatterOption = Annotated[
    bool | None, typer.Option("--front-matter", help="Say where the text is from.", rich_help_panel=_MARKDOWN)
]
TablesOption = Annotated[
    Tables | None,
    typer.Option("--tables", help="As read, or pipes or HTML where nothing is lost.", rich_help_panel=_MARKDOWN),
]
NormalizeOption = Annotated[
    bool | None,
    typer.Option("--normalize", help="Unicode NFC, no invisible characters.", rich_help_panel=_MARKDOWN),
]
FiguresOption = Annotated[
    bool | None, typer.Option("--figures", help="Cut figures out of the pages.", rich_help_panel=_MARKDOWN)
]


def like_olmocr(languages: str | None) -> dict[str, Any]:
    """What `--apply-filter` stands for."""
    return {"filter_languages": [languages or "en"], "filter_forms": True, "filter_spam": True}
