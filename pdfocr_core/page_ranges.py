"""Page ranges as people write them: `1-3,7,10-`."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["check_ranges", "pages_in"]

_PART = re.compile(r"(\d+)(?:\s*(-)\s*(\d*))?")
_Part = tuple[int, int | None]


def check_ranges(text: str) -> str:
    """The same ranges in their shortest form, in order and without overlaps.

    Raises:
        ValueError: these are no ranges of pages.
    """
    merged: list[_Part] = []
    for first, last in sorted(_parts(text), key=lambda part: part[0]):
        before = merged[-1] if merged else None
        if before is not None and (before[1] is None or first <= before[1] + 1):
            merged[-1] = (before[0], None if last is None or before[1] is None else max(before[1], last))
        else:
            merged.append((first, last))
    return ",".join(_written(part) for part in merged)


def pages_in(text: str | None, pages: int) -> Sequence[int]:
    """The numbers, 1-based and in order, of those of so many pages that are in the ranges; all of them without ranges."""
    if not text:
        return range(1, pages + 1)
    numbers: set[int] = set()
    for first, last in _parts(text):
        numbers.update(range(first, min(pages, pages if last is None else last) + 1))
    return sorted(numbers)


def _parts(text: str) -> list[_Part]:
    parts: list[_Part] = []
    for word in text.split(","):
        match = _PART.fullmatch(word.strip())
        if match is None:
            raise ValueError(f"{word.strip()!r} is no range of pages; write them like 1-3,7,10-")
        first = int(match[1])
        last = first if match[2] is None else int(match[3]) if match[3] else None
        if first < 1 or (last is not None and last < first):
            raise ValueError(f"{word.strip()!r} is no range of pages: they count from 1 and run upwards")
        parts.append((first, last))
    return parts


def _written(part: _Part) -> str:
    first, last = part
    return f"{first}-" if last is None else str(first) if last == first else f"{first}-{last}"
