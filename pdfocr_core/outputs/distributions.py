"""How documents and pages are spread over sizes: counts in classes that suit every collection."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Sequence

from pdfocr_core.records import StatusRow

__all__ = ["Distributions"]

_PAGES = (1, 5, 20, 100, 500)
_TOKENS = (0, 100, 300, 1000, 3000, 8000)
_SECONDS = (1, 3, 10, 30, 100)


class Distributions:
    """Fills up one document at a time.

    Attributes:
        pages: documents by their pages.
        tokens: documents by tokens out for each of their pages.
        seconds: documents by seconds of answers for each of their pages.
    """

    def __init__(self) -> None:
        self._pages: Counter[int] = Counter()
        self._tokens: Counter[int] = Counter()
        self._seconds: Counter[int] = Counter()

    def add(self, row: StatusRow) -> None:
        """Count one document; those without pages are in no class."""
        if row.pages:
            self._pages[bisect.bisect_left(_PAGES, row.pages)] += 1
            self._tokens[bisect.bisect_left(_TOKENS, row.completion_tokens / row.pages)] += 1
            if row.seconds:
                self._seconds[bisect.bisect_left(_SECONDS, row.seconds / row.pages)] += 1

    @property
    def pages(self) -> dict[str, int]:
        """By class, smallest first."""
        return _named(self._pages, _PAGES, "1")

    @property
    def tokens(self) -> dict[str, int]:
        """By class, smallest first."""
        return _named(self._tokens, _TOKENS, "none")

    @property
    def seconds(self) -> dict[str, int]:
        """By class, smallest first."""
        return _named(self._seconds, _SECONDS, "up to 1")


def _named(counts: Counter[int], bounds: Sequence[int], first: str) -> dict[str, int]:
    names = [first, *(f"up to {bound:,}" for bound in bounds[1:]), f"more than {bounds[-1]:,}"]
    if not counts:
        return {}
    return {names[place]: counts[place] for place in range(min(counts), max(counts) + 1)}
