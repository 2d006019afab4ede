"""The last steps to a `RenderedPage`, the same for PDF pages and pictures: turn, pad, judge, encode."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pdfocr_core.errors import Reason
from pdfocr_core.rendering.blank import is_blank
from pdfocr_core.rendering.encode import encode
from pdfocr_core.rendering.model import Failure, Region, RenderedPage, RenderOptions, TextLayerText

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["finish_page", "fit", "guarded"]

# A longer strip than this is padded with white: models and detectors scale by the short side.
MAX_ASPECT = 50


def guarded(render: Callable[..., RenderedPage | Failure], *arguments: Any) -> RenderedPage | Failure:
    """Calls `render`; whatever a damaged page provokes in Python code is that page's failure, not its neighbours'."""
    started = time.perf_counter()
    try:
        page = render(*arguments)
    except MemoryError:
        # The process cannot be relied on any more: it ends, and the page is tried in another one.
        raise
    except Exception as error:  # noqa: BLE001 - see above
        return Failure(Reason.RENDERER_CRASHED, f"{type(error).__name__}: {error}")
    if isinstance(page, Failure):
        return page
    return replace(page, render_s=time.perf_counter() - started - page.encode_s)


def fit(width: float, height: float, longest_side: int, max_scale: float) -> tuple[int, int]:
    """The size in pixels at which something of `width` × `height` is drawn; at least one pixel a side."""
    scale = min(longest_side / max(width, height), max_scale)
    # A size from a damaged file may be beyond what a float can hold: clamp, never trust.
    return (
        min(max(round(width * scale), 1), longest_side),
        min(max(round(height * scale), 1), longest_side),
    )


def finish_page(
    page: int,
    pixels: NDArray[np.uint8],
    options: RenderOptions,
    *,
    flags: tuple[str, ...] = (),
    text: TextLayerText | None = None,
    blank: bool | None = None,
    figures: tuple[Region, ...] = (),
) -> RenderedPage:
    """Turns, cuts or pads, and encodes; `blank` is found out here unless the caller knows it."""
    if blank is None:
        blank = is_blank(pixels)
    if options.rotation % 360:
        pixels = np.ascontiguousarray(np.rot90(pixels, options.rotation // 90))
    if options.crops:
        height, width = pixels.shape[:2]
        crops = tuple(_encoded(_cut(pixels, region), options) for region in options.crops)
        return RenderedPage(page, b"", options.image_format, width, height, blank, text, flags, figures, crops)
    padded = _pad(pixels, options.min_short_side)
    if padded is not pixels:
        flags = (*flags, "padded")
    height, width = padded.shape[:2]
    started = time.perf_counter()
    image = _encoded(padded, options)
    encode_s = time.perf_counter() - started
    return RenderedPage(
        page, image, options.image_format, width, height, blank, text, flags, figures, encode_s=encode_s
    )


def _encoded(pixels: NDArray[np.uint8], options: RenderOptions) -> bytes:
    return encode(
        pixels,
        image_format=options.image_format,
        quality=options.jpeg_quality,
        allow_grey=options.allow_grey,
    )


def _cut(pixels: NDArray[np.uint8], region: Region) -> NDArray[np.uint8]:
    """A region of the picture, rounded outwards and kept inside it; never without a pixel."""
    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = (min(max(value, 0.0), 1.0) for value in region)
    left, top = min(math.floor(x0 * width), width - 1), min(math.floor(y0 * height), height - 1)
    right, bottom = max(math.ceil(x1 * width), left + 1), max(math.ceil(y1 * height), top + 1)
    return np.ascontiguousarray(pixels[top:bottom, left:right])


def _pad(pixels: NDArray[np.uint8], min_short_side: int) -> NDArray[np.uint8]:
    height, width = pixels.shape[:2]
    shortest = max(min_short_side, -(-max(height, width) // MAX_ASPECT))
    if min(height, width) >= shortest:
        return pixels
    padded = np.full((max(height, shortest), max(width, shortest), *pixels.shape[2:]), 255, np.uint8)
    top, left = (padded.shape[0] - height) // 2, (padded.shape[1] - width) // 2
    padded[top : top + height, left : left + width] = pixels
    return padded
