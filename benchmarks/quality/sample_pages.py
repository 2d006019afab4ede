"""Drawn pages of text, each kind with the tests that a right reading of it passes."""

from __future__ import annotations

from benchmarks.quality.prose import Prose
from benchmarks.quality.sample_tests import FONTS, Drawn, absent, end, in_turn, order, present, start
from benchmarks.quality.sheet import MARGIN, PAGE, Sheet

__all__ = ["captions", "columns", "footnotes", "heads", "lists"]

_WIDTH = PAGE[0] - 2 * MARGIN
_BOTTOM = PAGE[1] - MARGIN


def columns(prose: Prose, count: int, number: int) -> Drawn:
    """A title over the page, sections in columns, paragraphs that go on in the next column."""
    sheet = Sheet(10 if count == 2 else 9, FONTS[number % 2])
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
    tests = in_turn(told)[:: 3 if count == 2 else 4]
    return Drawn(sheet.save(), [*tests, order(title, start(told[0])), order(end(told[0]), start(told[-1]))])


def heads(prose: Prose, number: int) -> Drawn:
    """A running head with the page's number, a line at the foot, and text between them."""
    sheet = Sheet(11, FONTS[number % 2])
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
    tests = [absent(head), absent(foot), absent(page), *map(present, told[::4]), present(told[-1])]
    return Drawn(sheet.save(), tests)


def lists(prose: Prose, number: int) -> Drawn:
    """A numbered list and one with marks, between paragraphs."""
    sheet = Sheet(11, FONTS[number % 2])
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
    return Drawn(sheet.save(), in_turn([first[-1], *items, between[0], *marked, last[0]]))


def footnotes(prose: Prose, number: int) -> Drawn:
    """Text with raised marks, a short stroke, and the notes in small print."""
    sheet = Sheet(11, FONTS[number % 2])
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
    return Drawn(sheet.save(), [*map(present, told[2::4]), *in_turn([told[-1], *notes])])


def captions(prose: Prose, number: int) -> Drawn:
    """A figure with its caption in the middle of a page, before a paragraph that has nothing to do with it."""
    sheet = Sheet(11, FONTS[number % 2])
    above, caption, below = prose.sentences(5), prose.sentence(), prose.sentences(8)
    y = sheet.paragraph(" ".join(above), MARGIN, 90, _WIDTH)
    sheet.figure(MARGIN + 80, y, _WIDTH - 160, 180, [prose.chance.random() for _ in range(12)])
    labelled = f"Figure {number + 2}. {caption}"
    y = sheet.paragraph(labelled, MARGIN + 40, y + 200, _WIDTH - 80, size=9) + 14
    sheet.paragraph(" ".join(below[:4]), MARGIN, y, _WIDTH)
    sheet.paragraph(" ".join(below[4:]), MARGIN, y + 90, _WIDTH)
    return Drawn(sheet.save(), in_turn([above[0], above[-1], labelled, below[0], below[4], below[-1]]))
