"""Coordinate spaces that models give boxes in, and the one that we keep: fractions of the picture they saw."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pdfocr_core.records import Box

__all__ = ["BoxSpace", "Picture", "box_of", "numbers_in"]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_PATCH_PX = 28
_MIN_PIXELS = 3136
_DEFAULT_MAX_PIXELS = 11_289_600


class BoxSpace(StrEnum):
    """What a model's coordinates count."""

    THOUSANDTHS = "thousandths"
    THOUSANDTHS_INCLUSIVE = "thousandths_inclusive"
    FIVE_HUNDREDTHS = "five_hundredths"
    PIXELS = "pixels"
    RESIZED_PIXELS = "resized_pixels"


@dataclass(frozen=True, slots=True)
class Picture:
    """The picture an answer was given for.

    Attributes:
        width: in pixels, as sent.
        height: in pixels, as sent.
        space: what the model's coordinates count.
        max_pixels: what the server scales larger pictures down to; matters for RESIZED_PIXELS alone.
    """

    width: int
    height: int
    space: BoxSpace = BoxSpace.THOUSANDTHS
    max_pixels: int | None = None

    @property
    def extent(self) -> tuple[float, float]:
        """The coordinates of the picture's lower right corner."""
        match self.space:
            case BoxSpace.THOUSANDTHS:
                return 1000.0, 1000.0
            case BoxSpace.THOUSANDTHS_INCLUSIVE:
                return 999.0, 999.0
            case BoxSpace.FIVE_HUNDREDTHS:
                return 500.0, 500.0
            case BoxSpace.PIXELS:
                return float(max(1, self.width)), float(max(1, self.height))
            case BoxSpace.RESIZED_PIXELS:
                return _resized(self.width, self.height, self.max_pixels or _DEFAULT_MAX_PIXELS)


def box_of(label: str, corners: Sequence[float], picture: Picture) -> Box | None:
    """The box in fractions, cut at the picture's edges; None for one that has no area or not four numbers."""
    if len(corners) != 4:
        return None
    across, down = picture.extent
    x0, y0, x1, y1 = (
        round(min(1.0, max(0.0, value / size)), 5)
        for value, size in zip(corners, (across, down, across, down), strict=True)
    )
    if x0 >= x1 or y0 >= y1:
        return None
    return Box(label=label, x0=x0, y0=y0, x1=x1, y1=y1)


def numbers_in(text: str) -> list[float]:
    """All numbers in a text, in order."""
    return [float(number) for number in _NUMBER.findall(text)]


def _resized(width: int, height: int, max_pixels: int) -> tuple[float, float]:
    """The size that processors of the Qwen2-VL family bring a picture to before the model counts pixels on it.

    Both sides become multiples of the patch size; area is kept within bounds at the same proportions.
    """
    width, height = max(1, width), max(1, height)
    across, down = (max(_PATCH_PX, round(side / _PATCH_PX) * _PATCH_PX) for side in (width, height))
    area = width * height
    if across * down > max_pixels:
        scale = (area / max_pixels) ** 0.5
        across, down = (max(_PATCH_PX, int(side / scale / _PATCH_PX) * _PATCH_PX) for side in (width, height))
    elif across * down < _MIN_PIXELS:
        scale = (_MIN_PIXELS / area) ** 0.5
        across, down = (-int(-side * scale // _PATCH_PX) * _PATCH_PX for side in (width, height))
    return float(across), float(down)
