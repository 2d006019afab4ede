"""From the bytes of a request to a picture that recognition can bear."""

from __future__ import annotations

import io
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from pdfocr_core.cpu_engine.failures import BadPicture

__all__ = ["Pixels", "decode", "extent", "fitted"]

Pixels = NDArray[np.uint8]

MAX_PIXELS = 60_000_000  # refused by the header, before anything is decoded
LONGEST_SIDE = 2000
UPSCALED_SIDE = 1600  # small pictures grow until one of the two is reached …
SHORT_SIDE = 736
MAX_GROWTH = 4.0
MAX_ASPECT = 4  # thinner pages are widened with white: recognition scales by the short side


def decode(data: bytes) -> Pixels:
    """Decode to blue, green, red.

    Raises:
        BadPicture: not a picture, a damaged one, or one with too many pixels.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise BadPicture(f"the image has {image.width}x{image.height} pixels; at most {MAX_PIXELS} are read")
            image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            return _on_white(_reduced(image))
    except BadPicture:
        raise
    except UnidentifiedImageError:
        raise BadPicture("the image data is no picture that can be recognised; send PNG, JPEG or WebP") from None
    except Exception as error:
        # Damaged files make the decoders raise nearly anything.
        raise BadPicture(f"the image cannot be decoded: {error}") from error


def _reduced(image: Image.Image) -> Image.Image:
    """A whole fraction of a large picture, so that only one copy of it is ever held in full."""
    factor = max(image.size) // (2 * LONGEST_SIDE)
    if factor < 2 or image.mode not in {"L", "RGB", "RGBA", "CMYK", "LA"}:
        return image
    return image.reduce(factor)


def _on_white(image: Any) -> Pixels:
    if image.mode.startswith("I"):
        # More than 8 bits of grey: Pillow would cut off at 255 what it should scale.
        eight_bits = (np.asarray(image).clip(0, 65535) // 257).astype(np.uint8)
        image = Image.fromarray(eight_bits)
    if image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info:
        overlay = image.convert("RGBA")
        image = Image.new("RGBA", overlay.size, "white")
        image.alpha_composite(overlay)
    pixels = np.asarray(image.convert("RGB"))
    return np.ascontiguousarray(pixels[:, :, ::-1])


def fitted(pixels: Pixels) -> Pixels:
    """Bring the picture to a size in which time and memory are bounded and small print still reads."""
    height, width = pixels.shape[:2]
    longest = max(height, width)
    if longest > LONGEST_SIDE:
        pixels = _scaled(pixels, LONGEST_SIDE / longest, cv2.INTER_AREA)
    pixels = _widened(pixels)
    height, width = pixels.shape[:2]
    growth = min(SHORT_SIDE / min(height, width), UPSCALED_SIDE / max(height, width), MAX_GROWTH)
    return _scaled(pixels, growth, cv2.INTER_CUBIC) if growth > 1.05 else pixels


def extent(decoded: Pixels, fitted: Pixels) -> tuple[float, float]:
    """Width and height that the decoded picture has on the fitted one, without the white that may be added to it."""
    factor = max(fitted.shape[:2]) / max(decoded.shape[:2])
    return decoded.shape[1] * factor, decoded.shape[0] * factor


def _scaled(pixels: Pixels, factor: float, interpolation: int) -> Pixels:
    height, width = pixels.shape[:2]
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return np.asarray(cv2.resize(pixels, size, interpolation=interpolation), dtype=np.uint8)


def _widened(pixels: Pixels) -> Pixels:
    """Add white to the right or below, so that no place on the page changes."""
    height, width = pixels.shape[:2]
    wanted_width, wanted_height = max(width, -(-height // MAX_ASPECT)), max(height, -(-width // MAX_ASPECT))
    if (wanted_width, wanted_height) == (width, height):
        return pixels
    widened = np.full((wanted_height, wanted_width, 3), 255, dtype=np.uint8)
    widened[:height, :width] = pixels
    return widened
