"""A page of a journal with everything on it: head, columns, a table and a figure in them, a footnote."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.quality.prose import Prose
from benchmarks.quality.sample_tests import Drawn, Test, absent, end, in_turn, order, present, start
from benchmarks.quality.sheet import MARGIN, PAGE, Sheet

__all__ = ["journal"]

_GUTTER = 18.0
_WIDTH = (PAGE[0] - 2 * MARGIN - _GUTTER) / 2
_RIGHT = MARGIN + _WIDTH + _GUTTER


def journal(prose: Prose, number: int) -> Drawn:
    """A table over both columns at the top, under it justified text with hyphens, a figure in its middle, a footnote."""
    sheet = Sheet(9.5)
    head, page = prose.title(), prose.number(3)
    sheet.write(head, MARGIN, 42, size=8.5)
    sheet.write(page, PAGE[0] - MARGIN, 42, size=8.5, to="right")
    caption, rows, y = _table(sheet, prose)
    left = _Column(sheet, MARGIN, y + 26, _WIDTH)
    before = left.fill(prose, 300 + 20 * number)
    below = f"Figure {number + 1}. {prose.sentence()}"
    sheet.figure(MARGIN + 10, left.y, _WIDTH - 20, 90, [prose.chance.random() for _ in range(10)])
    left.y = sheet.paragraph(below, MARGIN, left.y + 106, _WIDTH, size=8) + 10
    after = left.fill(prose, PAGE[1] - MARGIN)
    right = _Column(sheet, _RIGHT, y + 26, _WIDTH)
    beside = right.fill(prose, PAGE[1] - MARGIN - 60)
    note = f"* {prose.sentence()}"
    sheet.stroke(_RIGHT, PAGE[1] - MARGIN - 38, _RIGHT + 60, PAGE[1] - MARGIN - 38)
    sheet.paragraph(note, _RIGHT, PAGE[1] - MARGIN - 26, _WIDTH, size=7.5)
    told = [*before, *after, *beside]
    tests = [absent(head), absent(page), present(caption), present(below), present(note)]
    tests += in_turn(told)[number::3]
    tests += [order(end(before[0]), start(after[-1])), order(end(after[-1]), start(beside[0]))]
    tests += [order(end(caption), start(told[0])), order(end(beside[-1]), start(note))]
    return Drawn(sheet.save(), [*tests, *_cells(rows)])


def _table(sheet: Sheet, prose: Prose) -> tuple[str, list[list[str]], float]:
    """A caption and a table between three strokes; returns them, and where the table ends."""
    caption = f"Table 1. {prose.sentence()}"
    y = sheet.paragraph(caption, MARGIN, 76, 2 * _WIDTH, size=8.5)
    edges = [MARGIN + 130 + 85 * place for place in range(4)]
    rows = [["Goods", "1906", "1907", "1908", "1909"]]
    rows += [[name, *(prose.number(4) for _ in edges)] for name in prose.goods(5)]
    sheet.stroke(MARGIN, y, PAGE[0] - MARGIN, y)
    for cells in rows:
        sheet.write(cells[0], MARGIN + 6, y + 12)
        for x, cell in zip(edges, cells[1:], strict=True):
            sheet.write(cell, x + 60, y + 12, to="right")
        y += 16
        if cells is rows[0] or cells is rows[-1]:
            sheet.stroke(MARGIN, y, PAGE[0] - MARGIN, y)
    return caption, rows, y


def _cells(rows: Sequence[Sequence[str]]) -> list[Test]:
    return [
        {"type": "table", "cell": cells[1 + row % 4], "top_heading": rows[0][1 + row % 4], "left_heading": cells[0]}
        for row, cells in enumerate(rows)
        if row
    ]


class _Column:
    """A column that is filled from the top with justified paragraphs."""

    def __init__(self, sheet: Sheet, x: float, y: float, width: float) -> None:
        self._sheet, self._x, self.y, self._width = sheet, x, y, width

    def fill(self, prose: Prose, bottom: float) -> list[str]:
        """Write paragraphs as long as they end above; returns their sentences."""
        told: list[str] = []
        while True:
            paragraph = prose.sentences(3)
            lines = self._sheet.hyphenated(" ".join(paragraph), self._width)
            if self.y + len(lines) * 1.2 * self._sheet.size > bottom:
                return told
            self.y = self._sheet.justified(lines, self._x, self.y, self._width) + 3
            told += paragraph
