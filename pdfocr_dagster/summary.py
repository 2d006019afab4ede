"""The end of a run in the terminal: the books, what went wrong and what to do about it, where the files are."""

import shlex
from collections import Counter
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from pdfocr_core.outputs.report import Books
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.sources.standing import Standing
from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster.figures import figures_of
from pdfocr_dagster.wording import duration, money, number, short

_SHOWN = 10


class BadDocuments:
    """Collects documents that did not end well: all are counted, the first few of each reason are named.

    A version that has been replaced by another one is passed by, since nothing is left to be done about it.
    """

    def __init__(self, standings: Mapping[tuple[str, str], Standing] | None = None) -> None:
        self._standings = standings or {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self.shown: dict[tuple[str, str], list[str]] = {}
        self.remedies: dict[tuple[str, str], str] = {}

    def add(self, row: StatusRow) -> None:
        """Look at one row; those that are ok are passed by."""
        replaced = self._standings.get((row.group, row.document_id)) is Standing.SUPERSEDED
        if row.status is DocumentStatus.OK or replaced:
            return
        kind = (row.status.value, row.reason or "")
        self.counts[kind] += 1
        self.remedies.setdefault(kind, row.remedy)
        urls = self.shown.setdefault(kind, [])
        if len(urls) < _SHOWN:
            urls.append(row.url)

    @property
    def unexpected(self) -> int:
        """How many there are, but for those that were left out as asked: that is no reason to look."""
        return sum(count for (status, _reason), count in self.counts.items() if status != DocumentStatus.FILTERED)

    @property
    def retryable(self) -> bool:
        """Whether `pdfocr retry` has anything to do."""
        return any(status in ("failed", "partial") for status, _reason in self.counts)


def print_summary(
    console: Console,
    books: Books,
    bad: BadDocuments,
    workspace: str,
    telemetry: Telemetry | None,
    *,
    retry: str = "",
) -> None:
    """Print the books of a workspace.

    Args:
        console: where to.
        books: of the workspace.
        bad: what did not end well.
        workspace: its root.
        telemetry: the figures of the run that just ended.
        retry: the command that reads again what failed; the plain one when left out.
    """
    statuses = ", ".join(f"{number} {status}" for status, number in books.by_status.items()) or "none yet"
    console.print(f"Documents: {books.documents} ({statuses}{f', {books.pending} pending' if books.pending else ''})")
    console.print(
        f"Pages: {books.pages} ({books.pages_ok} ok, {books.pages_fallback} fallback, "
        f"{books.pages_blank} blank, {books.pages_failed} failed)"
    )
    if not books.documents:
        console.print(
            "No document was found in the sources. PDFs, pictures and archives of them are read; check the folder's name.",
            style="yellow",
            soft_wrap=True,
        )
    if telemetry is not None and telemetry.pages.total():
        figures = figures_of(telemetry)
        cost = f", cost {money(figures.cost)}" if figures.cost is not None else ""
        console.print(
            f"This run read {telemetry.pages.total()} pages in {duration(figures.elapsed_s)}, {telemetry.attempts} answers "
            f"of the model, {number(figures.tokens_out)} tokens out{cost}.",
            highlight=False,
            soft_wrap=True,
        )
    if books.gone or books.superseded:
        console.print(
            f"Not current: {books.gone} gone (their source is not there any more), {books.superseded} superseded (it "
            "changed). Their results are kept; `pdfocr prune` shows and removes them.",
            soft_wrap=True,
        )
    if not books.balanced:
        console.print(
            f"The books do not balance: {books.missing} documents missing, {books.extra} too many, "
            f"{books.unbalanced} with pages that do not add up.",
            style="red",
        )
    _print_reasons(console, bad, retry or f"pdfocr retry {shlex.quote(short(workspace))}")
    for name, folder in (("Dolma", "results"), ("Markdown", "markdown"), ("Report", "report/index.html")):
        console.print(f"{name + ':':10}{short(workspace)}/{folder}", highlight=False, soft_wrap=True)


def _print_reasons(console: Console, bad: BadDocuments, retry: str) -> None:
    """What did not end well, by reason, each with what to do."""
    for (status, reason), urls in sorted(bad.shown.items()):
        count = bad.counts[status, reason]
        words = bad.remedies[status, reason]
        console.print(
            Text(f"{count} {status}{f', {reason}' if reason else ''}{f': {words}' if words else ''}"), soft_wrap=True
        )
        for url in urls:
            console.print(Text(f"    {short(url)}"), soft_wrap=True)
        if count > len(urls):
            console.print(f"    … and {count - len(urls)} more in report/documents.csv")
    if bad.retryable:
        console.print(
            f"When the cause is gone, read again what failed, and only that: {retry}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
