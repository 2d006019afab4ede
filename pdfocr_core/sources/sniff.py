"""What a file is, told by its first bytes and never by its name.

Only the head is looked at. Whether a PDF or a picture is sound is found out later, in a process that may die of it.
"""

from __future__ import annotations

import zlib
from enum import StrEnum

__all__ = ["HEAD_BYTES", "Kind", "sniff"]

HEAD_BYTES = 4096
"""How much of a file `sniff` wants to see."""

_TAR_BLOCK = 512
_PDF_JUNK = 1024  # Readers accept a PDF that starts this late.


class Kind(StrEnum):
    """What the first bytes say."""

    PDF = "pdf"
    PNG = "png"
    JPEG = "jpeg"
    TIFF = "tiff"
    WEBP = "webp"
    GIF = "gif"
    HEIC = "heic"
    AVIF = "avif"
    JXL = "jxl"
    JPEG_2000 = "jpeg2000"
    BMP = "bmp"
    SVG = "svg"
    TAR = "tar"
    TAR_GZIP = "tar_gzip"
    GZIP = "gzip"
    BZIP2 = "bzip2"
    XZ = "xz"
    ZIP = "zip"
    OTHER = "other"
    EMPTY = "empty"

    @property
    def is_picture(self) -> bool:
        """A picture that we read."""
        return self in (Kind.PNG, Kind.JPEG, Kind.TIFF, Kind.WEBP, Kind.GIF)

    @property
    def is_unsupported_picture(self) -> bool:
        """A picture that we recognise and do not read."""
        return self in (Kind.HEIC, Kind.AVIF, Kind.JXL, Kind.JPEG_2000, Kind.BMP, Kind.SVG)

    @property
    def is_archive(self) -> bool:
        """An archive beyond doubt."""
        return self in (Kind.TAR, Kind.TAR_GZIP, Kind.ZIP)

    @property
    def is_compressed(self) -> bool:
        """A compressed stream that may or may not hold a tar."""
        return self in (Kind.TAR_GZIP, Kind.GZIP, Kind.BZIP2, Kind.XZ)


_MAGIC = (
    (b"%PDF-", Kind.PDF),
    (b"\x89PNG\r\n\x1a\n", Kind.PNG),
    (b"\xff\xd8\xff", Kind.JPEG),
    (b"II*\0", Kind.TIFF),
    (b"MM\0*", Kind.TIFF),
    (b"II+\0", Kind.TIFF),
    (b"MM\0+", Kind.TIFF),
    (b"GIF87a", Kind.GIF),
    (b"GIF89a", Kind.GIF),
    (b"\xff\x0a", Kind.JXL),
    (b"\0\0\0\x0cJXL ", Kind.JXL),
    (b"\0\0\0\x0cjP  ", Kind.JPEG_2000),
    (b"\xff\x4f\xff\x51", Kind.JPEG_2000),
    (b"BZh", Kind.BZIP2),
    (b"\xfd7zXZ\0", Kind.XZ),
    (b"PK\x05\x06", Kind.ZIP),
)
_BOX_BRANDS = {
    b"heic": Kind.HEIC,
    b"heix": Kind.HEIC,
    b"hevc": Kind.HEIC,
    b"heim": Kind.HEIC,
    b"mif1": Kind.HEIC,
    b"msf1": Kind.HEIC,
    b"avif": Kind.AVIF,
    b"avis": Kind.AVIF,
}
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
# Documents of other programs and program libraries that happen to be zip files.
_ZIP_FIRST_NAMES = (b"mimetype", b"[Content_Types].xml", b"_rels/", b"META-INF/")


def sniff(head: bytes) -> Kind:
    """Tell what starts with these bytes; give it `HEAD_BYTES` where there are so many."""
    if not head:
        return Kind.EMPTY
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return _sniff_structured(head) or _sniff_late(head)


def _sniff_structured(head: bytes) -> Kind | None:
    """Formats whose mark needs a second look."""
    if head.startswith((b"PK\x03\x04", b"PK\x07\x08PK\x03\x04")):
        return Kind.OTHER if _is_office_zip(head) else Kind.ZIP
    if head.startswith(b"\x1f\x8b"):
        return Kind.TAR_GZIP if _gzip_holds_tar(head) else Kind.GZIP
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return Kind.WEBP
    if head[4:8] == b"ftyp" and head[8:12] in _BOX_BRANDS:
        return _BOX_BRANDS[head[8:12]]
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return Kind.BMP
    return None


def _sniff_late(head: bytes) -> Kind:
    """Formats without a mark at the start. Tar before PDF: the first member of a tar may be a PDF."""
    if _is_tar_header(head[:_TAR_BLOCK]):
        return Kind.TAR
    if b"%PDF-" in head[: _PDF_JUNK + len(b"%PDF-")]:
        return Kind.PDF
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<svg") or (text.startswith((b"<?xml", b"<!--", b"<!DOCTYPE svg")) and b"<svg" in text):
        return Kind.SVG
    return Kind.OTHER


def _is_tar_header(block: bytes) -> bool:
    """Whether the block's own checksum holds: true of every tar flavour, old ones without a magic word too."""
    if len(block) < _TAR_BLOCK or not block[0]:
        return False
    try:
        said = int(block[148:156].strip(b" \0") or b"x", 8)
    except ValueError:
        return False
    return said == sum(block) - sum(block[148:156]) + 8 * 0x20


def _gzip_holds_tar(head: bytes) -> bool:
    try:
        start = zlib.decompressobj(wbits=31).decompress(head, _TAR_BLOCK)
    except zlib.error:
        return False
    return _is_tar_header(start)


def _is_office_zip(head: bytes) -> bool:
    entry = head.find(b"PK\x03\x04")
    length = int.from_bytes(head[entry + 26 : entry + 28], "little")
    first = head[entry + 30 : entry + 30 + length]
    return first.startswith(_ZIP_FIRST_NAMES) or b"[Content_Types].xml" in head
