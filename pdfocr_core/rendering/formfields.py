"""What is filled into a PDF's form fields, which PDFium leaves out of a page's text. Runs in rendering processes only."""

from __future__ import annotations

import ctypes
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2.raw as pdfium_c

from pdfocr_core.layout.model import Line

__all__ = ["field_lines"]

# Kinds of field whose value is shown as text; push buttons, check marks and signatures are not.
_TEXT_FIELDS = {pdfium_c.FPDF_FORMFIELD_TEXTFIELD, pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX}
# Estimates for text of unknown size, in points: a usual row, the smallest row, a narrow character, its least area.
_ROW_POINTS = 12.0
_SMALL_ROW_POINTS = 6.0
_NARROW_POINTS = 4.0
_LEAST_CHARACTER_AREA = 12.0
_HIDDEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW


def field_lines(
    document: Any, page: Any, place: Callable[[float, float, float, float], tuple[float, float, float, float]]
) -> Iterator[Line]:
    """The lines in the text fields, lists and menus of a page, each with the part of the field it takes up."""
    if not document.formenv:
        return
    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page.raw)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            yield from _lines_of(document.formenv.raw, annotation, place)
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)


def _lines_of(
    form: Any, annotation: Any, place: Callable[[float, float, float, float], tuple[float, float, float, float]]
) -> Iterator[Line]:
    if pdfium_c.FPDFAnnot_GetSubtype(annotation) != pdfium_c.FPDF_ANNOT_WIDGET:
        return
    if pdfium_c.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
        return
    if pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation) not in _TEXT_FIELDS:
        return
    rectangle = pdfium_c.FS_RECTF()
    if not pdfium_c.FPDFAnnot_GetRect(annotation, rectangle):
        return
    width, height = rectangle.right - rectangle.left, rectangle.top - rectangle.bottom
    rows = _rows(_value(form, annotation), width, height)
    step = min(height / max(len(rows), 1), _ROW_POINTS)
    for number, row in enumerate(rows):
        top = rectangle.top - number * step
        yield Line(row, *place(rectangle.left, top - step, rectangle.right, top))


def _rows(value: str, width: float, height: float) -> list[str]:
    """A value as the rows that its field can show; what is scrolled out of sight is not on the page."""
    # More than this many characters do not fit whatever the font; cut first, since a value may have megabytes.
    value = value[: int(max(width * height / _LEAST_CHARACTER_AREA, 0)) + 1]
    columns = max(int(width / _NARROW_POINTS), 1)
    rows = [row for line in value.splitlines() for row in textwrap.wrap(line, columns)]
    return rows[: max(int(height / _SMALL_ROW_POINTS), 1)]


def _value(form: Any, annotation: Any) -> str:
    size = pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
