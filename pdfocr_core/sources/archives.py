"""Members of tar and zip archives, one after the other, never extracted and never trusted.

Names are only words here: nothing is ever written under a name that an archive chose. What is wrong with one member is
that member's `reason`; what is wrong with the archive ends the iteration with a `DocumentError`, after all members
before the damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.member import Member
from pdfocr_core.sources.sniff import Kind
from pdfocr_core.sources.tars import tar_members
from pdfocr_core.sources.zips import zip_members

__all__ = ["iter_members"]


def iter_members(stream: BinaryIO, kind: Kind, limits: ArchiveLimits) -> Iterator[Member]:
    """All members that are not folders, in the archive's order.

    Args:
        stream: the archive, seekable.
        kind: what `sniff` says of it; anything that is no zip and not compressed is tried as a tar.
        limits: bounds on what the archive may make us read.

    Raises:
        DocumentError: it is no archive, is cut or damaged, or passes a limit; members before that were yielded.
    """
    return zip_members(stream, limits) if kind is Kind.ZIP else tar_members(stream, kind, limits)
