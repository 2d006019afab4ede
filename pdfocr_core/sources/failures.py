"""What the archive libraries raise, in our words."""

from __future__ import annotations

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from pdfocr_core.errors import DocumentError, Reason

__all__ = ["translated"]


# gzip and bz2 raise plain OSError, zipfile ValueError and its like, for bytes that make no sense.
_DAMAGE = (
    EOFError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,
    ValueError,
    OverflowError,
)


class _HasMembers(Protocol):
    members: int


@contextmanager
def translated(what: str, progress: _HasMembers | None = None) -> Iterator[None]:
    """Turn what goes wrong inside an archive into a `DocumentError`; errors of ours pass.

    Args:
        what: the member or archive that is being read, for the message.
        progress: for a whole archive: how many members were read. Damage before the first means that it is no archive.
    """
    try:
        yield
    except DocumentError:
        raise
    except NotImplementedError as error:
        detail = f"{what}: compressed in a way that is not supported."
        raise DocumentError(Reason.ARCHIVE_UNSUPPORTED, detail) from error
    except _DAMAGE as error:
        if isinstance(error, EOFError) or "unexpected end of data" in str(error):
            raise DocumentError(Reason.ARCHIVE_TRUNCATED, f"The bytes of {what} end too early.") from error
        if progress is not None and not progress.members:
            raise DocumentError(Reason.NOT_AN_ARCHIVE, f"No member can be read: {error}.") from error
        raise DocumentError(Reason.ARCHIVE_DAMAGED, f"The bytes of {what} are damaged: {error}.") from error
