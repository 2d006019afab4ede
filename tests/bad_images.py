"""Builders of pictures that are damaged, hostile or in one of the forms that naive code gets wrong."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image, ImageDraw, ImageFont

PHRASE = "Harbour lights burn low"
_SIZE = (900, 300)
_ORIENTATION = 0x0112


def page(phrase: str = PHRASE, mode: str = "L") -> Image.Image:
    """A white picture with the phrase in black."""
    image = Image.new("L", _SIZE, 255)
    ImageDraw.Draw(image).text((60, 110), phrase, font=ImageFont.load_default(60), fill=0)
    return image.convert(mode)


def _saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png() -> bytes:
    return _saved(page(), "PNG")


def _frames(kind: str, mode: str, count: int, **options: Any) -> bytes:
    first, *others = [page(f"{PHRASE} {number + 1}", mode) for number in range(count)]
    return _saved(first, kind, save_all=True, append_images=others, **options)


def multi_frame_tiff() -> bytes:
    return _frames("TIFF", "L", 3, compression="tiff_lzw")


def multi_frame_gif() -> bytes:
    return _frames("GIF", "P", 2, duration=500)


def animated_webp() -> bytes:
    return _frames("WEBP", "RGB", 2, duration=500, lossless=True)


def cmyk_jpeg() -> bytes:
    return _saved(page(mode="RGB").convert("CMYK"), "JPEG", quality=90)


def grey_16_bit_png() -> bytes:
    """All values lie so high that cutting them at 255 leaves a white picture."""
    eight = page().tobytes()
    wide = b"".join(struct.pack("<H", 20_000 + value * 170) for value in eight)
    return _saved(Image.frombytes("I;16", _SIZE, wide), "PNG")


def palette_png_with_alpha() -> bytes:
    """Black letters, and a ground that is black too but transparent."""
    image = Image.new("P", _SIZE, 0)
    image.putpalette([0, 0, 0, 0, 0, 0])
    image.paste(1, mask=page().point([255 - value for value in range(256)]))
    return _saved(image, "PNG", transparency=b"\x00\xff")


def exif_turned_jpeg() -> bytes:
    """Stored turned left, with the note that says so."""
    exif = Image.Exif()
    exif[_ORIENTATION] = 6
    return _saved(page().transpose(Image.Transpose.ROTATE_90), "JPEG", quality=90, exif=exif)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_bomb() -> bytes:
    """Says 100,000 by 100,000 pixels in a few hundred bytes."""
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(100_000), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def corrupt_png() -> bytes:
    """The signature is there, the header is not."""
    return b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\x0dIHDR" + b"\xff" * 40


def truncated_jpeg() -> bytes:
    """The last third is missing; the letters stand above it."""
    tall = Image.new("L", (_SIZE[0], 3 * _SIZE[1]), 255)
    tall.paste(page(), (0, 0))
    # A rough ground gives every part of the picture about as many bytes.
    ImageDraw.Draw(tall).point(
        [(x, y) for y in range(210, tall.height, 6) for x in range(y % 36 // 6, tall.width, 6)], 225
    )
    whole = _saved(tall, "JPEG", quality=90)
    return whole[: len(whole) * 2 // 3]


def heic_header() -> bytes:
    return b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(2000)


def svg() -> bytes:
    return (
        b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30">'
        b'<script>alert(1)</script><image href="file:///etc/passwd"/><text y="20">Harbour</text></svg>\n'
    )
