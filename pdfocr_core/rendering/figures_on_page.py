"""The pictures on a PDF page that are figures: no scans of the whole page, no ornaments. Runs in rendering processes only."""

from __future__ import annotations

import math
from typing import Any

from pdfocr_core.rendering.images_on_page import image_boxes, image_share
from pdfocr_core.rendering.model import FULL_PAGE_SHARE, Region
from pdfocr_core.rendering.placing import placer

__all__ = ["figures_on"]

# Rules, bullets, small logos: less than this many points a side.
_LEAST_POINTS = 36.0
# Pictures are often cut into strips; what lies so near in points belongs together.
_NEAR_POINTS = 2.0
# Beyond that the pictures are tiles of a map or the pixels of a drawing, and comparing all of them takes too long.
_MOST_PICTURES = 500
_MOST_FIGURES = 50


def figures_on(page: Any) -> tuple[Region, ...]:
    """Left, top, right and bottom of each, as fractions of the page as it is seen, from top to bottom."""
    width, height = page.get_size()
    if not (width > 0 and height > 0) or image_share(page) >= FULL_PAGE_SHARE:
        return ()
    place = placer(page)
    boxes: list[Region] = []
    for box in image_boxes(page):
        x0, y0, x1, y1 = place(*box)
        clamped = max(x0, 0.0), max(y0, 0.0), min(x1, width), min(y1, height)
        # Also refuses what is no number.
        if all(map(math.isfinite, clamped)) and clamped[0] < clamped[2] and clamped[1] < clamped[3]:
            boxes.append(clamped)
        if len(boxes) > _MOST_PICTURES:
            return ()
    figures = [
        (x0 / width, y0 / height, x1 / width, y1 / height)
        for x0, y0, x1, y1 in _joined(boxes)
        if min(x1 - x0, y1 - y0) >= _LEAST_POINTS
    ]
    return tuple(sorted(figures, key=lambda figure: (figure[1], figure[0]))[:_MOST_FIGURES])


def _joined(boxes: list[Region]) -> list[Region]:
    """With those that touch as one, until no two touch."""
    done: list[Region] = []
    waiting = list(dict.fromkeys(boxes))
    while waiting:
        box = waiting.pop()
        touching = next((other for other in done if _touch(box, other)), None)
        if touching is None:
            done.append(box)
        else:
            done.remove(touching)
            waiting.append(
                (
                    min(box[0], touching[0]),
                    min(box[1], touching[1]),
                    max(box[2], touching[2]),
                    max(box[3], touching[3]),
                )
            )
    return done


def _touch(one: Region, other: Region) -> bool:
    return (
        one[0] <= other[2] + _NEAR_POINTS
        and other[0] <= one[2] + _NEAR_POINTS
        and one[1] <= other[3] + _NEAR_POINTS
        and other[1] <= one[3] + _NEAR_POINTS
    )
