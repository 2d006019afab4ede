"""The text that a PDF page carries itself, as lines with boxes and then as Markdown. Runs in rendering processes only."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium_c

from pdfocr_core.layout.model import Line
from pdfocr_core.layout.order import in_reading_order
from pdfocr_core.layout.page import to_markdown
from pdfocr_core.rendering.formfields import field_lines
from pdfocr_core.rendering.images_on_page import image_share
from pdfocr_core.rendering.model import TextLayerText
from pdfocr_core.rendering.placing import Placer, placer
from pdfocr_core.rendering.plausible import letters_in, why_unsound
from pdfocr_core.rendering.strokes import page_rulings

__all__ = ["has_letters", "page_lines", "read_text_layer"]

# A gap of this many line heights inside a line separates the cells of a table or the columns of a page.
_WIDE_GAP = 1.2
# Characters of common fonts are half as wide as the line is high, on average.
_WIDEST_CHARACTER = 0.6


def has_letters(page: Any) -> bool:
    """Whether the page's own text has any letter or digit; cheap."""
    textpage = page.get_textpage()
    try:
        return textpage.count_chars() > 0 and letters_in(textpage.get_text_range()) > 0
    finally:
        textpage.close()


def read_text_layer(document: Any, page: Any, *, want_lines: bool = False, keep_margins: bool = True) -> TextLayerText:
    """The page's own text in reading order, with the values of its form fields, and whether it can be relied on."""
    place = placer(page)
    textpage = page.get_textpage()
    try:
        lines = list(page_lines(textpage, place))
    finally:
        textpage.close()
    lines.extend(field_lines(document, page, place))
    text = "\n".join(line.text for line in lines)
    share = image_share(page)
    reason = why_unsound(text, share)
    width, height = page.get_size()
    markdown = ""
    if lines:
        markdown = to_markdown(lines, width, height, page_rulings(page, place), keep_margins=keep_margins).markdown
    places = _fractions(lines, width, height) if want_lines else ()
    return TextLayerText(markdown, letters_in(text), not reason, reason, share, places)


def _fractions(lines: Sequence[Line], width: float, height: float) -> tuple[Line, ...]:
    return tuple(
        Line(line.text, line.x0 / width, line.y0 / height, line.x1 / width, line.y1 / height)
        for line in in_reading_order(lines)
    )


def page_lines(textpage: Any, place: Placer) -> Iterator[Line]:
    """The lines PDFium found, each with its box, cut where a wide gap runs through it."""
    text = textpage.get_text_range()
    position = 0
    for raw in text.split("\n"):
        start, position = position, position + len(raw) + 1
        content = raw.rstrip("\r")
        if content.strip():
            yield from _line_parts(textpage, content, start, place)


def _line_parts(textpage: Any, content: str, start: int, place: Placer) -> Iterator[Line]:
    first = pdfium_c.FPDFText_GetCharIndexFromTextIndex(textpage.raw, start)
    last = pdfium_c.FPDFText_GetCharIndexFromTextIndex(textpage.raw, start + len(content) - 1)
    if first < 0 or last < first:
        return
    boxes = _rectangles(textpage, first, last - first + 1)
    if not boxes:
        return
    has_gap = _has_wide_gap(boxes)
    parts = (
        list(_cut_by_characters(textpage, content, start, place)) if has_gap or _is_stretched(boxes, content) else []
    )
    # The boxes of pieces tell the height of the print better than those of characters.
    if has_gap or len(parts) > 1:
        yield from parts
    else:
        yield Line(content.strip(), *place(*_union(boxes)))


def _rectangles(textpage: Any, index: int, count: int) -> list[tuple[float, float, float, float]]:
    """Boxes (left, bottom, right, top) of a run of characters, one for each piece drawn."""
    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    return [
        (left.value, bottom.value, right.value, top.value)
        for number in range(pdfium_c.FPDFText_CountRects(textpage.raw, index, count))
        if pdfium_c.FPDFText_GetRect(textpage.raw, number, left, top, right, bottom)
    ]


def _has_wide_gap(boxes: list[tuple[float, float, float, float]]) -> bool:
    return any(
        later[0] - earlier[2] > _WIDE_GAP * max(earlier[3] - earlier[1], later[3] - later[1]) or later[2] < earlier[0]
        for earlier, later in pairwise(boxes)
    )


def _is_stretched(boxes: list[tuple[float, float, float, float]], content: str) -> bool:
    """Whether the characters stand so far apart that wide gaps may lie inside what is drawn as one piece."""
    left, bottom, right, top = _union(boxes)
    return right - left > _WIDEST_CHARACTER * (top - bottom) * len(content)


def _union(boxes: list[tuple[float, float, float, float]]) -> tuple[float, float, float, float]:
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


def _cut_by_characters(textpage: Any, content: str, start: int, place: Placer) -> Iterator[Line]:
    """Cuts a line where neighbouring characters stand far apart; every character ends up in some part."""
    part: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    for offset, character in enumerate(content):
        box = None if character.isspace() else _character_box(textpage, start + offset)
        if box and boxes and _has_wide_gap([boxes[-1], box]):
            yield Line("".join(part).strip(), *place(*_union(boxes)))
            part, boxes = [], []
        part.append(character)
        if box:
            boxes.append(box)
    if boxes:
        yield Line("".join(part).strip(), *place(*_union(boxes)))


def _character_box(textpage: Any, text_index: int) -> tuple[float, float, float, float] | None:
    index = pdfium_c.FPDFText_GetCharIndexFromTextIndex(textpage.raw, text_index)
    rectangle = pdfium_c.FS_RECTF()
    # The loose box has the font's full height: tight ones of dots and dashes would make every gap look wide.
    if index < 0 or not pdfium_c.FPDFText_GetLooseCharBox(textpage.raw, index, rectangle):
        return None
    box = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
    return box if box[2] > box[0] and box[3] > box[1] else None
