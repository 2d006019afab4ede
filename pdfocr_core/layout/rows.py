"""Fragments that stand side by side become rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pdfocr_core.layout.items import is_mark
from pdfocr_core.layout.model import Line

__all__ = ["Row", "group_lines", "group_rows", "lines_of_rows"]

# A gap of this many line heights between two fragments parts cells rather than words.
CELL_GAP = 1.5
# A raised or lowered mark has few characters, smaller than those of its line, and stands close to it.
MOST_RAISED = 4
RAISED_HEIGHT = 0.85
RAISED_GAP = 0.6


@dataclass(frozen=True, slots=True)
class Row:
    """Fragments of one row in the order they are read.

    Attributes:
        text: all of them, one space between.
        height: of the tallest fragment that carries a good part of the text, so that a stray bracket changes nothing.
        cells: how many fragments stand apart by wide gaps.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    height: float
    cells: int

    @property
    def middle(self) -> float:
        """Half way down the row."""
        return (self.y0 + self.y1) / 2


def group_rows(lines: Iterable[Line], *, right_to_left: bool = False, with_raised: bool = True) -> list[Row]:
    """Put fragments whose middles lie within half a line height of each other into one row; rows from top to bottom.

    Args:
        lines: the fragments.
        right_to_left: how they are read.
        with_raised: whether notes' marks, exponents and indices belong to the row beside them.
    """
    return [_row(group, right_to_left) for group in group_lines(lines, with_raised=with_raised)]


def lines_of_rows(lines: Iterable[Line], *, right_to_left: bool = False) -> list[Line]:
    """The fragments themselves in the order in which their rows are read."""
    return [
        line for group in group_lines(lines) for line in sorted(group, key=lambda line: line.x0, reverse=right_to_left)
    ]


def group_lines(lines: Iterable[Line], *, with_raised: bool = True) -> list[list[Line]]:
    """The fragments of each row, rows from top to bottom."""
    groups: list[list[Line]] = []
    middles: list[float] = []
    for line in sorted(lines, key=lambda line: (line.middle, line.x0)):
        if groups and _same_row(groups[-1], middles[-1], line, with_raised):
            groups[-1].append(line)
            middles[-1] = sum(other.middle for other in groups[-1]) / len(groups[-1])
        else:
            groups.append([line])
            middles.append(line.middle)
    return groups


def _same_row(group: Sequence[Line], middle: float, line: Line, with_raised: bool) -> bool:
    height = min(max(other.height for other in group), line.height)
    if abs(line.middle - middle) > height / 2 and not (with_raised and any(_is_raised(line, one) for one in group)):
        return False
    # What stands above or below the very same place is another row, however close.
    return all(min(line.x1, other.x1) - max(line.x0, other.x0) < 0.5 * min(line.width, other.width) for other in group)


def _is_raised(one: Line, other: Line) -> bool:
    """Whether one of them is a note's mark, an exponent or an index beside the other."""
    small, large = (one, other) if one.height < other.height else (other, one)
    if len(small.text) > MOST_RAISED or small.height > RAISED_HEIGHT * large.height:
        return False
    shared = min(small.y1, large.y1) - max(small.y0, large.y0)
    gap = max(small.x0 - large.x1, large.x0 - small.x1)
    return shared >= 0.5 * small.height and gap <= RAISED_GAP * large.height


def _row(group: list[Line], right_to_left: bool) -> Row:
    if len(group) == 1:  # by far the most frequent case
        line = group[0]
        return Row(line.text.strip(), line.x0, line.y0, line.x1, line.y1, line.height, 1)
    ordered = sorted(group, key=lambda line: line.x0)
    height = max(line.height for line in group if 3 * len(line.text) >= max(len(other.text) for other in group))
    gaps = [right.x0 - left.x1 for left, right in pairwise(ordered)]
    spoken = ordered[::-1] if right_to_left else ordered
    return Row(
        text=" ".join(line.text.strip() for line in spoken),
        x0=ordered[0].x0,
        y0=min(line.y0 for line in group),
        x1=max(line.x1 for line in group),
        y1=max(line.y1 for line in group),
        height=height,
        cells=1 + sum(gap > CELL_GAP * height for gap in (gaps[1:] if is_mark(ordered[0].text) else gaps)),
    )
