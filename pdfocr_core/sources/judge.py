"""Whether something found in a source is a document, an archive to open, or nothing for us."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from pdfocr_core.errors import Reason
from pdfocr_core.sources import names
from pdfocr_core.sources.sniff import Kind

__all__ = ["Verdict", "What", "judge"]


class What(StrEnum):
    """What is to be done with something found."""

    DOCUMENT = "document"
    ARCHIVE = "archive"
    IGNORED = "ignored"


class Verdict(NamedTuple):
    """The judgement, with what is known about a document before it is opened."""

    what: What
    problem: Reason | None = None
    pages: int = 0


_IGNORED = Verdict(What.IGNORED)


def judge(name: str, kind: Kind | None, *, named: bool) -> Verdict:
    """Judge by content where it was looked at, by name where not.

    Args:
        name: the file's, key's or member's name.
        kind: what its first bytes say; None when they were not read.
        named: the user named this very thing, so it is never ignored.
    """
    if not named and names.is_litter(name):
        return _IGNORED
    if kind is None:
        return _by_name(name)
    if kind.is_archive or (kind.is_compressed and (named or names.is_archive_name(name))):
        return Verdict(What.ARCHIVE)
    if kind is Kind.PDF:
        return Verdict(What.DOCUMENT)
    if kind.is_picture:
        return Verdict(What.DOCUMENT, pages=0 if kind is Kind.TIFF else 1)
    if kind.is_unsupported_picture:
        return Verdict(What.DOCUMENT, Reason.UNSUPPORTED_IMAGE)
    return _foreign(name, kind, named=named)


def _foreign(name: str, kind: Kind, *, named: bool) -> Verdict:
    """Content that says nothing to us: only a name can make it a document."""
    if kind is Kind.EMPTY:
        expected = named or names.is_document_name(name) or names.is_archive_name(name)
        return Verdict(What.DOCUMENT, Reason.EMPTY_FILE) if expected else _IGNORED
    if names.is_archive_name(name):
        return Verdict(What.ARCHIVE)
    if names.is_document_name(name):
        return Verdict(What.DOCUMENT)  # Opening it will tell what it really is.
    return Verdict(What.DOCUMENT, Reason.NOT_A_PDF) if named else _IGNORED


def _by_name(name: str) -> Verdict:
    if names.is_archive_name(name):
        return Verdict(What.ARCHIVE)
    if names.is_unsupported_picture_name(name):
        return Verdict(What.DOCUMENT, Reason.UNSUPPORTED_IMAGE)
    if names.is_picture_name(name):
        return Verdict(What.DOCUMENT, pages=0 if names.is_tiff_name(name) else 1)
    return Verdict(What.DOCUMENT) if names.is_document_name(name) else _IGNORED
