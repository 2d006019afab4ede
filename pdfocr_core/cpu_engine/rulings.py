"""Strokes and ink on a picture: what is drawn rather than written."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from pdfocr_core.cpu_engine.picture import Pixels
from pdfocr_core.layout.model import Line, Rulings, Segment

__all__ = ["find_rulings", "is_drawing", "straightened"]

INK_CONTRAST = 40  # darker than the paper around by this much
LONGEST_BREAK = 3  # pixels
THICKEST = 9  # pixels; anything thicker is a bar or a picture
# In line heights. Across, the feet of letters run together to short strokes; downwards, letters are less than a line high.
SHORTEST_ACROSS = 2.5
SHORTEST_DOWN = 1.2
DRAWN_SHARE = 0.03  # of the page, ink outside the text from which it may be a drawing
TEXT_SHARE = 0.2  # of the page, text boxes up to which a drawing can be what matters


def straightened(pixels: Pixels, angle: float) -> NDArray[np.uint8]:
    """The picture in grey, turned round its middle against its skew (in degrees)."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    if abs(angle) > 0.1:
        height, width = grey.shape
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
        grey = cv2.warpAffine(grey, turn, (width, height), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(grey, dtype=np.uint8)


def find_rulings(grey: NDArray[np.uint8], line_height: float) -> Rulings:
    """Long horizontal and vertical strokes."""
    ink = _ink(grey)
    across = _strokes(ink, (max(20, round(SHORTEST_ACROSS * line_height)), 1))
    down = _strokes(ink, (1, max(20, round(SHORTEST_DOWN * line_height))))
    return Rulings(
        tuple(Segment(y + h / 2, x, x + w) for x, y, w, h in across if h <= THICKEST and w >= 3 * h),
        tuple(Segment(x + w / 2, y, y + h) for x, y, w, h in down if w <= THICKEST and h >= 3 * w),
    )


def _ink(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    around = cv2.blur(grey, (41, 41)).astype(np.int16)
    return ((around - grey) > INK_CONTRAST // 2).astype(np.uint8)


def _strokes(ink: NDArray[np.uint8], size: tuple[int, int]) -> list[tuple[float, float, float, float]]:
    kernel = cv2.getStructuringElement(cv2.MORPH_RECT, size)
    # Small breaks in a stroke are closed along it before short pieces are taken away.
    gap = (min(size[0], LONGEST_BREAK), min(size[1], LONGEST_BREAK))
    closed = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, cv2.getStructuringElement(cv2.MORPH_RECT, gap))
    opened = cv2.morphologyEx(closed, cv2.MORPH_OPEN, kernel)
    _, _, boxes, _ = cv2.connectedComponentsWithStats(opened, connectivity=8)
    return [(float(x), float(y), float(w), float(h)) for x, y, w, h, _ in boxes[1:]]


def is_drawing(grey: NDArray[np.uint8], lines: Sequence[Line]) -> bool:
    """Whether the page is mostly drawn or photographed: much ink, and little of it text."""
    paper = int(np.percentile(grey, 90))
    ink = grey < paper - INK_CONTRAST
    text = 0.0
    for line in lines:
        rows, columns = slice(max(0, int(line.y0)), int(line.y1) + 1), slice(max(0, int(line.x0)), int(line.x1) + 1)
        ink[rows, columns] = False
        text += line.width * line.height
    return bool(ink.mean() > DRAWN_SHARE) and text < TEXT_SHARE * grey.size
