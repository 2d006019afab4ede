"""The end of a run in the terminal: the books, what went wrong and what to do about it, where the files are."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pdfocr_core.outputs.report import Books
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.telemetry import Telemetry

_SHOWN = 20


def print_summary(
    console: Console, books: Books, rows: Sequence[StatusRow], workspace: str, telemetry: Telemetry | None
) -> None:
    """Print the books of a workspace; `telemetry` adds the figures of the run that just ended."""
    statuses = ", ".join(f"{number} {status}" for status, number in books.by_status.items()) or "none yet"
    console.print(f"Documents: {books.documents} ({statuses}{f', {books.pending} pending' if books.pending else ''})")
    console.print(
        f"Pages: {books.pages} ({books.pages_ok} ok, {books.pages_fallback} fallback, "
        f"{books.pages_blank} blank, {books.pages_failed} failed)"
    )
    if telemetry is not None and telemetry.pages.total():
        console.print(f"This run read {telemetry.pages.total()} pages, {telemetry.attempts} answers of the model.")
    if not books.balanced:
        console.print(
            f"The books do not balance: {books.missing} documents missing, {books.extra} too many, "
            f"{books.unbalanced} with pages that do not add up.",
            style="red",
        )
    bad = [row for row in rows if row.status is not DocumentStatus.OK]
    if bad:
        table = Table(box=None, pad_edge=False)
        for column in ("status", "reason", "document", "what to do"):
            table.add_column(column, overflow="fold")
        for row in bad[:_SHOWN]:
            table.add_row(*(Text(cell) for cell in (row.status.value, row.reason or "", row.url, row.remedy)))
        console.print(table)
        if len(bad) > _SHOWN:
            console.print(f"… and {len(bad) - _SHOWN} more in report/documents.csv")
    console.print(
        f"Dolma: {workspace}/results   Markdown: {workspace}/markdown   Report: {workspace}/report", soft_wrap=True
    )
