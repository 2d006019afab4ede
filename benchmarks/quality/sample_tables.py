"""Drawn pages with tables: in grids, with a few strokes, with none, with text that takes two lines of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchmarks.quality.prose import Prose
from benchmarks.quality.sample_tests import FONTS, Drawn, Test, in_turn, present
from benchmarks.quality.sheet import MARGIN, PAGE, Sheet

__all__ = ["plain_table", "ruled_table", "text_table"]

_WIDTH = PAGE[0] - 2 * MARGIN


def ruled_table(prose: Prose, number: int) -> Drawn:
    """A table in a grid between two paragraphs; the second has a heading over two columns."""
    return _table(prose, number, ruled=True)


def plain_table(prose: Prose, number: int) -> Drawn:
    """A table of aligned columns without a grid; the second has three strokes across."""
    return _table(prose, number, ruled=False)


def _table(prose: Prose, number: int, *, ruled: bool) -> Drawn:
    sheet = Sheet(10.5, FONTS[number % 2])
    first, last = prose.sentences(3), prose.sentences(4)
    years = [str(1871 + 10 * place + number) for place in range(4)]
    rows = [[name, *(prose.number(prose.chance.randint(3, 5)) for _ in years)] for name in prose.goods(8)]
    y = sheet.paragraph(" ".join(first), MARGIN, 90, _WIDTH) + 20
    edges = [MARGIN + 20, MARGIN + 130, *(MARGIN + 130 + 78 * place for place in range(1, 5))]
    spanned = ["Imported goods", "Exported goods"] if ruled and number % 2 else []
    step, top = 21.0, y
    for place, heading in enumerate(spanned):
        sheet.write(heading, (edges[1 + 2 * place] + edges[3 + 2 * place]) / 2, y + 14, bold=True, to="middle")
    y += step * bool(spanned)
    for row, cells in enumerate([["Goods", *years], *rows]):
        sheet.write(cells[0], edges[0] + 5, y + 14, bold=row == 0)
        for place, cell in enumerate(cells[1:], 1):
            sheet.write(cell, edges[place + 1] - 6, y + 14, bold=row == 0, to="right")
        y += step
    _strokes(sheet, edges, [top + step * place for place in range(len(rows) + 2 + bool(spanned))], ruled, number)
    sheet.paragraph(" ".join(last), MARGIN, y + 35, _WIDTH)
    return Drawn(sheet.save(), [*_cells(years, rows, spanned), present(first[1]), *in_turn([last[0], last[-1]])])


def _strokes(sheet: Sheet, edges: Sequence[float], rows: Sequence[float], ruled: bool, number: int) -> None:
    if not ruled and number % 2 == 0:
        return
    for y in rows if ruled else (rows[0], rows[1], rows[-1]):
        sheet.stroke(edges[0], y, edges[-1], y)
    for place, x in enumerate(edges if ruled else ()):
        # A heading over two columns has no stroke through it.
        inside = number % 2 == 1 and place in (2, 4)
        sheet.stroke(x, rows[1] if inside else rows[0], x, rows[-1])


def _cells(years: Sequence[str], rows: Sequence[Sequence[str]], spanned: Sequence[str]) -> list[Test]:
    """Neighbours inside the table, and headings of some cells."""
    tests: list[Test] = []
    for row, (above, cells) in enumerate(pairwise(rows), 1):
        column = 1 + row % 4
        tests.append({"type": "table", "cell": cells[column], "up": above[column], "left": cells[column - 1]})
        tests.append(
            {"type": "table", "cell": cells[column], "top_heading": years[column - 1], "left_heading": cells[0]}
        )
    for place, heading in enumerate(spanned):
        tests.append({"type": "table", "cell": rows[2][1 + 2 * place], "top_heading": heading})
    return tests


def text_table(prose: Prose, number: int) -> Drawn:
    """A table without strokes whose middle column is prose in two or three lines."""
    sheet = Sheet(10, FONTS[number % 2])
    first, last = prose.sentences(4), prose.sentences(3)
    y = sheet.paragraph(" ".join(first), MARGIN, 90, _WIDTH) + 16
    columns = (MARGIN + 10, MARGIN + 110, MARGIN + 400)
    for x, heading in zip(columns, ("Article", "Remark", "Weight"), strict=True):
        sheet.write(heading, x, y, bold=True)
    y += 22
    rows = [[name, prose.sentence(), prose.number(4)] for name in prose.goods(6)]
    for name, remark, weight in rows:
        sheet.write(name, columns[0], y)
        sheet.write(weight, columns[2], y)
        y = sheet.paragraph(remark, columns[1], y, 250) + 6
    sheet.paragraph(" ".join(last), MARGIN, y + 16, _WIDTH)
    tests: list[Test] = [
        {"type": "table", "cell": remark, "left": name, "right": weight, "top_heading": "Remark", "max_diffs": 1}
        for name, remark, weight in rows
    ]
    tests += [{"type": "table", "cell": low[2], "up": high[2], "left_heading": low[0]} for high, low in pairwise(rows)]
    return Drawn(sheet.save(), [*tests, present(first[1]), *in_turn([last[0], last[-1]])])
