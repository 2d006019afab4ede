"""The kinds of pages that are drawn, each with the tests that a right reading of it passes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from benchmarks.quality.prose import Prose
from benchmarks.quality.sheet import MARGIN, PAGE, Sheet

__all__ = ["Drawn", "captions", "columns", "footnotes", "heads", "lists", "plain_table", "ruled_table"]

Test = dict[str, Any]
_WIDTH = PAGE[0] - 2 * MARGIN
_BOTTOM = PAGE[1] - MARGIN
_DIFFS = 3  # letters that may be misread in a sentence
_FONTS = ("Times", "Helvetica")


class Drawn(NamedTuple):
    """A page and its tests, still without its name."""

    pdf: bytes
    tests: list[Test]


def _present(text: str) -> Test:
    return {"type": "present", "text": text, "max_diffs": _DIFFS}


def _absent(text: str) -> Test:
    return {"type": "absent", "text": text, "max_diffs": min(1, len(text) // 10)}


def _order(before: str, after: str) -> Test:
    return {"type": "order", "before": before, "after": after, "max_diffs": _DIFFS}


def _in_turn(texts: Sequence[str]) -> list[Test]:
    """Every text is there, and each comes before the next."""
    return [*map(_present, texts), *(_order(_end(first), _start(second)) for first, second in pairwise(texts))]


def _start(text: str) -> str:
    return text[:40].rsplit(" ", 1)[0]


def _end(text: str) -> str:
    return text[-40:].split(" ", 1)[-1]


def columns(prose: Prose, count: int, number: int) -> Drawn:
    """A title over the page, sections in columns, paragraphs that go on in the next column."""
    sheet = Sheet(10 if count == 2 else 9, _FONTS[number % 2])
    title, section = prose.title(), prose.title()
    sheet.write(title, PAGE[0] / 2, 80, size=18, bold=True, to="middle")
    gutter = 20 if count == 2 else 15
    width = (_WIDTH - gutter * (count - 1)) / count
    told: list[str] = []
    top, column = 115.0, 0
    y = top
    while column < count:
        paragraph = prose.sentences(prose.chance.randint(2, 4))
        lines = sheet.broken(" ".join(paragraph), width)
        step, x = 1.25 * sheet.size, MARGIN + column * (width + gutter)
        room = int((_BOTTOM - y) / step)
        if room < len(lines) and column == count - 1:
            break
        y = sheet.lines(lines[:room], x, y) + 0.6 * sheet.size
        if room < len(lines):
            column += 1
            y = sheet.lines(lines[room:], x + width + gutter, top) + 0.6 * sheet.size
        if len(told) == 4:
            sheet.write(section, MARGIN + column * (width + gutter), y + 6, size=sheet.size + 2, bold=True)
            y += 2.4 * sheet.size
        told += paragraph
    # Every third pair: neighbours at the top, the bottom and the turn of a column are among them.
    tests = _in_turn(told)[:: 3 if count == 2 else 4]
    return Drawn(sheet.save(), [*tests, _order(title, _start(told[0])), _order(_end(told[0]), _start(told[-1]))])


def heads(prose: Prose, number: int) -> Drawn:
    """A running head with the page's number, a line at the foot, and text between them."""
    sheet = Sheet(11, _FONTS[number % 2])
    head, page, foot = prose.title(), prose.number(3), f"Report of the Society, vol. {prose.number(2)}"
    sheet.write(head, MARGIN, 40, size=9)
    sheet.write(page, PAGE[0] - MARGIN, 40 if number % 2 else PAGE[1] - 32, size=9, to="right")
    sheet.write(foot, PAGE[0] / 2, PAGE[1] - 32, size=9, to="middle")
    told: list[str] = []
    y = 90.0
    while y < _BOTTOM - 110:
        paragraph = prose.sentences(4)
        y = sheet.paragraph(" ".join(paragraph), MARGIN, y, _WIDTH)
        told += paragraph
    tests = [_absent(head), _absent(foot), _absent(page), *map(_present, told[::4]), _present(told[-1])]
    return Drawn(sheet.save(), tests)


def lists(prose: Prose, number: int) -> Drawn:
    """A numbered list and one with marks, between paragraphs."""
    sheet = Sheet(11, _FONTS[number % 2])
    first, items, between, marked, last = (prose.sentences(count) for count in (3, 5, 3, 4, 3))
    y = sheet.paragraph(" ".join(first), MARGIN, 90, _WIDTH)
    for place, item in enumerate(items, 1):
        sheet.write(f"{place}.", MARGIN + 12, y)
        y = sheet.paragraph(item, MARGIN + 30, y, _WIDTH - 60)
    y = sheet.paragraph(" ".join(between), MARGIN, y + 8, _WIDTH)
    for item in marked:
        sheet.write("-" if number % 2 else "\u2022", MARGIN + 16, y)
        y = sheet.paragraph(item, MARGIN + 30, y, _WIDTH - 60)
    sheet.paragraph(" ".join(last), MARGIN, y + 8, _WIDTH)
    return Drawn(sheet.save(), _in_turn([first[-1], *items, between[0], *marked, last[0]]))


def footnotes(prose: Prose, number: int) -> Drawn:
    """Text with raised marks, a short stroke, and the notes in small print."""
    sheet = Sheet(11, _FONTS[number % 2])
    told: list[str] = []
    y = 90.0
    marks = 0
    for _ in range(6):
        paragraph = prose.sentences(3)
        lines = sheet.broken(" ".join(paragraph), _WIDTH - 10)
        below = sheet.lines(lines, MARGIN, y)
        if marks < 3:
            marks += 1
            sheet.raised(str(marks), MARGIN + sheet.width_of(lines[-1]) + 1, below - 1.25 * sheet.size)
        y = below + 0.6 * sheet.size
        told += paragraph
    y += 40
    sheet.stroke(MARGIN, y - 12, MARGIN + 120, y - 12)
    notes = prose.sentences(marks)
    for mark, note in enumerate(notes, 1):
        sheet.raised(str(mark), MARGIN, y)
        y = sheet.paragraph(note, MARGIN + 8, y, _WIDTH - 8, size=8.5)
    return Drawn(sheet.save(), [*map(_present, told[2::4]), *_in_turn([told[-1], *notes])])


def captions(prose: Prose, number: int) -> Drawn:
    """A figure with its caption in the middle of a page, before a paragraph that has nothing to do with it."""
    sheet = Sheet(11, _FONTS[number % 2])
    above, caption, below = prose.sentences(5), prose.sentence(), prose.sentences(8)
    y = sheet.paragraph(" ".join(above), MARGIN, 90, _WIDTH)
    sheet.figure(MARGIN + 80, y, _WIDTH - 160, 180, [prose.chance.random() for _ in range(12)])
    labelled = f"Figure {number + 2}. {caption}"
    y = sheet.paragraph(labelled, MARGIN + 40, y + 200, _WIDTH - 80, size=9) + 14
    sheet.paragraph(" ".join(below[:4]), MARGIN, y, _WIDTH)
    sheet.paragraph(" ".join(below[4:]), MARGIN, y + 90, _WIDTH)
    return Drawn(sheet.save(), _in_turn([above[0], above[-1], labelled, below[0], below[4], below[-1]]))


def ruled_table(prose: Prose, number: int) -> Drawn:
    """A table in a grid between two paragraphs; the second has a heading over two columns."""
    return _table(prose, number, ruled=True)


def plain_table(prose: Prose, number: int) -> Drawn:
    """A table of aligned columns without a grid; the second has three strokes across."""
    return _table(prose, number, ruled=False)


def _table(prose: Prose, number: int, *, ruled: bool) -> Drawn:
    sheet = Sheet(10.5, _FONTS[number % 2])
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
    return Drawn(sheet.save(), [*_cells(years, rows, spanned), _present(first[1]), *_in_turn([last[0], last[-1]])])


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
