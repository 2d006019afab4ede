"""Which pages of a collection to look at: the best, the worst, and some by chance.

Reading all page records of a large collection only to look at a dozen would take as long as a small run. So some groups
are looked through, the same ones each time: those of the worst documents, and others by the hash of their key.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pdfocr_core.outputs.books import Books
from pdfocr_core.records import DocumentRecord, PageRecord, PageStatus
from pdfocr_core.workspace import Workspace

__all__ = ["SampledPage", "quality", "sample_pages"]

_GROUPS = 8  # looked through by chance, and as many for the worst
_MOST_PAGES = 20_000  # of all these groups together


@dataclass(frozen=True, slots=True)
class SampledPage:
    """A page with the document it is of."""

    document: DocumentRecord
    page: PageRecord
    group: str

    @property
    def quality(self) -> float:
        """See `quality`."""
        return quality(self.page)


def quality(page: PageRecord) -> float:
    """How well a page seems to have been read, 0 to 1, by its record alone; nobody has looked at the text.

    A failed page has 0 and one from the text layer 0.3. From 1 down, every bad answer costs 0.15, every remark 0.1, and
    having no text 0.5.
    """
    if page.status is PageStatus.FAILED:
        return 0.0
    if page.status is PageStatus.FALLBACK:
        return 0.3
    mark = 1.0 - 0.15 * sum(attempt.reason is not None for attempt in page.attempts) - 0.1 * len(page.flags)
    if page.status is PageStatus.OK and not page.text.strip():
        mark -= 0.5
    return round(max(mark, 0.05), 3)


def sample_pages(workspace: Workspace, books: Books, groups: Iterable[str], each: int) -> dict[str, list[SampledPage]]:
    """At most `each` pages under `worst`, `random` and `best`; no page twice, blank ones never.

    `groups` are the keys of ended groups.
    """
    troubled = list(dict.fromkeys(row["group"] for row in books.worst))[:_GROUPS]
    by_chance = heapq.nsmallest(_GROUPS, groups, key=_chance)
    worst, best, random = _Kept(each), _Kept(3 * each), _Kept(3 * each)
    seen = 0
    for key in dict.fromkeys([*troubled, *by_chance]):
        for sampled in _pages_of(workspace, key):
            seen += 1
            chance = _chance(f"{sampled.page.document_id}/{sampled.page.page}")
            if sampled.quality < 1.0:
                worst.add((1 - sampled.quality, chance), sampled)
            if key in by_chance:
                random.add((chance,), sampled)
                # Of the pages that were read well, one with something on it shows more.
                best.add((sampled.quality, min(len(sampled.page.text), 2000), chance), sampled)
        if seen >= _MOST_PAGES:
            break
    chosen: dict[str, list[SampledPage]] = {}
    taken: set[tuple[str, int]] = set()
    for name, kept in (("worst", worst), ("best", best), ("random", random)):
        chosen[name] = []
        for sampled in kept.listed():
            place = (sampled.page.document_id, sampled.page.page)
            if place not in taken and len(chosen[name]) < each:
                taken.add(place)
                chosen[name].append(sampled)
    return chosen


def _pages_of(workspace: Workspace, key: str) -> Iterator[SampledPage]:
    document: DocumentRecord | None = None
    try:
        for record, _line in workspace.read_page_lines(key):
            if isinstance(record, DocumentRecord):
                document = record
            elif document is not None and record.status is not PageStatus.BLANK:
                yield SampledPage(document, record, key)
    except FileNotFoundError:
        return  # status rows without pages: someone removed them; the books are not ours to judge here


class _Kept:
    """The few pages with the highest marks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[tuple[float, ...], int, SampledPage]] = []
        self._count = 0

    def add(self, mark: tuple[float, ...], sampled: SampledPage) -> None:
        self._count += 1
        entry = (mark, self._count, sampled)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
        elif mark > self._heap[0][0]:
            heapq.heapreplace(self._heap, entry)

    def listed(self) -> list[SampledPage]:
        return [sampled for _mark, _count, sampled in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]


def _chance(name: str) -> float:
    """A number between 0 and 1 that is always the same for the same name."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()[:6]) / 2**48
