"""What is asked of a drawn page, in the form of olmOCR-Bench."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["FONTS", "Drawn", "Test", "absent", "end", "in_turn", "order", "present", "start"]

Test = dict[str, Any]
FONTS = ("Times", "Helvetica")
_DIFFS = 3  # letters that may be misread in a sentence


class Drawn(NamedTuple):
    """A page and its tests, still without its name."""

    pdf: bytes
    tests: list[Test]


def present(text: str) -> Test:
    """The text is there but for a few letters."""
    return {"type": "present", "text": text, "max_diffs": _DIFFS}


def absent(text: str) -> Test:
    """The text is not there: it belongs to the page and not to what it says."""
    return {"type": "absent", "text": text, "max_diffs": min(1, len(text) // 10)}


def order(before: str, after: str) -> Test:
    """One text comes before the other."""
    return {"type": "order", "before": before, "after": after, "max_diffs": _DIFFS}


def in_turn(texts: Sequence[str]) -> list[Test]:
    """Every text is there, and each comes before the next."""
    return [*map(present, texts), *(order(end(first), start(second)) for first, second in pairwise(texts))]


def start(text: str) -> str:
    """The first words of a text."""
    return text[:40].rsplit(" ", 1)[0]


def end(text: str) -> str:
    """The last words of a text."""
    return text[-40:].split(" ", 1)[-1]
