"""The collection report: one HTML file to look at, and its data as JSON, CSV and Parquet."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from pdfocr_core.outputs.books import Books, read_books
from pdfocr_core.outputs.distributions import Distributions
from pdfocr_core.outputs.failures import Failures
from pdfocr_core.outputs.html_report import PageView, render_html
from pdfocr_core.outputs.pictures import DrawnPage, PagePictures
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.outputs.samples import SampledPage, sample_pages
from pdfocr_core.outputs.tables import DocumentTables, spreadsheet_cell
from pdfocr_core.records import Method, StatusRow
from pdfocr_core.scratch import scratch_folder
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.workspace import Workspace

__all__ = ["Books", "Report", "books_of", "books_of_report", "spreadsheet_cell", "write_report"]

_LONGEST_SIDE = 560  # of the report's pictures, in pixels


@dataclass(frozen=True, slots=True)
class Report:
    """What the report says, for those who judge it.

    Attributes:
        languages_before: pages by language when the last report was written; None without one.
        layer_words: words of the sound text layers of sampled pages that the model has read.
        layer_words_found: how many of them its text has.
    """

    books: Books
    languages_before: dict[str, int] | None = None
    layer_words: int = 0
    layer_words_found: int = 0
    examples: list[PageView] = field(default_factory=list)


def books_of(workspace: Workspace) -> tuple[Books, list[StatusRow]]:
    """The books of a workspace, finished or not, together with its status rows in index order."""
    rows: list[StatusRow] = []
    return read_books(workspace, rows.append), rows


def write_report(
    workspace: Workspace,
    prices: Prices | None = None,
    *,
    pictures: PagePictures | None = None,
    pages: int = 0,
    retry_options: Sequence[str] = (),
) -> Report:
    """Write the files of `report/`.

    Args:
        workspace: it may be in work: the report then says how far it is.
        prices: for the cost.
        pictures: draws the pages that are shown; without it there are none.
        pages: how many of the worst, the best and the random pages are shown.
        retry_options: who reads, as options for the commands that the report shows.
    """
    prices = prices or Prices()
    before = _languages_before(workspace)
    made_of = _made_of(workspace, prices, pages)
    distributions, failures = Distributions(), Failures()
    groups: dict[str, None] = {}
    standings = standings_of(workspace).by_document()
    with scratch_folder() as folder:
        with DocumentTables(folder) as tables:

            def take(row: StatusRow) -> None:
                groups[row.group] = None
                distributions.add(row)
                failures.add(row)
                tables.add(row, standings.get((row.group, row.document_id), Standing.CURRENT).value)

            books = read_books(workspace, take)
        views = _views(workspace, books, groups, pictures, pages) if pictures is not None and pages else []
        for file in (tables.csv_file, tables.parquet_file):
            workspace.write_report(file.name, file)
    summary = books.to_json(prices) | {"made_of": made_of}
    html = render_html(workspace.url, books, prices, distributions, failures, views, retry_options)
    workspace.write_report("index.html", html.encode("utf-8", "replace"))
    # Last, since it says that all is there.
    workspace.write_report("summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    found, of = _coverage(views)
    return Report(books, before, of, found, views)


def books_of_report(workspace: Workspace, prices: Prices, pages: int) -> Books | None:
    """The books of a finished collection from its report; None when that would not come out the same.

    Whether a group was read since it was written is for the caller to know.
    """
    try:
        summary = json.loads(workspace.store.read("report/summary.json"))
        stands = summary["made_of"] == _made_of(workspace, prices, pages) and summary["pending"] == 0
        return Books(**{field.name: summary[field.name] for field in fields(Books)}) if stands else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None  # none yet, or one of an earlier version


def _made_of(workspace: Workspace, prices: Prices, pages: int) -> str:
    """A digest of what a report depends on beside the groups themselves."""
    parts = json.dumps([workspace.history(), prices, pages])
    return hashlib.sha256(parts.encode()).hexdigest()


def _languages_before(workspace: Workspace) -> dict[str, int] | None:
    try:
        summary = json.loads(workspace.store.read("report/summary.json"))
        return {str(name): int(number) for name, number in summary["languages"].items()}
    except (FileNotFoundError, ValueError, KeyError, AttributeError, TypeError):
        return None  # none yet, or not one of ours


def _views(
    workspace: Workspace, books: Books, groups: dict[str, None], pictures: PagePictures, pages: int
) -> list[PageView]:
    return [
        PageView(kind, sampled, _drawn(workspace, sampled, pictures))
        for kind, chosen in sample_pages(workspace, books, groups, pages).items()
        for sampled in chosen
    ]


def _drawn(workspace: Workspace, sampled: SampledPage, pictures: PagePictures) -> DrawnPage:
    try:
        documents = workspace.read_manifest(sampled.group).documents
    except FileNotFoundError:
        return DrawnPage(problem="No picture: the group's manifest is gone.")
    document = next((one for one in documents if one.document_id == sampled.page.document_id), None)
    if document is None:
        return DrawnPage(problem="No picture: the document is not in the group's manifest.")
    return pictures.draw(document, sampled.page.page, longest_side=_LONGEST_SIDE, want_text=True)


def _coverage(views: list[PageView]) -> tuple[int, int]:
    """Words of sound text layers, and how many of them the model has: over all views of pages that it read."""
    found = of = 0
    for view in views:
        if view.drawn.layer is not None and view.sampled.page.method is Method.MODEL:
            words, read = _words(view.drawn.layer), _words(view.sampled.page.text)
            found += (words & read).total()
            of += words.total()
    return found, of


def _words(text: str) -> Counter[str]:
    """Its words, without case and without the signs of Markdown and HTML around them."""
    plain = "".join(sign if sign.isalnum() else " " for sign in text)
    return Counter(plain.casefold().split())
