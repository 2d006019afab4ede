"""When something was being read: time spans put together, so that a night between two runs is not counted as work."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from datetime import datetime

__all__ = ["ReadingTime", "periods"]

_PAUSE_S = 300.0  # no page within this time: the work was interrupted


def periods(spans: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The spans (start, end, UTC and ISO 8601) as few as can be: those with short pauses between them are one."""
    merged: list[tuple[str, str]] = []
    for start, end in sorted(span for span in spans if all(span)):
        if merged and _seconds(start) - _seconds(merged[-1][1]) <= _PAUSE_S:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


class ReadingTime:
    """The time in which at least one of many documents was being read, in memory that follows the interruptions."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []  # sorted, apart from each other

    def add(self, spans: Iterable[tuple[str, str]]) -> None:
        """Add the periods of one document."""
        for start, end in spans:
            self._add(_seconds(start), _seconds(end))

    @property
    def seconds(self) -> float:
        """The sum."""
        return sum(end - start for start, end in self._spans)

    def _add(self, start: float, end: float) -> None:
        first = bisect.bisect_left(self._spans, (start, start))
        if first and self._spans[first - 1][1] >= start:
            first -= 1
        last = first
        while last < len(self._spans) and self._spans[last][0] <= end:
            start, end = min(start, self._spans[last][0]), max(end, self._spans[last][1])
            last += 1
        self._spans[first:last] = [(start, end)]


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
