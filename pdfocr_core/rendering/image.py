"""Pictures as pages, with Pillow. Runs in rendering processes only.

The size is checked by the header before anything is decoded, JPEGs are scaled while they are decoded, and large
pictures are brought down in bands, so that no second full copy is ever made.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.rendering.detect import image_format_of
from pdfocr_core.rendering.finish import finish_page, fit, guarded
from pdfocr_core.rendering.model import Failure, RenderedPage, RenderOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_size", "count_frames", "full_frame", "needs_no_change", "open_image", "render_image_pages"]

# Limits are ours, with their own reason codes; Pillow's would end in an exception of another kind.
Image.MAX_IMAGE_PIXELS = None

# Bytes that Pillow keeps for a pixel, by mode; 4 for all others.
_PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2, "LA": 4}
# How many full copies a decoder makes along the way.
_COPIES = {"WEBP": 3, "GIF": 2}
_MULTI_FRAME = {"TIFF", "GIF", "WEBP"}
# A progressive JPEG keeps all its coefficients, two bytes each, until the end of the file.
_COEFFICIENT_BYTES = 2
_BAND_ROWS = 256
# What Pillow raises on damaged headers.
_DAMAGE = (OSError, ValueError, SyntaxError, TypeError, LookupError, EOFError, ArithmeticError)
_EXIF_ORIENTATION = 0x0112


def open_image(path: Path) -> Any:
    """A picture whose header was read and whose pixels were not.

    Raises:
        DocumentError: the header is damaged, or says that it is of a kind that is not read.
    """
    with path.open("rb") as file:
        image_format = image_format_of(file.read(16))
    if image_format is None:
        raise DocumentError(Reason.UNSUPPORTED_IMAGE, "The file is no picture that is read.")
    try:
        with warnings.catch_warnings(action="ignore"):
            return Image.open(path, formats=[image_format])
    except UnidentifiedImageError:
        raise DocumentError(Reason.CORRUPT_IMAGE, f"The header of this {image_format} picture is damaged.") from None
    except _DAMAGE as error:
        detail = f"The header of this {image_format} picture is damaged: {error}."
        raise DocumentError(Reason.CORRUPT_IMAGE, detail) from error


def count_frames(image: Any) -> int:
    """Frames that are pages: all of a TIFF, GIF or WebP, the first of anything else.

    Raises:
        DocumentError: the header of a later frame is damaged.
    """
    if image.format not in _MULTI_FRAME:
        return 1
    try:
        with warnings.catch_warnings(action="ignore"):
            return int(getattr(image, "n_frames", 1))
    except _DAMAGE as error:
        detail = f"The frames of this {image.format} picture cannot be counted: {error}."
        raise DocumentError(Reason.CORRUPT_IMAGE, detail) from error


def check_size(image: Any, max_pixels: int, max_decoded_bytes: int) -> None:
    """Refuses a picture by its header.

    Raises:
        DocumentError: it has too many pixels, or decoding it would take too much memory.
    """
    width, height = image.size
    if width * height > max_pixels:
        raise DocumentError(Reason.TOO_MANY_PIXELS, f"{width} × {height} pixels, allowed are {max_pixels} in all.")
    need = _decoded_bytes(image)
    if need > max_decoded_bytes:
        detail = f"{width} × {height} pixels take {need >> 20} MiB to decode, allowed are {max_decoded_bytes >> 20}."
        raise DocumentError(Reason.TOO_MANY_PIXELS, detail)


def _decoded_bytes(image: Any) -> int:
    pixels = image.size[0] * image.size[1]
    if image.format == "JPEG":
        if image.info.get("progressive"):
            return int(pixels * _COEFFICIENT_BYTES * len(image.getbands()))
        # The decoder scales by up to eight each way.
        return int(pixels * 4 // 64)
    return int(pixels * _PIXEL_BYTES.get(image.mode, 4) * _COPIES.get(image.format, 1))


def render_image_pages(
    path: Path, pages: Sequence[int], options: RenderOptions
) -> Iterator[RenderedPage | Failure | None]:
    """Opens the picture, yields None when that is done, then one result for each frame in turn.

    Raises:
        DocumentError: it does not open.
    """
    with open_image(path) as image:
        yield None
        for number in pages:
            yield guarded(_render_frame, path, image, number, options)


def _render_frame(path: Path, image: Any, number: int, options: RenderOptions) -> RenderedPage | Failure:
    try:
        truncated = not _decode(image, number, options)
        if truncated:
            # A decoder that failed is not asked twice: the picture is opened afresh.
            with open_image(path) as again:
                _decode_what_is_there(again, number, options)
                pixels = _scaled(again, options.longest_side)
        else:
            pixels = _scaled(image, options.longest_side)
    except DocumentError as error:
        return Failure(error.reason, error.detail)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - decoders raise whatever they stumble over in damaged data
        return Failure(Reason.CORRUPT_IMAGE, f"Frame {number} cannot be decoded: {error}")
    return finish_page(number, pixels, options, flags=("truncated_image",) if truncated else ())


def needs_no_change(image: Any) -> bool:
    """Whether a picture is a JPEG that PDF readers show as we do: upright, grey or with the usual three colours."""
    upright = image.getexif().get(_EXIF_ORIENTATION, 1) == 1
    return image.format == "JPEG" and image.mode in ("L", "RGB") and upright


def full_frame(path: Path, image: Any, number: int, options: RenderOptions) -> NDArray[np.uint8]:
    """A frame in its full size on white paper, upright, as grey or RGB pixels.

    Raises:
        DocumentError: it is too large or too damaged.
    """
    try:
        if _decode(image, number, options):
            return _scaled(image, max(image.size))
        with open_image(path) as again:
            _decode_what_is_there(again, number, options)
            return _scaled(again, max(again.size))
    except _DAMAGE as error:
        raise DocumentError(Reason.CORRUPT_IMAGE, f"Frame {number} cannot be decoded: {error}") from error


def _decode(image: Any, number: int, options: RenderOptions) -> bool:
    """Decodes a frame whose size is allowed; False where its data ends too early or is damaged in the middle."""
    image.seek(number - 1)
    check_size(image, options.max_image_pixels, options.max_decoded_bytes)
    if image.format == "JPEG":
        # The decoder takes the smallest of its scales that is not below this; a good reduction follows.
        factor = max(image.size) / options.longest_side
        if factor > 1:
            image.draft(image.mode, (round(image.size[0] / factor), round(image.size[1] / factor)))
    try:
        image.load()
    except (OSError, SyntaxError, ValueError, EOFError):
        return False
    return True


def _decode_what_is_there(image: Any, number: int, options: RenderOptions) -> None:
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        if not _decode(image, number, options):
            raise ValueError("the data is damaged")
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


def _scaled(image: Any, longest_side: int) -> NDArray[np.uint8]:
    """The current frame on white paper, upright, no larger than asked for, as grey or RGB pixels."""
    width, height = image.size
    factor = max(1, max(width, height) // (2 * longest_side))
    rows = max(factor, _BAND_ROWS // factor * factor)
    bands = []
    for top in range(0, height, rows):
        band = image if rows >= height else image.crop((0, top, width, min(top + rows, height)))
        flat = _on_paper(band, image)
        bands.append(np.asarray(flat.reduce(factor) if factor > 1 else flat))
    picture = Image.fromarray(np.concatenate(bands))
    orientation = image.getexif().get(_EXIF_ORIENTATION, 1)
    if orientation != 1:
        picture.getexif()[_EXIF_ORIENTATION] = orientation
        picture = ImageOps.exif_transpose(picture)
    size = fit(*picture.size, longest_side, 1.0)
    if size != picture.size:
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return np.asarray(picture)


def _on_paper(band: Any, whole: Any) -> Any:
    """A band of any mode as grey or RGB, with whatever is transparent on white."""
    mode = band.mode
    if mode.startswith("I") or mode == "F":
        return _grey_from_wide(band, whole)
    if mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in whole.info:
        if "transparency" in whole.info:
            band.info["transparency"] = whole.info["transparency"]
        layered = band.convert("RGBA")
        paper = Image.new("RGBA", layered.size, (255, 255, 255, 255))
        return Image.alpha_composite(paper, layered).convert("RGB")
    if mode in ("1", "L"):
        return band.convert("L")
    return band.convert("RGB")


def _grey_from_wide(band: Any, whole: Any) -> Any:
    """16-bit, 32-bit and floating-point grey as 8 bits: Pillow's own conversion cuts instead of scaling."""
    values = np.asarray(band)
    if whole.mode.startswith("I;16"):
        return Image.fromarray((values >> 8).astype(np.uint8))
    low, high = whole.getextrema()
    if whole.mode == "I" and low >= 0 and high <= 0xFFFF:
        # Pillow reads 16-bit grey PNGs of some kinds as 32 bits.
        low, high = 0, 0xFFFF
    span = max(float(high) - float(low), 1e-9)
    return Image.fromarray(((values - float(low)) * (255.0 / span)).clip(0, 255).astype(np.uint8))
