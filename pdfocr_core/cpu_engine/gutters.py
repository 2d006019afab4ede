"""Boxes that detection has drawn across the gutter of two columns are cut there, before they are read.

The gutter is told by the rows around: at least two rows near by have a box in either column, with the gutter between. The
box must be white there, and wider than between words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from pdfocr_core.cpu_engine.recogniser import Spot

__all__ = ["cut_at_gutters"]

# In line heights.
LEAST_COLUMN = 5.0
NEAR = 3.5  # rows around that tell where the gutter is
SLACK = 1.0  # so far boxes of two columns may overlap, and a box stand out of the columns
WIDEST_GUTTER = 4.0
WHITE = 0.6  # words are half as far apart
SLIVER = 1.5
WHITE_WITHIN = 0.8  # of the gutter's middle

LEAST_ROWS = 2
INK_CONTRAST = 60  # darker than the paper by this much
MOST_ROUNDS = 6  # several rows in a row may be one box each: those further in are cut by those further out


@dataclass(frozen=True, slots=True)
class _Place:
    x0: float
    x1: float
    middle: float
    height: float


def cut_at_gutters(spots: Sequence[Spot]) -> list[Spot]:
    """The spots from first to last, each whole or in two parts."""
    whole = list(spots)
    for _ in range(MOST_ROUNDS):
        places = [_place(spot) for spot in whole]
        cut: list[Spot] = []
        for spot, place in zip(whole, places, strict=True):
            at = _gutter_in(place, places) if spot.is_wide else None
            cut += [spot] if at is None else _without_slivers(_parts(spot, place, at), place, places)
        if all(new is old for new, old in zip(cut, whole, strict=False)):
            return whole
        whole = cut
    return whole


def _place(spot: Spot) -> _Place:
    xs, ys = spot.corners[:, 0], spot.corners[:, 1]
    return _Place(float(xs.min()), float(xs.max()), float(ys.mean()), spot.height)


def _gutter_in(box: _Place, places: Sequence[_Place]) -> float | None:
    """Where a gutter would run through a box, by the rows near it."""
    height = box.height
    if box.x1 - box.x0 < 2 * LEAST_COLUMN * height:
        return None
    near = [
        place
        for place in places
        if 0.5 * height < abs(place.middle - box.middle) < NEAR * height
        and place.x1 - place.x0 >= LEAST_COLUMN * height
        and 0.6 * height < place.height < 1.6 * height
    ]
    gutters = [
        (left.x1 + right.x0) / 2
        for left in near
        for right in near
        if abs(left.middle - right.middle) < 0.5 * height
        and -SLACK * height < right.x0 - left.x1 < WIDEST_GUTTER * height
        and left.x0 - SLACK * height < box.x0 < left.x1
        and right.x0 < box.x1 < right.x1 + SLACK * height
        and left.x1 < right.x1
    ]
    return median(gutters) if len(gutters) >= LEAST_ROWS else None


def _parts(spot: Spot, place: _Place, at: float) -> list[Spot]:
    """The box cut in the middle of the white at the gutter; whole where there is none."""
    columns = spot.crop.shape[1]
    scale = columns / max(1.0, place.x1 - place.x0)
    middle, height = (at - place.x0) * scale, spot.crop.shape[0]
    first = max(0, round(middle - WHITE_WITHIN * height))
    after = min(columns, round(middle + WHITE_WITHIN * height))
    grey = spot.crop if spot.crop.ndim == 2 else spot.crop.min(axis=2)
    paper = int(np.percentile(grey, 80))
    # The upper and lower edge of a box may hold parts of the rows above and below.
    inner = grey[height // 6 : height - height // 6, first:after]
    white: NDArray[np.bool_] = np.all(inner > paper - INK_CONTRAST, axis=0)
    start, length = _longest_run(white)
    if length < WHITE * height:
        return [spot]
    cut = first + start + length // 2
    share = cut / columns
    corners = spot.corners
    top, bottom = corners[0] + share * (corners[1] - corners[0]), corners[3] + share * (corners[2] - corners[3])
    halves = (
        (np.stack([corners[0], top, bottom, corners[3]]), spot.crop[:, :cut], share),
        (np.stack([top, corners[1], corners[2], bottom]), spot.crop[:, cut:], 1 - share),
    )
    return [
        Spot(box.astype(np.float32), np.ascontiguousarray(crop), part * spot.width, spot.height)
        for box, crop, part in halves
    ]


def _without_slivers(parts: list[Spot], whole: _Place, places: Sequence[_Place]) -> list[Spot]:
    """The parts but for one that is only the beginning or end of a box in the other column, which reads it anyway."""

    def is_sliver(spot: Spot) -> bool:
        part = _place(spot)
        return part.x1 - part.x0 < SLIVER * part.height and any(
            place is not whole
            and abs(place.middle - part.middle) < 0.5 * part.height
            and min(place.x1, part.x1) > max(place.x0, part.x0)
            for place in places
        )

    return [spot for spot in parts if len(parts) == 1 or not is_sliver(spot)]


def _longest_run(flags: NDArray[np.bool_]) -> tuple[int, int]:
    """Start and length of the longest stretch of true values."""
    best, start = (0, 0), 0
    for index, flag in enumerate([*flags.tolist(), False]):
        if not flag:
            if index - start > best[1]:
                best = (start, index - start)
            start = index + 1
    return best
