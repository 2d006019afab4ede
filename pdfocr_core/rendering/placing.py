"""From a PDF page's own space to the page as it is seen. Runs in rendering processes only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Placer", "placer"]

Placer = Callable[[float, float, float, float], tuple[float, float, float, float]]


def placer(page: Any) -> Placer:
    """How boxes of the page's own space (y upwards, before `/Rotate`) come to lie on the page as it is seen."""
    left, bottom, right, top = page.get_bbox()
    rotation = page.get_rotation()

    def place(x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        if rotation == 90:
            return y0 - bottom, x0 - left, y1 - bottom, x1 - left
        if rotation == 180:
            return right - x1, y0 - bottom, right - x0, y1 - bottom
        if rotation == 270:
            return top - y1, right - x1, top - y0, right - x0
        return x0 - left, top - y1, x1 - left, top - y0

    return place
