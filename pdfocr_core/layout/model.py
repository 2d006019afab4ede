"""The words of page understanding: lines with boxes, rulings, and what comes out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

__all__ = ["Line", "PageText", "Rulings", "Segment", "is_right_to_left", "is_sideways", "text_height"]

# Hebrew, Arabic and their neighbours, with their presentation forms.
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of text that stands on one line, with its box.

    Coordinates are pixels or points: x grows to the right, y down.

    Attributes:
        score: how sure the recogniser was, 0 to 1; 1 for text that was never in doubt.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    score: float = 1.0

    @property
    def width(self) -> float:
        """Extent from left to right."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """Extent from top to bottom."""
        return self.y1 - self.y0

    @property
    def middle(self) -> float:
        """Half way down the box."""
        return (self.y0 + self.y1) / 2

    @property
    def centre(self) -> float:
        """Half way across the box."""
        return (self.x0 + self.x1) / 2


@dataclass(frozen=True, slots=True)
class Segment:
    """A drawn straight stroke: horizontal (`at` is its y, from and to are x) or vertical (`at` is its x)."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Rulings:
    """The straight strokes seen on a page."""

    horizontal: tuple[Segment, ...] = ()
    vertical: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says.

    Attributes:
        markdown: its text in reading order.
        is_table: whether most of the text stands in tables.
    """

    markdown: str
    is_table: bool


def text_height(lines: Iterable[Line]) -> float:
    """Height of the usual line: the median in which long lines count for more."""
    heights: list[float] = []
    for line in lines:
        heights += [line.y1 - line.y0] * (1 + len(line.text) // 20)
    return max(median(heights), 1e-6) if heights else 1.0


def is_sideways(line: Line) -> bool:
    """Whether a line stands on its side; one or two characters are higher than wide anyway."""
    return len(line.text) > 2 and line.height > 2 * line.width


def is_right_to_left(text: str) -> bool:
    """Whether most of the letters belong to a script that is written from right to left."""
    written_so = len(_RIGHT_TO_LEFT.findall(text))
    return written_so > 0 and 2 * written_so > sum(map(str.isalpha, text))
