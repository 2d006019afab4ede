"""Two workspaces over the same documents, page by page: how far their texts agree and what each took.

Documents are the same when their bytes are. The second workspace is looked up group by group, so only a handful of its
groups are in memory at a time, and of the pages only the few that are shown.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from pdfocr_core.outputs.periods import ReadingTime
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.records import DocumentRecord, PageRecord, PageStatus
from pdfocr_core.workspace import Workspace

__all__ = ["Comparison", "PagePair", "Side", "agreement", "compare"]

_GROUPS_KEPT = 4
_SHOWN = 20
_MOST_WORDS = 8000  # of a page; a longer one is a loop or a list whose end tells no more


@dataclass(slots=True)
class Side:
    """What one workspace did for the pages that both have."""

    workspace: str
    prices: Prices = field(default_factory=Prices)
    models: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    characters: int = 0
    seconds: float = 0.0
    reading_seconds: float = 0.0
    only_here: int = 0

    @property
    def cost(self) -> float | None:
        """The price of all that; None when no price is set."""
        spent = self.prices.cost(self.tokens_in, self.tokens_out, self.reading_seconds)
        return spent if self.prices.known else None


@dataclass(frozen=True, slots=True)
class PagePair:
    """One page as both have it."""

    url: str
    agreement: float
    first: PageRecord
    second: PageRecord

    def to_json(self) -> dict[str, Any]:
        """Figures only; the texts are in the workspaces."""
        return {
            "url": self.url,
            "page": self.first.page,
            "agreement": round(self.agreement, 4),
            "document_ids": [self.first.document_id, self.second.document_id],
            "statuses": [self.first.status.value, self.second.status.value],
            "tokens_out": [self.first.completion_tokens, self.second.completion_tokens],
            "seconds": [_seconds(self.first), _seconds(self.second)],
        }


@dataclass(slots=True)
class Comparison:
    """All pages together.

    Attributes:
        pages: pages that both have.
        agreements: pages by agreement in tenths: place 0 is less than 0.1, place 9 is 0.9 and more.
        mean: agreement over all pages, each counting the same.
        least: the pages that agree least, those first.
    """

    first: Side
    second: Side
    pages: int = 0
    identical: int = 0
    mean: float | None = None
    agreements: list[int] = field(default_factory=lambda: [0] * 10)
    least: list[PagePair] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Everything but the texts."""
        sides = [
            {**asdict(side), "prices": side.prices._asdict(), "cost": side.cost} for side in (self.first, self.second)
        ]
        return {
            "first": sides[0],
            "second": sides[1],
            "pages": self.pages,
            "identical": self.identical,
            "agreement": None if self.mean is None else round(self.mean, 4),
            "agreements": self.agreements,
            "least_agreement": [pair.to_json() for pair in self.least],
        }


def agreement(first: str, second: str) -> float:
    """How far two texts are the same, 0 to 1: by words in their order, without regard to white space.

    One less the share of words that must be taken away or put in to make one of the other.
    """
    from rapidfuzz.distance import Indel

    one, other = first.split()[:_MOST_WORDS], second.split()[:_MOST_WORDS]
    return float(Indel.normalized_similarity(one, other))


def compare(
    first: Workspace,
    second: Workspace,
    prices: tuple[Prices, Prices] = (Prices(), Prices()),
    *,
    shown: int = _SHOWN,
) -> Comparison:
    """Compare all pages that both have read; `shown` of those that agree least are kept with their texts."""
    made = Comparison(Side(first.url, prices[0]), Side(second.url, prices[1]))
    times = (ReadingTime(), ReadingTime())
    lookup = _Lookup(second)
    least: list[tuple[float, int, PagePair]] = []
    total = 0.0
    for url, page in _pages(first):
        other = lookup.page(page.content_id, page.page)
        if other is None:
            made.first.only_here += 1
            continue
        pair = PagePair(url, agreement(page.text, other.text), page, other)
        total += pair.agreement
        made.pages += 1
        made.identical += page.text.split() == other.text.split()
        made.agreements[min(9, int(pair.agreement * 10))] += 1
        for side, record, time in ((made.first, page, times[0]), (made.second, other, times[1])):
            _add(side, record, time)
        entry = (-pair.agreement, -made.pages, pair)
        if len(least) < shown:
            heapq.heappush(least, entry)
        elif shown and entry > least[0]:
            heapq.heapreplace(least, entry)
    made.second.only_here = lookup.pages - made.pages
    made.mean = total / made.pages if made.pages else None
    made.least = [pair for _agreement, _place, pair in sorted(least, key=lambda entry: entry[:2], reverse=True)]
    for side, time in zip((made.first, made.second), times, strict=True):
        side.seconds = round(side.seconds, 3)
        side.reading_seconds = round(time.seconds, 3)
    return made


def _add(side: Side, page: PageRecord, time: ReadingTime) -> None:
    model = page.model or "none"
    side.models[model] = side.models.get(model, 0) + 1
    side.statuses[page.status.value] = side.statuses.get(page.status.value, 0) + 1
    side.answers += len(page.attempts)
    side.tokens_in += page.prompt_tokens
    side.tokens_out += page.completion_tokens
    side.characters += len(page.text)
    side.seconds += _seconds(page)
    if page.started_at and page.finished_at:
        time.add([(page.started_at, page.finished_at)])


def _seconds(page: PageRecord) -> float:
    return round(sum(attempt.seconds for attempt in page.attempts), 3)


def _pages(workspace: Workspace) -> Iterator[tuple[str, PageRecord]]:
    """Every page with text to compare; of documents with the same bytes those of the first."""
    owner: dict[str, str] = {}
    for key in workspace.group_keys():
        for url, page in _of_group(workspace, key):
            if owner.setdefault(page.content_id, page.document_id) == page.document_id:
                yield url, page


def _of_group(workspace: Workspace, key: str) -> Iterator[tuple[str, PageRecord]]:
    url = ""
    try:
        for record, _line in workspace.read_page_lines(key):
            if isinstance(record, DocumentRecord):
                url = record.url
            elif record.status is not PageStatus.BLANK:
                yield url, record
    except FileNotFoundError:
        return  # not read yet


class _Lookup:
    """Finds pages of a workspace by their bytes and number."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._groups: dict[str, tuple[str, str]] = {}  # by content id: the group and the document
        self._loaded: OrderedDict[str, dict[tuple[str, int], PageRecord]] = OrderedDict()
        self.pages = 0
        for key in workspace.group_keys():
            for row in workspace.read_status(key) or ():
                if row.content_id and row.pages and row.content_id not in self._groups:
                    self._groups[row.content_id] = (key, row.document_id)
                    self.pages += row.pages - row.pages_blank

    def page(self, content_id: str, number: int) -> PageRecord | None:
        """The page, if it was read and is not blank."""
        key, document_id = self._groups.get(content_id, ("", ""))
        return self._of_group(key).get((document_id, number)) if key else None

    def _of_group(self, key: str) -> dict[tuple[str, int], PageRecord]:
        if key not in self._loaded:
            self._loaded[key] = {(page.document_id, page.page): page for _url, page in _of_group(self._workspace, key)}
            if len(self._loaded) > _GROUPS_KEPT:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(key)
        return self._loaded[key]
