"""How much of a PDF page its pictures cover. Runs in rendering processes only."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium_c

__all__ = ["image_boxes", "image_share"]

# Coverage is counted on a grid, so that strips and overlaps add up to what is really covered.
_GRID = 64
_MOST_OBJECTS = 20_000
_MOST_DEPTH = 4

_Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def image_share(page: Any) -> float:
    """The part of the page's area that pictures cover, 0 to 1."""
    left, bottom, right, top = page.get_bbox()
    if right <= left or top <= bottom:
        return 0.0
    covered = np.zeros((_GRID, _GRID), bool)
    for x0, y0, x1, y1 in image_boxes(page):
        columns = _cells(x0, x1, left, right)
        rows = _cells(y0, y1, bottom, top)
        covered[rows, columns] = True
    return float(covered.mean())


def image_boxes(page: Any) -> Iterator[tuple[float, float, float, float]]:
    """Left, bottom, right and top of every picture, in the page's own space."""
    budget = iter(range(_MOST_OBJECTS))
    for index in range(pdfium_c.FPDFPage_CountObjects(page.raw)):
        if next(budget, None) is None:
            break
        yield from _image_boxes(pdfium_c.FPDFPage_GetObject(page.raw, index), _IDENTITY, 0, budget)


def _cells(low: float, high: float, start: float, end: float) -> slice:
    """The grid cells whose middle lies between two coordinates."""
    scale = _GRID / (end - start)
    first, last = np.clip(((low - start) * scale, (high - start) * scale), 0, _GRID)
    return slice(round(first), round(last))


def _image_boxes(
    handle: Any, outer: _Matrix, depth: int, budget: Iterator[int]
) -> Iterator[tuple[float, float, float, float]]:
    kind = pdfium_c.FPDFPageObj_GetType(handle)
    if kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
        # A picture is the unit square under its matrix.
        yield _box(_product(_matrix(handle), outer))
    elif kind == pdfium_c.FPDF_PAGEOBJ_FORM and depth < _MOST_DEPTH:
        inner = _product(_matrix(handle), outer)
        for index in range(pdfium_c.FPDFFormObj_CountObjects(handle)):
            if next(budget, None) is None:
                return
            yield from _image_boxes(pdfium_c.FPDFFormObj_GetObject(handle, index), inner, depth + 1, budget)


def _matrix(handle: Any) -> _Matrix:
    matrix = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(handle, ctypes.byref(matrix)):
        return _IDENTITY
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _product(first: _Matrix, second: _Matrix) -> _Matrix:
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _box(matrix: _Matrix) -> tuple[float, float, float, float]:
    a, b, c, d, e, f = matrix
    xs, ys = (e, e + a, e + c, e + a + c), (f, f + b, f + d, f + b + d)
    return min(xs), min(ys), max(xs), max(ys)
