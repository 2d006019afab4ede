"""Tables with a visible grid, from the strokes that were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from statistics import median

from pdfocr_core.layout.cells import cell_html, table_html
from pdfocr_core.layout.grid import Cell, cells_by_field
from pdfocr_core.layout.model import Line, Rulings, Segment

__all__ = ["Table", "find_tables"]

MOST_STROKES = 500  # of each direction, the longest; where there are more, the short ones are hatching
MOST_FIELDS = 5000  # a finer grid is graph paper
MOST_LINES = 10  # cells with more in the median are columns of running text between rules


@dataclass(frozen=True, slots=True)
class Table:
    """One table, its place and the lines that it has taken up."""

    html: str
    x0: float
    y0: float
    x1: float
    y1: float
    lines: tuple[Line, ...]


def find_tables(lines: Sequence[Line], rulings: Rulings, height: float) -> list[Table]:
    """Tables with at least two cells each way and text in them; `height` is that of the usual line."""
    tables: list[Table] = []
    drawn = Rulings(_longest(rulings.horizontal), _longest(rulings.vertical))
    for group in _connected(drawn, 0.5 * height):
        ys = _positions([segment.at for segment in group.horizontal], 0.4 * height)
        xs = _positions([segment.at for segment in group.vertical], 0.4 * height)
        if len(ys) < 3 or len(xs) < 2 or len(ys) * len(xs) > MOST_FIELDS:
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


def _longest(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    return tuple(nlargest(MOST_STROKES, segments, key=lambda segment: segment.end - segment.start))


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
    cells = cells_by_field(xs, ys, strokes, slack)
    texts: dict[Cell, list[Line]] = {cell: [] for cell in cells.values()}
    for line in lines:
        texts[cells[_interval(ys, line.middle), _interval(xs, line.centre)]].append(line)
    filled = [cell for cell, members in texts.items() if members]
    if len({cell.top for cell in filled}) < 2 or len({cell.left for cell in filled}) < 2:
        return None
    if median(len(texts[cell]) for cell in filled) > MOST_LINES:
        return None
    # Positions at which no cell begins are no rows or columns of their own.
    tops, lefts = sorted({cell.top for cell in texts}), sorted({cell.left for cell in texts})
    rows = []
    for top in tops:
        starting = sorted((cell for cell in texts if cell.top == top), key=lambda cell: cell.left)
        rows.append([_written(cell, tops, lefts, texts[cell]) for cell in starting])
    return table_html(rows)


def _written(cell: Cell, tops: Sequence[int], lefts: Sequence[int], lines: Sequence[Line]) -> str:
    rows = sum(cell.top <= top <= cell.bottom for top in tops)
    return cell_html(lines, rows, sum(cell.left <= left <= cell.right for left in lefts))


def _interval(edges: Sequence[float], value: float) -> int:
    return max(0, sum(edge < value for edge in edges) - 1)
