"""The cells of a grid: which of its fields belong together because no stroke parts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdfocr_core.layout.model import Rulings, Segment

__all__ = ["Cell", "cells_by_field"]

COVERED_SHARE = 0.5  # a border is there when strokes cover at least this much of it

Field = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """A rectangle of fields; rows and columns count from 0, `bottom` and `right` belong to it."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def area(self) -> int:
        """Number of its fields."""
        return (self.bottom - self.top + 1) * (self.right - self.left + 1)

    def fields(self) -> Iterator[Field]:
        """Row and column of each field."""
        return (
            (row, column) for row in range(self.top, self.bottom + 1) for column in range(self.left, self.right + 1)
        )

    def joined(self, other: Cell) -> Cell:
        """The smallest cell that holds both."""
        return Cell(
            min(self.top, other.top),
            min(self.left, other.left),
            max(self.bottom, other.bottom),
            max(self.right, other.right),
        )


def cells_by_field(xs: Sequence[float], ys: Sequence[float], strokes: Rulings, slack: float) -> dict[Field, Cell]:
    """The cell of every field between the positions `xs` and `ys`, as (row, column)."""
    return _without_overlaps(_joined_fields(xs, ys, strokes, slack))


def _joined_fields(xs: Sequence[float], ys: Sequence[float], strokes: Rulings, slack: float) -> list[Cell]:
    """One cell round each set of fields that run into each other; such cells may overlap."""
    walls_down = [_near(strokes.vertical, x, slack) for x in xs]
    walls_across = [_near(strokes.horizontal, y, slack) for y in ys]
    cells: list[Cell] = []
    seen: set[Field] = set()
    for start in Cell(0, 0, len(ys) - 2, len(xs) - 2).fields():
        if start in seen:
            continue
        seen.add(start)
        cell = Cell(*start, *start)
        waiting = [start]
        while waiting:
            row, column = waiting.pop()
            cell = cell.joined(Cell(row, column, row, column))
            for wall, near, far, neighbour in (
                (walls_down[column], ys[row], ys[row + 1], (row, column - 1)),
                (walls_down[column + 1], ys[row], ys[row + 1], (row, column + 1)),
                (walls_across[row], xs[column], xs[column + 1], (row - 1, column)),
                (walls_across[row + 1], xs[column], xs[column + 1], (row + 1, column)),
            ):
                inside = 0 <= neighbour[0] < len(ys) - 1 and 0 <= neighbour[1] < len(xs) - 1
                if inside and neighbour not in seen and not _covers(wall, near, far):
                    seen.add(neighbour)
                    waiting.append(neighbour)
        cells.append(cell)
    return cells


def _near(segments: Sequence[Segment], at: float, slack: float) -> list[Segment]:
    return [segment for segment in segments if abs(segment.at - at) <= slack]


def _covers(wall: Sequence[Segment], start: float, end: float) -> bool:
    length = sum(max(0.0, min(segment.end, end) - max(segment.start, start)) for segment in wall)
    return length >= COVERED_SHARE * (end - start)


def _without_overlaps(cells: Sequence[Cell]) -> dict[Field, Cell]:
    """Cells that overlap become one, until none do: HTML knows only rectangles."""
    owner: dict[Field, Cell] = {}
    waiting = sorted(cells, key=lambda cell: cell.area)
    while waiting:
        cell = waiting.pop()
        met = {owner[field] for field in cell.fields() if field in owner}
        whole = cell
        for other in met:
            whole = whole.joined(other)
        if whole in met:
            continue
        if whole == cell:
            owner.update(dict.fromkeys(cell.fields(), cell))
            continue
        for other in met:
            for field in other.fields():
                del owner[field]
        waiting.append(whole)
    return owner
