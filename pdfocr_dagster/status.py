"""What `pdfocr status` shows: the books as tables for people, as JSON, or as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pdfocr_core.errors import remedy_for
from pdfocr_core.outputs.books import LONG_TOKENS, Books, read_books
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.outputs.report import spreadsheet_cell
from pdfocr_core.settings import ServerSettings
from pdfocr_core.workspace import Workspace
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.wording import duration, money, number, short

__all__ = ["Status", "prices_of", "read_status", "status_csv", "status_tables"]


@dataclass(frozen=True)
class Status:
    """A look at a workspace.

    Attributes:
        in_work: finished pages of groups that have not ended, by group.
    """

    books: Books
    prices: Prices
    in_work: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {**self.books.to_json(self.prices), "pages_in_work": dict(self.in_work)}


def prices_of(settings: ServerSettings) -> Prices:
    """The prices that are set."""
    return Prices(settings.price_in, settings.price_out, settings.price_gpu_hour, settings.gpus)


def read_status(workspace: Workspace) -> Status:
    """Look at a workspace; nothing is written and nobody is waited for."""
    in_work = workspace.pages_in_work()
    return Status(read_books(workspace), prices_of(settings_from(ServerSettings, {})), in_work)


def status_tables(status: Status) -> RenderableType:
    """For the terminal: totals first, then what they are made of, then the documents worth a look."""
    books = status.books
    parts: list[RenderableType] = [_totals(status)]
    if not books.balanced:
        parts.append(
            Text(
                f"The books do not balance: {books.missing} documents missing, {books.extra} too many, "
                f"{books.unbalanced} with pages that do not add up.",
                style="bold red",
            )
        )
    figures = [
        _counts("documents", books.by_status, books.documents - books.pending),
        _counts("pages", _pages_by_status(books), books.pages),
        _counts("method", books.methods, books.pages),
        _counts("language", _largest(books.languages), books.pages),
        _counts("answers per page", books.attempts, books.pages),
    ]
    # As many beside each other as the terminal has room for, none squeezed.
    parts.append(Columns(figures, padding=(0, 4)))
    for title, counts in (
        ("Documents that did not end well", books.by_reason),
        ("Pages that failed or fell back", books.page_reasons),
        ("Answers that were asked for again", books.retries),
    ):
        if counts:
            parts.append(_reasons(title, counts))
    parts += _documents(books)
    return Group(*parts)


def _totals(status: Status) -> Table:
    books = status.books
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_row("groups", f"{number(books.groups_done)} of {number(books.groups)} done")
    left_out = f", {number(books.filtered)} left out by filters" if books.filtered else ""
    table.add_row(
        "documents",
        f"{number(books.documents - books.pending)} of {number(books.documents)} ended, {number(books.not_ok)} not ok{left_out}",
    )
    if books.gone or books.superseded:
        table.add_row(
            "not current",
            f"{number(books.gone)} gone (their source is not there any more), {number(books.superseded)} superseded (it "
            "changed); `pdfocr prune` shows and removes their results",
        )
    working = sum(status.in_work.values())
    in_work = f", {number(working)} more in groups that are being read" if working else ""
    opened = sum(books.by_status.get(name, 0) for name in ("ok", "partial"))
    average = f" ({books.pages / opened:.1f} a document)" if opened else ""
    table.add_row("pages", f"{number(books.pages)} in ended groups{average}{in_work}")
    per_page = f" ({books.completion_tokens / books.pages:,.0f} a page)" if books.pages else ""
    table.add_row("tokens", f"{number(books.prompt_tokens)} in, {number(books.completion_tokens)} out{per_page}")
    rate = f" ({books.pages_per_second:.2f} pages/s)" if books.pages_per_second is not None else ""
    table.add_row("reading time", duration(books.reading_seconds) + rate)
    cost = books.cost(status.prices)
    if cost is not None:
        table.add_row("cost", money(cost))
    table.add_row("long documents", f"{number(books.long_documents)} with more than {number(LONG_TOKENS)} tokens out")
    languages = ", ".join(f"{name} {number(count)}" for name, count in _largest(books.main_languages).items())
    table.add_row("main language", languages or "not told")
    table.add_row("to come", _projection(status))
    return table


def _projection(status: Status) -> str:
    books = status.books
    if not books.pending:
        return "nothing"
    rest = books.projection(status.prices)
    parts = [f"{number(books.pending)} documents", f"about {number(rest.pages)} pages"]
    if rest.tokens_out is not None:
        parts.append(f"{number(rest.tokens_in or 0)} tokens in, {number(rest.tokens_out)} out")
    if rest.seconds is not None:
        parts.append(duration(rest.seconds))
    if rest.cost is not None:
        parts.append(money(rest.cost))
    return ", ".join(parts)


def _pages_by_status(books: Books) -> dict[str, int]:
    return {
        "ok": books.pages_ok,
        "fallback": books.pages_fallback,
        "blank": books.pages_blank,
        "failed": books.pages_failed,
    }


def _largest(counts: Mapping[str, int], most: int = 8) -> dict[str, int]:
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _name, count in order[most:])
    return dict(order[:most]) | ({"others": rest} if rest else {})


def _counts(title: str, counts: Mapping[str, int], total: int) -> Table:
    table = Table(title, "", "", box=SIMPLE_HEAD, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, count in counts.items():
        table.add_row(Text(name), number(count), f"{count / total:.1%}" if total else "")
    return table


def _reasons(title: str, counts: Mapping[str, int]) -> Table:
    table = Table(title, "", "what to do", box=SIMPLE_HEAD, pad_edge=False)
    table.columns[1].justify = "right"
    for reason, count in _largest(counts, 20).items():
        table.add_row(Text(reason), number(count), Text(remedy_for(reason)))
    return table


def _documents(books: Books) -> list[Table]:
    tables = []
    for title, rows in (("Worst", books.worst), ("Slowest", books.slowest), ("Longest", books.longest)):
        if rows:
            table = Table(f"{title} documents", "status", "pages", "bad", "tokens out", "seconds", box=SIMPLE_HEAD)
            table.columns[0].overflow = "fold"
            for column in table.columns[2:]:
                column.justify = "right"
            for row in rows:
                reason = row["reason"] or ", ".join(row["page_reasons"])
                table.add_row(
                    Text(short(row["url"])),
                    Text(f"{row['status']}{f': {reason}' if reason else ''}"),
                    number(row["pages"]),
                    number(row["pages_failed"] + row["pages_fallback"]),
                    number(row["tokens_out"]),
                    f"{row['seconds']:.1f}",
                )
            tables.append(table)
    return tables


def status_csv(status: Status) -> str:
    """One figure a line: what, which, value."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("figure", "of", "value"))
    writer.writerows((figure, spreadsheet_cell(of), value) for figure, of, value in _figures(status.to_json()))
    return text.getvalue()


def _figures(data: Mapping[str, Any]) -> Iterable[tuple[str, str, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from ((name, key, inner) for key, inner in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for document in value:
                yield from ((f"{name} {field}", document["url"], document[field]) for field in _OF_DOCUMENT)
        else:
            yield name, "", value


_OF_DOCUMENT = ("status", "reason", "pages", "pages_failed", "pages_fallback", "tokens_out", "seconds")
