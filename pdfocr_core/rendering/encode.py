"""From pixels to the base64 text of a picture file.

Pillow writes JPEG about as fast as anything; its PNG tries every filter on every row, so PNG is put together here
(no filter, quickest compression): a third of the time and smaller on pages of text.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pybase64
from PIL import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["encode", "without_colour"]

# Rows looked at before the whole page is: nearly every page with colour shows it here.
_SAMPLED_ROWS = 37
# Then in bands, small enough for the processor's cache, until one has colour.
_BAND_ROWS = 64
# Red against green, and green against blue, of a pixel whose four bytes are taken as one number.
_COLOURS = np.uint32(0xFFFF)


def without_colour(pixels: NDArray[np.uint8]) -> bool:
    """Whether red, green and blue are the same everywhere (height × width × 3 or 4)."""
    if not _equal_channels(pixels[::_SAMPLED_ROWS]):
        return False
    equal = _equal_words if pixels.shape[2] == 4 and pixels.flags.c_contiguous else _equal_channels
    return all(equal(pixels[top : top + _BAND_ROWS]) for top in range(0, len(pixels), _BAND_ROWS))


def _equal_channels(pixels: NDArray[np.uint8]) -> bool:
    red, green, blue = pixels[:, :, 0], pixels[:, :, 1], pixels[:, :, 2]
    return bool(np.array_equal(red, green) and np.array_equal(green, blue))


def _equal_words(pixels: NDArray[np.uint8]) -> bool:
    """The same in a seventh of the time: the red, green, blue and unused bytes of a pixel are compared at once."""
    words = pixels.view("<u4")
    differing = np.bitwise_or.reduce(words ^ (words >> 8), axis=None)
    return not differing & _COLOURS


def _one_channel(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if pixels.shape[2] == 4 and pixels.flags.c_contiguous:
        return pixels.view("<u4")[:, :, 0].astype(np.uint8)  # the lowest byte; half the time of the line below
    return np.ascontiguousarray(pixels[:, :, 0])


def encode(pixels: NDArray[np.uint8], *, image_format: str, quality: int, allow_grey: bool) -> bytes:
    """Base64 of a picture.

    Args:
        pixels: height × width (grey), or height × width × 3 or 4 in the order red, green, blue, unused.
        image_format: `jpeg` or `png`.
        quality: of a JPEG; colour is never subsampled.
        allow_grey: whether a picture without colour is written as a grey one.
    """
    if pixels.ndim == 3 and allow_grey and without_colour(pixels):
        pixels = _one_channel(pixels)
    elif pixels.ndim == 2 and not allow_grey:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    data = _png(pixels) if image_format == "png" else _jpeg(pixels, quality)
    return pybase64.b64encode(data)


def _jpeg(pixels: NDArray[np.uint8], quality: int) -> bytes:
    height, width = pixels.shape[:2]
    mode = "L" if pixels.ndim == 2 else ("RGB" if pixels.shape[2] == 3 else "RGBX")
    image = Image.frombuffer(mode, (width, height), np.ascontiguousarray(pixels), "raw", mode, 0, 1)
    target = io.BytesIO()
    image.save(target, "JPEG", quality=quality, subsampling=0)
    return target.getvalue()


def _png(pixels: NDArray[np.uint8]) -> bytes:
    height, width = pixels.shape[:2]
    grey = pixels.ndim == 2
    row_bytes = width if grey else 3 * width
    # Each row of a PNG starts with the number of its filter; zero means none.
    rows = np.zeros((height, 1 + row_bytes), np.uint8)
    rows[:, 1:] = pixels if grey else pixels[:, :, :3].reshape(height, row_bytes)
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if grey else 2, 0, 0, 0)
    body = zlib.compress(rows.data, 1)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(name)))
