"""Blank pages by their pixels.

A page is blank when no small tile of it stands out from its own background: the paper's tint, slow shading and a
scanner's even noise do not count. In doubt a page is not blank: a lone page number is ink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_blank"]

# Tiles of this many pixels a side: large beside a stroke, small beside the paper's shading.
TILE = 32
# Contrast inside a tile that is always ink, that is never ink, and how many times the paper's own noise it must be.
MOST_CONTRAST = 96
LEAST_CONTRAST = 40
OVER_NOISE = 1.6
# A speck of dust has fewer pixels than a character; many specks together are something.
INK_PIXELS = 5
MANY_SPECKS = 24
# Bands looked at before the whole page is, and the tiles with ink in one of them that settle it.
_BANDS = 8
_PLAIN_TILES = 3
# Tiles that differ this much in brightness are a picture, even a soft one.
SHADING = 72


def is_blank(pixels: NDArray[np.uint8]) -> bool:
    """Whether a page's pixels (height × width, or height × width × channels) show nothing."""
    if _plainly_inked(pixels):
        return False
    low, high = _tile_extremes(pixels)
    contrast = high - low
    limit = float(np.clip(OVER_NOISE * np.median(contrast), LEAST_CONTRAST, MOST_CONTRAST))
    suspects = contrast.max(axis=2) > limit
    if np.count_nonzero(suspects) > MANY_SPECKS or _has_ink(pixels, np.argwhere(suspects), limit / 2):
        return False
    middle = ((high + low) // 2)[~suspects]
    return not middle.size or int((middle.max(axis=0) - middle.min(axis=0)).max()) <= SHADING


def _plainly_inked(pixels: NDArray[np.uint8]) -> bool:
    """Whether a few bands across the page are enough to see that it is full of ink; true for most pages."""
    height = pixels.shape[0]
    for top in range(height // (2 * _BANDS), height - TILE, max(height // _BANDS, TILE)):
        low, high = _tile_extremes(pixels[top : top + TILE])
        if np.count_nonzero((high - low).max(axis=2) > MOST_CONTRAST) > _PLAIN_TILES:
            return True
    return False


def _tile_extremes(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """The least and the greatest value of each tile in each channel: rows of tiles × columns of tiles × channels."""
    height, width = pixels.shape[:2]
    # Whole lines first, as long runs of bytes: what is left after that is a thirtieth.
    lines = pixels.reshape(height, -1)
    tops = range(0, height, TILE)
    low = np.stack([lines[top : top + TILE].min(axis=0) for top in tops]).reshape(len(tops), width, -1)[:, :, :3]
    high = np.stack([lines[top : top + TILE].max(axis=0) for top in tops]).reshape(len(tops), width, -1)[:, :, :3]
    columns = np.arange(0, width, TILE)
    return (
        np.minimum.reduceat(low, columns, axis=1).astype(np.int16),
        np.maximum.reduceat(high, columns, axis=1).astype(np.int16),
    )


def _has_ink(pixels: NDArray[np.uint8], suspects: NDArray[np.intp], limit: float) -> bool:
    planes = pixels.reshape(*pixels.shape[:2], -1)[:, :, :3]
    for row, column in suspects:
        tile = planes[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE].astype(np.int16)
        away = np.abs(tile - np.median(tile, axis=(0, 1))) > limit
        if np.count_nonzero(away.any(axis=2)) >= INK_PIXELS:
            return True
    return False
