"""One member of an archive, and the count of what reading it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.failures import translated
from pdfocr_core.sources.sniff import HEAD_BYTES

__all__ = ["Member", "Progress", "ratio_exceeded"]

_CHUNK = 1024**2
_RATIO_FLOOR = 64 * 1024**2  # Below this many bytes no ratio does harm.


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive that is not a folder.

    Attributes:
        index: its position over all entries, folders included.
        name: as the archive spells it; bytes that are no text are kept as surrogates.
        size: bytes as the archive says.
        reason: why it is not read; None when it can be.
        detail: what was found, for people.
    """

    index: int
    name: str
    size: int
    reason: Reason | None = None
    detail: str = ""
    _open: Callable[[], BinaryIO] | None = field(default=None, repr=False, compare=False)

    def chunks(self, size: int = _CHUNK) -> Iterator[bytes]:
        """The member's bytes; to be read before the next member is asked for.

        Raises:
            DocumentError: the member is damaged, cut, or cannot be read for its `reason`.
        """
        if self._open is None:
            raise DocumentError(self.reason or Reason.NOT_REGULAR, self.detail)
        with translated(self.name), self._open() as stream:
            while data := stream.read(size):
                yield data

    def head(self) -> bytes:
        """The first bytes, enough to tell what it is."""
        for data in self.chunks(HEAD_BYTES):
            return data
        return b""


@dataclass(slots=True)
class Progress:
    """How much of an archive was read: its own bytes, and what they became."""

    packed: int = 0
    unpacked: int = 0
    members: int = 0


def ratio_exceeded(packed: int, unpacked: int, limits: ArchiveLimits) -> bool:
    """Whether so many bytes from so few are a bomb rather than a good compression."""
    return unpacked > _RATIO_FLOOR and unpacked > limits.max_ratio * max(packed, 1)
