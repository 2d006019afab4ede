"""Whether a cell stands where a test says: its neighbours and its headings."""

from __future__ import annotations

from collections.abc import Iterator

from pdfocr_core.bench.cases import TableCase
from pdfocr_core.bench.grids import Grid, html_grids, markdown_grids
from pdfocr_core.bench.normalise import normalise

__all__ = ["judge_table"]

_LEAST = 0.5  # likeness that no allowance goes under
_BESIDE = (("up", -1, 0), ("down", 1, 0), ("left", 0, -1), ("right", 0, 1))


def judge_table(case: TableCase, text: str) -> str:
    """Why no table of the page holds the cell so; nothing when one does."""
    try:
        grids = [*(() if case.ignore_markdown_tables else markdown_grids(text)), *html_grids(text)]
    except (ValueError, RecursionError):
        return "a table's markup cannot be read"
    if not grids:
        return "there is no table on the page"
    first = ""
    for grid in grids:
        for row, column in _places(case, grid):
            wrong = next(_faults(case, grid, row, column), "")
            if not wrong:
                return ""
            first = first or wrong
    return first or f"no table has the cell {case.cell!r}"


def _like(asked: str, found: str) -> float:
    from rapidfuzz import fuzz

    return fuzz.ratio(asked, normalise(found)) / 100.0


def _needed(case: TableCase, asked: str) -> float:
    return max(_LEAST, 1.0 - case.max_diffs / (len(asked) or 1))


def _places(case: TableCase, grid: Grid) -> Iterator[tuple[int, int]]:
    needed = _needed(case, case.cell)
    for row, cells in enumerate(grid.rows):
        for column, cell in enumerate(cells):
            if _like(case.cell, cell) >= needed:
                yield row, column


def _faults(case: TableCase, grid: Grid, row: int, column: int) -> Iterator[str]:
    for name, down, right in _BESIDE:
        asked = getattr(case, name)
        at, to = row + down, column + right
        # Beyond the edge there is nothing to compare with, and that is no fault.
        if asked and 0 <= at < len(grid.rows) and 0 <= to < len(grid.rows[0]):
            found = grid.rows[at][to]
            if _like(asked, found) < _needed(case, asked):
                yield f"`{name}` is {found!r}, not {asked!r}"
    if case.top_heading:
        above = [grid.rows[place][column] for place in range(row)]
        marked = [above[place] for place in sorted(grid.heading_rows) if place < row]
        if not _headed(case, case.top_heading, [*grid.above.get(column, ()), *marked], above):
            yield f"`top_heading` is not {case.top_heading!r}"
    if case.left_heading:
        before = grid.rows[row][:column]
        marked = [before[place] for place in sorted(grid.heading_columns) if place < column]
        if not _headed(case, case.left_heading, [*grid.before.get(row, ()), *marked], before):
            yield f"`left_heading` is not {case.left_heading!r}"


def _headed(case: TableCase, asked: str, headings: list[str], others: list[str]) -> bool:
    """By the headings; only where none of them is like it in the least, by any cell on the way to the edge."""
    needed = _needed(case, asked)
    best = max((_like(asked, heading) for heading in headings), default=0.0)
    if not best:
        best = max((_like(asked, other) for other in others), default=0.0)
    return best >= needed
