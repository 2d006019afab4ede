"""Tables with a visible grid, from the strokes that were drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pdfocr_core.layout.joining import join_lines
from pdfocr_core.layout.model import Line, Rulings, Segment
from pdfocr_core.layout.rows import group_rows

__all__ = ["Table", "find_tables"]

_ENTITY = re.compile(r"&(?=#?\w{1,32};)")
COVERED_SHARE = 0.5  # a border is there when strokes cover at least this much of it


@dataclass(frozen=True, slots=True)
class Table:
    """One table, its place and the lines that it has taken up."""

    html: str
    x0: float
    y0: float
    x1: float
    y1: float
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class _Cell:
    top: int
    left: int
    bottom: int
    right: int

    def joined(self, other: _Cell) -> _Cell:
        return _Cell(
            min(self.top, other.top),
            min(self.left, other.left),
            max(self.bottom, other.bottom),
            max(self.right, other.right),
        )

    def meets(self, other: _Cell) -> bool:
        return (
            self.top <= other.bottom
            and other.top <= self.bottom
            and self.left <= other.right
            and other.left <= self.right
        )


def find_tables(lines: Sequence[Line], rulings: Rulings, height: float) -> list[Table]:
    """Tables with at least two cells each way and text in them; `height` is that of the usual line."""
    tables: list[Table] = []
    for group in _connected(rulings, 0.5 * height):
        ys = _positions([segment.at for segment in group.horizontal], 0.4 * height)
        xs = _positions([segment.at for segment in group.vertical], 0.4 * height)
        if len(ys) < 3 or len(xs) < 2:
            continue
        # Many grids are open on their outer sides.
        xs = _with_ends(xs, group.horizontal, height)
        inside = [line for line in lines if xs[0] < line.centre < xs[-1] and ys[0] < line.middle < ys[-1]]
        taken = {line for table in tables for line in table.lines}
        inside = [line for line in inside if line not in taken]
        html = _html(inside, xs, ys, group, 0.5 * height)
        if html is not None:
            tables.append(Table(html, xs[0], ys[0], xs[-1], ys[-1], tuple(inside)))
    return tables


def _connected(rulings: Rulings, slack: float) -> list[Rulings]:
    """Strokes that touch each other, directly or through others."""
    strokes = [(True, segment) for segment in rulings.horizontal] + [(False, segment) for segment in rulings.vertical]
    parents = list(range(len(strokes)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    across = [index for index, (is_horizontal, _) in enumerate(strokes) if is_horizontal]
    down = [index for index, (is_horizontal, _) in enumerate(strokes) if not is_horizontal]
    for first in across:
        for second in down:
            if _touch(strokes[first][1], strokes[second][1], slack):
                parents[root(first)] = root(second)
    groups: dict[int, list[int]] = {}
    for index in range(len(strokes)):
        groups.setdefault(root(index), []).append(index)
    return [
        Rulings(
            tuple(strokes[index][1] for index in members if strokes[index][0]),
            tuple(strokes[index][1] for index in members if not strokes[index][0]),
        )
        for members in groups.values()
    ]


def _touch(horizontal: Segment, vertical: Segment, slack: float) -> bool:
    return (
        horizontal.start - slack <= vertical.at <= horizontal.end + slack
        and vertical.start - slack <= horizontal.at <= vertical.end + slack
    )


def _positions(values: Sequence[float], slack: float) -> list[float]:
    """Values closer than `slack` are the two edges of one stroke, or pieces of it."""
    merged: list[list[float]] = []
    for value in sorted(values):
        if merged and value - merged[-1][-1] <= slack:
            merged[-1].append(value)
        else:
            merged.append([value])
    return [sum(group) / len(group) for group in merged]


def _with_ends(xs: list[float], horizontal: Sequence[Segment], height: float) -> list[float]:
    start, end = min(segment.start for segment in horizontal), max(segment.end for segment in horizontal)
    left = [start] if xs[0] - start > height else []
    right = [end] if end - xs[-1] > height else []
    return [*left, *xs, *right]


def _html(lines: Sequence[Line], xs: list[float], ys: list[float], strokes: Rulings, slack: float) -> str | None:
    cells = _cells(xs, ys, strokes, slack)
    texts: dict[_Cell, list[Line]] = {cell: [] for cell in cells}
    for line in lines:
        row, column = _interval(ys, line.middle), _interval(xs, line.centre)
        texts[next(cell for cell in cells if cell.meets(_Cell(row, column, row, column)))].append(line)
    filled = [cell for cell, members in texts.items() if members]
    if len({cell.top for cell in filled}) < 2 or len({cell.left for cell in filled}) < 2:
        return None
    # Positions at which no cell begins are no rows or columns of their own.
    tops, lefts = sorted({cell.top for cell in cells}), sorted({cell.left for cell in cells})
    rows = []
    for top in tops:
        starting = sorted((cell for cell in cells if cell.top == top), key=lambda cell: cell.left)
        rows.append("<tr>" + "".join(_cell_html(cell, tops, lefts, texts[cell]) for cell in starting) + "</tr>")
    return "\n".join(["<table>", *rows, "</table>"])


def _cells(xs: list[float], ys: list[float], strokes: Rulings, slack: float) -> list[_Cell]:
    """Fields of the grid, joined where no stroke parts them and made rectangular."""
    cells = [_Cell(row, column, row, column) for row in range(len(ys) - 1) for column in range(len(xs) - 1)]
    merged: list[_Cell] = []
    for cell in cells:
        grown = cell
        if cell.right + 2 < len(xs) and not _covered(
            strokes.vertical, xs[cell.right + 1], ys[cell.top], ys[cell.top + 1], slack
        ):
            grown = grown.joined(_Cell(cell.top, cell.right + 1, cell.bottom, cell.right + 1))
        if cell.bottom + 2 < len(ys) and not _covered(
            strokes.horizontal, ys[cell.bottom + 1], xs[cell.left], xs[cell.left + 1], slack
        ):
            grown = grown.joined(_Cell(cell.bottom + 1, cell.left, cell.bottom + 1, cell.left))
        merged = _absorb(merged, grown)
    return merged


def _absorb(cells: list[_Cell], new: _Cell) -> list[_Cell]:
    while overlapping := [cell for cell in cells if cell.meets(new)]:
        for cell in overlapping:
            new = new.joined(cell)
        cells = [cell for cell in cells if cell not in overlapping]
    return [*cells, new]


def _covered(segments: Sequence[Segment], at: float, start: float, end: float, slack: float) -> bool:
    length = sum(
        max(0.0, min(segment.end, end) - max(segment.start, start))
        for segment in segments
        if abs(segment.at - at) <= slack
    )
    return length >= COVERED_SHARE * (end - start)


def _interval(edges: Sequence[float], value: float) -> int:
    return max(0, sum(edge < value for edge in edges) - 1)


def _cell_html(cell: _Cell, tops: Sequence[int], lefts: Sequence[int], lines: Sequence[Line]) -> str:
    text = ""
    for row in group_rows(lines):
        text = join_lines(text, row.text)
    # Only what a reader of HTML would take for markup is escaped.
    text = _ENTITY.sub("&amp;", text).replace("<", "&lt;")
    rows = sum(cell.top <= top <= cell.bottom for top in tops)
    columns = sum(cell.left <= left <= cell.right for left in lefts)
    spans = (f' rowspan="{rows}"' if rows > 1 else "") + (f' colspan="{columns}"' if columns > 1 else "")
    return f"<td{spans}>{text}</td>"
