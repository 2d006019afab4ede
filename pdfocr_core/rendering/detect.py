"""What a file is, by its first bytes: never by its name."""

from __future__ import annotations

import re

__all__ = ["HEADER_WINDOW", "IMAGE_FORMATS", "describe", "image_format_of", "pdf_header_offset", "unsupported_image"]

# Readers look for the PDF header this far into the file.
HEADER_WINDOW = 1024

# The formats that are read, under Pillow's names; nothing else is ever handed to it.
IMAGE_FORMATS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
)

_HEIF_BRANDS = {b"heic": "HEIC", b"heix": "HEIC", b"hevc": "HEIC", b"heim": "HEIC", b"heis": "HEIC", b"mif1": "HEIF"}
_AVIF_BRANDS = {b"avif": "AVIF", b"avis": "AVIF"}
_SVG = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]", re.DOTALL)
_HTML = re.compile(rb"\A\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (_OLE, "a Microsoft Office (OLE) file"),
    (b"{\\rtf", "an RTF file"),
    (b"%!PS", "a PostScript file"),
    (b"BM", "a BMP picture"),
    (b"8BPS", "a Photoshop file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
)


def pdf_header_offset(head: bytes) -> int | None:
    """Where `%PDF-` stands in the first kilobyte; None where it does not."""
    found = head[: HEADER_WINDOW + 5].find(b"%PDF-")
    return found if found >= 0 else None


def image_format_of(head: bytes) -> str | None:
    """Pillow's name for a picture that is read; None for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    return next((name for magic, name in IMAGE_FORMATS if head.startswith(magic)), None)


def unsupported_image(head: bytes) -> str | None:
    """The name of a known picture format that is not read; None for anything else."""
    if head[4:8] == b"ftyp":
        return _HEIF_BRANDS.get(head[8:12]) or _AVIF_BRANDS.get(head[8:12])
    if head[:2] == b"\xff\x0a" or head[:12] == b"\0\0\0\x0cJXL \r\n\x87\n":
        return "JPEG XL"
    if head[:12] == b"\0\0\0\x0cjP  \r\n\x87\n" or head[:4] == b"\xff\x4f\xff\x51":
        return "JPEG 2000"
    if _SVG.match(head):
        return "SVG"
    return None


def describe(head: bytes) -> str:
    """What a file that we do not read seems to be, in words for people."""
    if head[:4] == b"PK\x03\x04":
        if b"[Content_Types].xml" in head or b"word/" in head or b"xl/" in head or b"ppt/" in head:
            return "a Microsoft Office file (zip)"
        return "a zip archive or an e-book or office file in one"
    if _HTML.match(head):
        return "an HTML page"
    for magic, name in _OTHERS:
        if head.startswith(magic):
            return name
    if head[257:262] == b"ustar":
        return "a tar archive"
    if head.lstrip()[:1] == b"<":
        return "an XML or HTML file"
    return "plain text" if _looks_like_text(head) else "unknown binary data"


def _looks_like_text(head: bytes) -> bool:
    if b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character cut at the end of the window is still text.
        return error.start >= len(head) - 3
    return True
