"""Members of tar archives, compressed or not, read as a stream in constant memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.failures import translated
from pdfocr_core.sources.member import Member, Progress, ratio_exceeded
from pdfocr_core.sources.names import name_problem
from pdfocr_core.sources.sniff import Kind

__all__ = ["tar_members"]

_MAX_HEADER = 1024**2  # Names and attributes of one member; a larger one only serves to fill our memory.
_BUFFER = 256 * 1024


def tar_members(stream: BinaryIO, kind: Kind, limits: ArchiveLimits) -> Iterator[Member]:
    """See `iter_members`."""
    progress = Progress()
    with translated("the archive", progress), _open_tar(stream, kind, limits, progress) as archive:
        index = -1
        while (entry := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined]  # tarfile remembers every member; we may not.
            index += 1
            progress.members = index + 1
            if index >= limits.max_members:
                raise DocumentError(Reason.ARCHIVE_LIMIT, f"More than {limits.max_members} members.")
            if not entry.isdir():
                yield _member(archive, entry, index, limits)


def _member(archive: tarfile.TarFile, entry: tarfile.TarInfo, index: int, limits: ArchiveLimits) -> Member:
    if not entry.isreg() or entry.issparse():
        return Member(index, entry.name, 0, Reason.NOT_REGULAR, "A link, a device or a sparse file.")
    if problem := name_problem(entry.name):
        return Member(index, entry.name, entry.size, problem, "The name leads out of the archive.")
    if entry.size > limits.max_member_bytes:
        detail = f"{entry.size} bytes are more than max_member_bytes ({limits.max_member_bytes})."
        return Member(index, entry.name, entry.size, Reason.ARCHIVE_LIMIT, detail)
    return Member(index, entry.name, entry.size, None, "", lambda: cast("BinaryIO", archive.extractfile(entry)))


@contextmanager
def _open_tar(stream: BinaryIO, kind: Kind, limits: ArchiveLimits, progress: Progress) -> Iterator[tarfile.TarFile]:
    options: dict[str, Any] = {
        "tarinfo": _header_class(progress),
        # Goes on behind the zero blocks that end a tar: two tars in one file are both read. Damage is told apart from
        # padding by our header class, which does not let tarfile skip it.
        "ignore_zeros": True,
        "encoding": "utf-8",
        "errors": "surrogateescape",
    }
    if not kind.is_compressed:
        plain = _Metered(stream, limits, progress, packed=True)
        with tarfile.open(fileobj=cast("BinaryIO", plain), mode="r:", **options) as archive:
            yield archive
        return
    packed = io.BufferedReader(_Metered(stream, limits, progress, packed=True), _BUFFER)
    unpacked = _Metered(_decompressor(cast("BinaryIO", packed), kind), limits, progress, packed=False)
    # Nothing buffers between the two: a buffer that fills itself past the cut of a truncated archive would lose the
    # good bytes before it.
    with tarfile.open(fileobj=cast("BinaryIO", unpacked), mode="r|", bufsize=_BUFFER, **options) as archive:
        yield archive


def _decompressor(packed: BinaryIO, kind: Kind) -> bz2.BZ2File | lzma.LZMAFile | gzip.GzipFile:
    if kind is Kind.BZIP2:
        return bz2.BZ2File(packed)
    if kind is Kind.XZ:
        return lzma.LZMAFile(packed)
    return gzip.GzipFile(fileobj=packed)


class _Metered(io.RawIOBase):
    """A stream that counts what is really read and stops at the limits."""

    def __init__(self, stream: Any, limits: ArchiveLimits, progress: Progress, *, packed: bool) -> None:
        self._stream = stream
        self._limits = limits
        self._progress = progress
        self._packed = packed

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._packed and bool(self._stream.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def readinto(self, buffer: Any) -> int:
        try:
            # A decompressor's `read` fails when the end is missing; `read1` first gives what there is.
            data = self._stream.read(len(buffer)) if self._packed else self._stream.read1(len(buffer))
        except OSError as error:
            # What the disk refuses is not the archive's fault; what the decompressor finds is.
            if not self._packed:
                raise
            raise DocumentError(Reason.SOURCE_UNREADABLE, f"The archive cannot be read: {error}.") from error
        self._count(len(data))
        buffer[: len(data)] = data
        return len(data)

    def _count(self, length: int) -> None:
        progress, limits = self._progress, self._limits
        if self._packed:
            progress.packed += length
            return
        progress.unpacked += length
        if progress.unpacked > limits.max_total_bytes:
            raise DocumentError(Reason.ARCHIVE_LIMIT, f"It unpacks to more than {limits.max_total_bytes} bytes.")
        if ratio_exceeded(progress.packed, progress.unpacked, limits):
            raise DocumentError(Reason.ARCHIVE_LIMIT, f"It unpacks to more than {limits.max_ratio:.0f} times its size.")


def _header_class(progress: Progress) -> type[tarfile.TarInfo]:
    """The header parser of one archive; unlike tarfile it never takes damage for the end."""

    class Header(tarfile.TarInfo):
        after_end = False

        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Header:
            try:
                header = super().frombuf(buf, encoding, errors)
            except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
                Header.after_end = True
                raise
            except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError) as error:  # type: ignore[attr-defined]
                if Header.after_end:  # Junk behind the end is nobody's loss.
                    raise tarfile.EmptyHeaderError("end") from error  # type: ignore[attr-defined]
                raise _bad_header(progress, cut=len(buf) < tarfile.BLOCKSIZE) from error
            if header.size < 0 or (_is_extension(header) and header.size > _MAX_HEADER):
                raise DocumentError(Reason.ARCHIVE_DAMAGED, f"A header says {header.size} bytes.")
            Header.after_end = False
            return header

    return Header


def _is_extension(header: tarfile.TarInfo) -> bool:
    extensions = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
    return header.type in (*extensions, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


def _bad_header(progress: Progress, *, cut: bool) -> DocumentError:
    if not progress.members:
        return DocumentError(Reason.NOT_AN_ARCHIVE, "What should be the first header is none.")
    if cut:
        return DocumentError(Reason.ARCHIVE_TRUNCATED, f"It ends inside a header, after {progress.members} entries.")
    return DocumentError(Reason.ARCHIVE_DAMAGED, f"The header after entry {progress.members} is damaged.")
