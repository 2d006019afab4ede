"""The straight strokes that a PDF page draws, which are the rulings of its tables. Runs in rendering processes only."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from pdfocr_core.layout.model import Rulings, Segment
from pdfocr_core.rendering.placing import Placer

__all__ = ["page_rulings"]

# In points.
THICKEST = 3.0  # a filled rectangle up to this is a stroke
SHORTEST = 6.0  # less is a part of a letter or of a drawing
SLANT = 0.7  # so far a stroke may be from level or upright
MOST_OBJECTS = 6000  # maps have a hundred times as many
MOST_POINTS = 400  # of one path; more is a drawing
MOST_DEPTH = 4  # of forms in forms

_Box = tuple[float, float, float, float]


def page_rulings(page: Any, place: Placer) -> Rulings:
    """Level and upright strokes as they lie on the page as it is seen."""
    horizontal: list[Segment] = []
    vertical: list[Segment] = []
    for box in islice(_strokes(page), MOST_OBJECTS):
        first_x, first_y, second_x, second_y = place(*box)
        x0, x1 = sorted((first_x, second_x))
        y0, y1 = sorted((first_y, second_y))
        if y1 - y0 <= THICKEST and x1 - x0 >= SHORTEST:
            horizontal.append(Segment((y0 + y1) / 2, x0, x1))
        elif x1 - x0 <= THICKEST and y1 - y0 >= SHORTEST:
            vertical.append(Segment((x0 + x1) / 2, y0, y1))
    return Rulings(tuple(horizontal), tuple(vertical))


def _strokes(page: Any) -> Iterator[_Box]:
    """Boxes of strokes in the page's own space."""
    count = min(pdfium_c.FPDFPage_CountObjects(page.raw), MOST_OBJECTS)
    for index in range(count):
        item = pdfium_c.FPDFPage_GetObject(page.raw, index)
        yield from _strokes_of(item, pdfium.PdfMatrix(), 0)


def _strokes_of(item: Any, outer: pdfium.PdfMatrix, depth: int) -> Iterator[_Box]:
    kind = pdfium_c.FPDFPageObj_GetType(item)
    if kind not in {pdfium_c.FPDF_PAGEOBJ_PATH, pdfium_c.FPDF_PAGEOBJ_FORM}:
        return
    own = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(item, own):
        return
    matrix = pdfium.PdfMatrix.from_raw(own).multiply(outer)
    if kind == pdfium_c.FPDF_PAGEOBJ_PATH:
        yield from _strokes_of_path(item, matrix)
    elif depth < MOST_DEPTH:
        for index in range(min(pdfium_c.FPDFFormObj_CountObjects(item), MOST_OBJECTS)):
            yield from _strokes_of(pdfium_c.FPDFFormObj_GetObject(item, index), matrix, depth + 1)


def _strokes_of_path(item: Any, matrix: pdfium.PdfMatrix) -> Iterator[_Box]:
    count = pdfium_c.FPDFPath_CountSegments(item)
    fill, is_stroked = ctypes.c_int(), ctypes.c_int()
    if not 2 <= count <= MOST_POINTS or not pdfium_c.FPDFPath_GetDrawMode(item, fill, is_stroked):
        return
    parts = list(_parts(item, count, matrix))
    if is_stroked.value:
        yield from (_box(one) for part in parts for one in pairwise(part) if _is_straight(*one))
    elif fill.value:
        boxes = [_box(part) for part in parts if len(part) > 1]
        yield from (box for box in boxes if min(box[2] - box[0], box[3] - box[1]) <= THICKEST)


def _parts(item: Any, count: int, matrix: pdfium.PdfMatrix) -> Iterator[list[tuple[float, float]]]:
    """Points of each run of straight lines; a curve ends one."""
    part: list[tuple[float, float]] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        segment = pdfium_c.FPDFPath_GetPathSegment(item, index)
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        if pdfium_c.FPDFPathSegment_GetType(segment) == pdfium_c.FPDF_SEGMENT_LINETO:
            part.append(point)
        else:
            yield part
            part = [point]
        if pdfium_c.FPDFPathSegment_GetClose(segment) and part:
            part.append(part[0])
    yield part


def _is_straight(first: tuple[float, float], second: tuple[float, float]) -> bool:
    across, up = abs(second[0] - first[0]), abs(second[1] - first[1])
    return min(across, up) <= SLANT and max(across, up) >= SHORTEST


def _box(points: Any) -> _Box:
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    return min(xs), min(ys), max(xs), max(ys)
