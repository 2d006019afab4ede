"""Members of zip archives. Python reads the directory whole; members are read one at a time."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterator
from typing import BinaryIO, cast

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.failures import translated
from pdfocr_core.sources.member import Member, Progress, ratio_exceeded
from pdfocr_core.sources.names import name_problem

__all__ = ["zip_members"]

_ENCRYPTED = 0x1


def zip_members(stream: BinaryIO, limits: ArchiveLimits) -> Iterator[Member]:
    """See `iter_members`.

    The directory's sizes are what the bounds are held against: zipfile never reads more of a member than they say, and
    a member that says too little fails by its checksum.
    """
    progress = Progress(packed=stream.seek(0, io.SEEK_END))
    with translated("the archive", progress):
        archive = _open(stream)
        with archive:
            if len(archive.filelist) > limits.max_members:
                raise DocumentError(Reason.ARCHIVE_LIMIT, f"More than {limits.max_members} members.")
            for index, entry in enumerate(archive.filelist):
                progress.members = index + 1
                progress.unpacked += entry.file_size
                if progress.unpacked > limits.max_total_bytes:
                    raise DocumentError(Reason.ARCHIVE_LIMIT, f"More than {limits.max_total_bytes} bytes unpacked.")
                if not entry.is_dir():
                    yield _member(archive, entry, index, limits)


def _open(stream: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(stream)
    except zipfile.BadZipFile as error:
        # The directory stands at the end; without it a zip that began as one has lost that end.
        raise DocumentError(Reason.ARCHIVE_TRUNCATED, f"The zip has no readable directory: {error}.") from error


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, index: int, limits: ArchiveLimits) -> Member:
    name = entry.orig_filename  # zipfile cuts `filename` at a NUL
    reason, detail = _problem(entry, limits)
    if reason:
        return Member(index, name, entry.file_size, reason, detail)
    return Member(index, name, entry.file_size, None, "", lambda: cast("BinaryIO", archive.open(entry)))


def _problem(entry: zipfile.ZipInfo, limits: ArchiveLimits) -> tuple[Reason | None, str]:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind and kind != stat.S_IFREG:
        return Reason.NOT_REGULAR, "A link or a device."
    if problem := name_problem(entry.orig_filename):
        return problem, "The name leads out of the archive."
    if entry.flag_bits & _ENCRYPTED:
        return Reason.ARCHIVE_ENCRYPTED, "The member is encrypted."
    if entry.file_size > limits.max_member_bytes:
        return Reason.ARCHIVE_LIMIT, f"{entry.file_size} bytes are more than max_member_bytes."
    if ratio_exceeded(entry.compress_size, entry.file_size, limits):
        return Reason.ARCHIVE_LIMIT, f"It unpacks to more than {limits.max_ratio:.0f} times its size."
    return None, ""
