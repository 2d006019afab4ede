"""The end of a run in the terminal: the books, what went wrong and what to do about it, where the files are."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pdfocr_core.outputs.report import Books
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.telemetry import Telemetry

_SHOWN = 10


def short(url: str) -> str:
    """A local path as seen from here; anything else unchanged."""
    path = Path(url)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else url


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
    _print_reasons(console, [row for row in rows if row.status is not DocumentStatus.OK])
    for name, folder in (("Dolma", "results"), ("Markdown", "markdown"), ("Report", "report")):
        console.print(f"{name + ':':10}{short(workspace)}/{folder}", highlight=False, soft_wrap=True)


def _print_reasons(console: Console, bad: Sequence[StatusRow]) -> None:
    """What did not end well, by reason, each with what to do."""
    by_reason: dict[tuple[str, str], list[StatusRow]] = {}
    for row in bad:
        by_reason.setdefault((row.status.value, row.reason or ""), []).append(row)
    for (status, reason), rows in sorted(by_reason.items()):
        console.print(Text(f"{len(rows)} {status}, {reason}: {rows[0].remedy}"), soft_wrap=True)
        for row in rows[:_SHOWN]:
            console.print(Text(f"    {short(row.url)}"), soft_wrap=True)
        if len(rows) > _SHOWN:
            console.print(f"    … and {len(rows) - _SHOWN} more in report/documents.csv")
