"""Text that is searched, marked and copied, and never painted: put onto the pages of an open PDF. In rendering processes only.

PDFium writes the font into the document as a composite one: each character that occurs gets a number, a width (by one of
the few glyphs) and its meaning, so that any script works without a font for it.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pypdfium2.raw as pdfium_c

from pdfocr_core.layout.model import Line, is_right_to_left

__all__ = ["ASCENT", "DESCENT", "FONT_FILE", "UNITS", "WIDTHS", "InvisibleText", "drawn_order"]

FONT_FILE = str(Path(__file__).with_name("invisible.ttf"))
UNITS, ASCENT, DESCENT = 1000, 800, -200
WIDTHS = (280, 550, 720, 1000)
"""Glyphs of the font after the first: widths of thin letters, of most, of capitals, and of the widest."""
_THIN = frozenset("iIjlft.,;:'!|()[]{}`\" \u00a0\u2019\u2018/\\-r")
_WIDEST = frozenset("WMmw@%\u2014\u2026")
_FIRST_CODE = 1
_MOST_CODES = 0xFFFF
_MOST_IN_SECTION = 100  # entries that a section of a character map may hold
_TALL = 1.5  # higher than wide by this: the line runs upwards or downwards
# Letters and figures that run from left to right inside a line that runs the other way.
_LEFT_TO_RIGHT = re.compile(r"[A-Za-z0-9\u00c0-\u024f](?:[A-Za-z0-9\u00c0-\u024f.,:/%+\- ]*[A-Za-z0-9\u00c0-\u024f%])?")

Point = tuple[float, float]


class InvisibleText:
    """The font of one document and what it knows.

    Args:
        document: a PDFium document that is to be changed.
        texts: all that is going to be written.
    """

    def __init__(self, document: Any, texts: Iterable[str]) -> None:
        characters = sorted(set().union(*(map(_writable, texts))))[:_MOST_CODES]
        self._document = document
        self._codes = {character: code for code, character in enumerate(characters, _FIRST_CODE)}
        glyphs = [0, *(1 + WIDTHS.index(_width(character)) for character in characters)]
        font = Path(FONT_FILE).read_bytes()
        glyph_ids = b"".join(glyph.to_bytes(2, "big") for glyph in glyphs)
        self._font = pdfium_c.FPDFText_LoadCidType2Font(
            document.raw, _bytes(font), len(font), _meanings(self._codes) + b"\0", _bytes(glyph_ids), len(glyph_ids)
        )
        if not self._font:
            raise ValueError("PDFium does not take the font of invisible text")

    def close(self) -> None:
        """Let go of the font; the document keeps it."""
        pdfium_c.FPDFFont_Close(self._font)

    def write(self, page: Any, lines: Sequence[Line], rotation: int) -> int:
        """Put lines onto a page: how many were written.

        Args:
            page: of the document.
            lines: coordinates are fractions of the page as it is seen, turned by `rotation`.
            rotation: degrees counter-clockwise.
        """
        written = sum(self._write_line(page, line, rotation) for line in lines)
        if written and not pdfium_c.FPDFPage_GenerateContent(page.raw):
            raise ValueError("PDFium does not write the page's content")
        return written

    def _write_line(self, page: Any, line: Line, rotation: int) -> bool:
        text = [character for character in _writable(drawn_order(line.text)) if character in self._codes]
        if not text:
            return False
        origin, along, up = _axes(page, line, rotation)
        length, height = _length(along), _length(up)
        if not (length > 0 and height > 0):
            return False
        natural = height * sum(map(_width, text)) / UNITS
        handle = pdfium_c.FPDFPageObj_CreateTextObj(self._document.raw, self._font, height)
        codes = (ctypes.c_uint32 * len(text))(*(self._codes[character] for character in text))
        pdfium_c.FPDFText_SetCharcodes(handle, codes, len(text))
        pdfium_c.FPDFTextObj_SetTextRenderMode(handle, pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE)
        foot = -DESCENT / UNITS
        matrix = pdfium_c.FS_MATRIX(
            along[0] / natural,
            along[1] / natural,
            up[0] / height,
            up[1] / height,
            origin[0] + foot * up[0],
            origin[1] + foot * up[1],
        )
        pdfium_c.FPDFPageObj_SetMatrix(handle, matrix)
        pdfium_c.FPDFPage_InsertObject(page.raw, handle)
        return True


def drawn_order(text: str) -> str:
    """The characters from left to right, as PDFs hold them: readers turn right-to-left scripts round again."""
    if not is_right_to_left(text):
        return text
    return _LEFT_TO_RIGHT.sub(lambda run: run.group()[::-1], text)[::-1]


def _axes(page: Any, line: Line, rotation: int) -> tuple[Point, Point, Point]:
    """Where a line starts on the page's own space, how far it runs, and how high it is."""

    def at(x: float, y: float) -> Point:
        for _ in range(rotation // 90 % 4):
            x, y = 1 - y, x
        return _on_page(page, x, y)

    lower_left, lower_right, upper_left = at(line.x0, line.y1), at(line.x1, line.y1), at(line.x0, line.y0)
    along, up = _between(lower_left, lower_right), _between(lower_left, upper_left)
    if len(line.text) < 2 or _length(up) <= _TALL * _length(along):
        return lower_left, along, up
    if any(unicodedata.east_asian_width(character) in "WF" for character in line.text):
        # Columns of Chinese and Japanese run downwards.
        return upper_left, (-up[0], -up[1]), along
    return lower_right, up, (-along[0], -along[1])


def _on_page(page: Any, x: float, y: float) -> Point:
    """From fractions of the page as it is seen to its own space, which is before `/Rotate` and has y upwards."""
    left, bottom, right, top = page.get_bbox()
    across, down = right - left, top - bottom
    match page.get_rotation():
        case 90:
            return left + y * across, bottom + x * down
        case 180:
            return right - x * across, bottom + y * down
        case 270:
            return right - y * across, top - x * down
        case _:
            return left + x * across, top - y * down


def _between(start: Point, end: Point) -> Point:
    return end[0] - start[0], end[1] - start[1]


def _length(vector: Point) -> float:
    return math.hypot(*vector)


def _writable(text: str) -> list[str]:
    return [character for character in text if character.isprintable() and not "\ud800" <= character <= "\udfff"]


def _width(character: str) -> int:
    thin, most, capital, widest = WIDTHS
    if character in _WIDEST or unicodedata.east_asian_width(character) in "WF":
        return widest
    if character in _THIN:
        return thin
    return capital if character.isupper() else most


def _meanings(codes: dict[str, int]) -> bytes:
    """A character map (ToUnicode) from codes to what they mean."""
    entries = [f"<{code:04X}> <{character.encode('utf-16-be').hex().upper()}>" for character, code in codes.items()]
    sections = [entries[start : start + _MOST_IN_SECTION] for start in range(0, len(entries), _MOST_IN_SECTION)]
    body = "\n".join(f"{len(some)} beginbfchar\n" + "\n".join(some) + "\nendbfchar" for some in sections)
    return (
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n"
        "/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"
        f"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n{body}\nendcmap\n"
        "CMapName currentdict /CMap defineresource pop\nend\nend\n"
    ).encode("ascii")


def _bytes(data: bytes) -> Any:
    return (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
