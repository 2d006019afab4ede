"""Builders of archives that point outside, lie, explode, or end too early."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable

from tests.bad_pdfs import plain, zeros_deflated

_BOMB_BYTES = 256 << 20


def _file(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    return entry, content


def _link(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry, b""


def _tar(entries: Iterable[tuple[tarfile.TarInfo, bytes]], encoding: str = "utf-8") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT, encoding=encoding) as archive:
        for entry, content in entries:
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _zip(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def _good() -> tuple[tarfile.TarInfo, bytes]:
    return _file("good.pdf", plain())


def docx() -> bytes:
    return _zip([("[Content_Types].xml", b"<Types/>"), ("word/document.xml", b"<w:document/>")])


def parent_folder_tar() -> bytes:
    return _tar([_file("../../evil.pdf", plain()), _good()])


def absolute_path_tar() -> bytes:
    return _tar([_file("/tmp/evil.pdf", plain()), _good()])


def links_and_devices_tar() -> bytes:
    kinds = {
        "symlink.pdf": (tarfile.SYMTYPE, "/etc/passwd"),
        "hardlink.pdf": (tarfile.LNKTYPE, "good.pdf"),
        "pipe.pdf": (tarfile.FIFOTYPE, ""),
        "device.pdf": (tarfile.CHRTYPE, ""),
    }
    return _tar([_good(), *(_link(name, kind, target) for name, (kind, target) in kinds.items())])


def backslash_zip() -> bytes:
    return _zip([("..\\evil.pdf", plain()), ("good.pdf", plain())])


def duplicate_names_tar() -> bytes:
    return _tar([_file("same.pdf", plain("The first of two")), _file("same.pdf", plain("The second of two"))])


def non_utf8_names_tar() -> bytes:
    return _tar([_file("café.pdf", plain())], encoding="latin-1")


def empty_tar() -> bytes:
    return bytes(10_240)


def no_document_tar() -> bytes:
    return _tar([_file("README", b"nothing here"), _file("data.csv", b"a,b\n")])


def text_named_tar_gz() -> bytes:
    return b"this was never an archive\n" * 40


def nested_tar() -> bytes:
    return _tar([_file("inner.tar", _tar([_good()])), _good()])


def truncated_tar_gz() -> bytes:
    """Cut in the middle of the second member, whose bytes do not compress."""
    noise = random.Random(9).randbytes(200_000)
    whole = gzip.compress(_tar([_good(), _file("cut.pdf", plain() + noise)]), mtime=0)
    return whole[: len(whole) // 2]


def damaged_middle_tar() -> bytes:
    """The header between two sound members is overwritten; readers that stop there lose the rest silently."""
    first, second = _tar([_good()]), _tar([_file("later.pdf", plain())])
    body = first[: 512 + -(-len(plain()) // 512) * 512]
    return body + b"\x41" * 512 + second


def _zip_of(name: bytes, packed: bytes, size: int, checksum: int) -> bytes:
    """A zip of one deflated member whose sizes and checksum are as told."""
    common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, checksum, len(packed), size, len(name), 0)
    local = b"PK\x03\x04" + common + name
    central = b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    body = local + packed + central
    return body + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)


def bomb_zip() -> bytes:
    """256 MiB of zeros in a quarter of a megabyte, said openly."""
    return _zip_of(b"bomb.pdf", zeros_deflated(_BOMB_BYTES)[2:-4], _BOMB_BYTES, _crc_of_zeros())


def bomb_tar_gz() -> bytes:
    """A tar whose only member is 256 MiB of zeros, packed a thousandfold and more."""
    header = tarfile.TarInfo("bomb.pdf")
    header.size = _BOMB_BYTES
    packer = zlib.compressobj(9, wbits=-15)
    start = packer.compress(header.tobuf()) + packer.flush(zlib.Z_FULL_FLUSH)
    # The end is missing like the checksum; whoever reads that far has already read too much.
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + start + zeros_deflated(_BOMB_BYTES)[2:-4]


def _crc_of_zeros() -> int:
    block, checksum = bytes(1 << 20), 0
    for _ in range(_BOMB_BYTES >> 20):
        checksum = zlib.crc32(block, checksum)
    return checksum


def lying_zip() -> bytes:
    """Says that its member has ten bytes."""
    content = plain()
    return _zip_of(b"small.pdf", zlib.compress(content)[2:-4], 10, zlib.crc32(content))


def encrypted_zip() -> bytes:
    """Marked as encrypted; what stands there cannot be read without the password either way."""
    whole = bytearray(_zip([("secret.pdf", bytes(range(256)) * 4)]))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        whole[whole.index(signature) + offset] |= 1
    return bytes(whole)


def truncated_zip() -> bytes:
    """Without the directory at its end."""
    whole = _zip([("first.pdf", plain()), ("second.pdf", plain())])
    return whole[: whole.index(b"PK\x01\x02")]
