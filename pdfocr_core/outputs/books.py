"""The books of a collection: all status rows summed up in one pass, and checked against the index.

The pass reads one group at a time, so its memory does not grow with the collection, and it reads finished files only, so
a run that goes on meanwhile never notices.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from pdfocr_core.outputs.periods import ReadingTime
from pdfocr_core.outputs.prices import Prices, Projection
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["LONG_TOKENS", "Books", "read_books"]

LONG_TOKENS = 32_768
"""Documents with more output tokens count as long; the same bound as olmOCR's."""
LISTED = 10
_WELL = frozenset({DocumentStatus.OK, DocumentStatus.FILTERED})
_AHEAD = 16  # status files asked for at the same time in an object store


@dataclass(slots=True)
class Books:
    """Totals over a collection.

    Attributes:
        documents: documents of the index.
        pending: documents whose group has not ended yet.
        missing: documents of ended groups without a status row; the books balance when there are none.
        extra: status rows without a document in their group's part of the index; none when the books balance.
        gone: documents whose source is not there any more.
        superseded: documents whose source has changed since; the new version is a document of its own.
        unbalanced: documents whose pages ok + fallback + blank + failed are not their pages.
        by_reason: documents that are not ok, by reason.
        page_reasons: failed and fallback pages, by reason.
        retries: bad answers of the model, by reason.
        attempts: pages by how many answers were asked for.
        long_documents: documents with more than `LONG_TOKENS` tokens out.
        main_languages: documents by the language of more than half of their pages.
        empty_pages: pages that are ok and have no text.
        seconds: of all answers, one after the other.
        reading_seconds: the time in which anything was being read.
        pages_pending: pages of groups that have not ended, as the index has them (exact or estimated).
        slowest, longest, worst: documents that deserve a look, first things first.
    """

    groups: int = 0
    groups_done: int = 0
    documents: int = 0
    pending: int = 0
    missing: int = 0
    extra: int = 0
    unbalanced: int = 0
    gone: int = 0
    superseded: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    by_reason: dict[str, int] = field(default_factory=dict)
    pages: int = 0
    pages_ok: int = 0
    pages_fallback: int = 0
    pages_blank: int = 0
    pages_failed: int = 0
    page_reasons: dict[str, int] = field(default_factory=dict)
    retries: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    methods: dict[str, int] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    main_languages: dict[str, int] = field(default_factory=dict)
    empty_pages: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    characters: int = 0
    seconds: float = 0.0
    reading_seconds: float = 0.0
    pages_pending: int = 0
    long_documents: int = 0
    slowest: list[dict[str, Any]] = field(default_factory=list)
    longest: list[dict[str, Any]] = field(default_factory=list)
    worst: list[dict[str, Any]] = field(default_factory=list)

    @property
    def balanced(self) -> bool:
        """Whether every document of every ended group is accounted for, once, and so is every page."""
        return not (self.missing or self.extra or self.unbalanced)

    @property
    def not_ok(self) -> int:
        """Documents that ended otherwise than they should: neither `ok` nor left out by a filter, as was asked."""
        return sum(number for status, number in self.by_status.items() if status not in _WELL)

    @property
    def filtered(self) -> int:
        """Documents that a filter left out."""
        return self.by_status.get(DocumentStatus.FILTERED.value, 0)

    @property
    def pages_per_second(self) -> float | None:
        """Over the time in which anything was being read."""
        return self.pages / self.reading_seconds if self.reading_seconds > 0 else None

    def cost(self, prices: Prices) -> float | None:
        """What reading has cost so far; None when no price is set."""
        spent = prices.cost(self.prompt_tokens, self.completion_tokens, self.reading_seconds)
        return spent if prices.known else None

    def projection(self, prices: Prices) -> Projection:
        """What is still to be read, at the rates of what was read."""
        if not self.pages:
            return Projection(self.pages_pending, None, None, None, None)
        share = self.pages_pending / self.pages
        spent = self.cost(prices)
        return Projection(
            self.pages_pending,
            round(share * self.prompt_tokens),
            round(share * self.completion_tokens),
            share * self.reading_seconds if self.reading_seconds else None,
            None if spent is None else share * spent,
        )

    def to_json(self, prices: Prices | None = None) -> dict[str, Any]:
        """All totals, with the verdict; with prices also what was spent and what is to come."""
        data: dict[str, Any] = {**asdict(self), "balanced": self.balanced}
        if prices is not None:
            data |= {"cost": self.cost(prices), "projection": asdict(self.projection(prices))}
        return data


def read_books(workspace: Workspace, on_row: Callable[[StatusRow], None] | None = None) -> Books:
    """Sum up a workspace, finished or not; `on_row` is given each status row, in the order of the index."""
    tally = _Tally()
    pruned = workspace.pruned()
    for rows, found in _groups(workspace):
        # A pruning that was cut short leaves rows behind.
        of_group = found and [row for row in found if (row.group, row.document_id) not in pruned]
        tally.add_group(rows, of_group)
        for row in of_group or ():
            tally.add(row)
            if on_row is not None:
                on_row(row)
    books = tally.result()
    standings = Counter(standings_of(workspace).rows.values())
    books.gone, books.superseded = standings[Standing.GONE], standings[Standing.SUPERSEDED]
    return books


def _groups(workspace: Workspace) -> Iterator[tuple[list[IndexRow], list[StatusRow] | None]]:
    """Each group's documents, which stand together in the index, with its status rows if it has ended."""
    ahead = 1 if workspace.store.local_root is not None else _AHEAD
    waiting: deque[tuple[list[IndexRow], Future[list[StatusRow] | None]]] = deque()
    with ThreadPoolExecutor(ahead, "pdfocr-books") as pool:
        for key, rows in itertools.groupby(workspace.read_index(), key=lambda row: row.group):
            waiting.append((list(rows), pool.submit(workspace.read_status, key)))
            if len(waiting) > ahead:
                yield waiting[0][0], waiting.popleft()[1].result()
        for group, status in waiting:
            yield group, status.result()


class _Top:
    """The few documents with the highest marks."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[float, ...], str, dict[str, Any]]] = []

    def add(self, mark: tuple[float, ...], row: StatusRow) -> None:
        if len(self._heap) == LISTED and mark <= self._heap[0][0]:
            return
        heapq.heappush(self._heap, (mark, row.document_id, _shown(row)))
        if len(self._heap) > LISTED:
            heapq.heappop(self._heap)

    def listed(self) -> list[dict[str, Any]]:
        return [shown for _mark, _id, shown in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]


def _shown(row: StatusRow) -> dict[str, Any]:
    names = ("url", "document_id", "group", "reason", "remedy", "pages", "pages_failed", "pages_fallback")
    data = {name: getattr(row, name) for name in names}
    return {
        **data,
        "status": row.status.value,
        "page_reasons": dict(row.page_reasons),
        "tokens_out": row.completion_tokens,
        "seconds": row.seconds,
    }


_COUNTERS = ("page_reasons", "retries", "attempts", "methods", "languages")
_SUMS = (
    *("pages", "pages_ok", "pages_fallback", "pages_blank", "pages_failed", "empty_pages"),
    *("prompt_tokens", "completion_tokens", "characters", "seconds"),
)


class _Tally:
    """Adds up; `result` puts counters in order."""

    def __init__(self) -> None:
        self._books = Books()
        self._counters: dict[str, Counter[str]] = {
            name: Counter() for name in (*_COUNTERS, "by_status", "by_reason", "main_languages")
        }
        self._slowest, self._longest, self._worst = _Top(), _Top(), _Top()
        self._time = ReadingTime()

    def add_group(self, documents: list[IndexRow], status: list[StatusRow] | None) -> None:
        books = self._books
        expected = {row.document_id for row in documents}
        books.groups += 1
        books.documents += len(expected)
        if status is None:
            books.pending += len(expected)
            books.pages_pending += sum(row.pages for row in documents)
            return
        books.groups_done += 1
        seen = Counter(row.document_id for row in status)
        books.missing += len(expected - seen.keys())
        books.extra += seen.total() - len(expected & seen.keys())

    def add(self, row: StatusRow) -> None:
        books, counters = self._books, self._counters
        counters["by_status"][row.status.value] += 1
        if row.reason:
            counters["by_reason"][row.reason] += 1
        for name in _COUNTERS:
            counters[name].update(getattr(row, name))
        for name in _SUMS:
            setattr(books, name, getattr(books, name) + getattr(row, name))
        books.unbalanced += row.pages != row.pages_ok + row.pages_fallback + row.pages_blank + row.pages_failed
        books.long_documents += row.completion_tokens > LONG_TOKENS
        counters["main_languages"].update(name for name, pages in row.languages.items() if 2 * pages > row.pages)
        self._time.add(row.periods)
        self._list(row)

    def _list(self, row: StatusRow) -> None:
        if row.seconds:
            self._slowest.add((row.seconds,), row)
        if row.completion_tokens > LONG_TOKENS:
            self._longest.add((row.completion_tokens,), row)
        bad = row.pages_failed + row.pages_fallback / 2
        if row.status not in _WELL or bad:
            # A document of which nothing came is worse than any with pages.
            self._worst.add((not row.pages or row.status is DocumentStatus.FAILED, bad / max(row.pages, 1), bad), row)

    def result(self) -> Books:
        books = self._books
        for name, counter in self._counters.items():
            order = sorted(counter.items(), key=_number_first if name == "attempts" else None)
            setattr(books, name, dict(order))
        books.seconds = round(books.seconds, 3)
        books.reading_seconds = round(self._time.seconds, 3)
        books.slowest, books.longest = self._slowest.listed(), self._longest.listed()
        books.worst = self._worst.listed()
        return books


def _number_first(item: tuple[str, int]) -> tuple[int, str]:
    return (int(item[0]) if item[0].isdigit() else 0, item[0])
