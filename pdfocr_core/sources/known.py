"""What the index holds already, by the beginning of each identity: 10 bytes are enough to be unique, and all that is kept."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from pdfocr_core.documents import ARCHIVE_SEPARATOR, Document, document_id_of
from pdfocr_core.marks import Mark, MarkKind
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.identities import IDENTITY_BYTES, Identities
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["Known"]


class Known:
    """Grows with the index: batches are immutable, so each is read once."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Know nothing, in no memory."""
        self._batches: set[str] = set()
        self._documents = Identities()
        self._archives: dict[bytes, int] = {}
        self._pruned: set[bytes] = set()

    @property
    def next_batch(self) -> str:
        """The name that the next batch of the index bears; whoever creates it first has it."""
        numbers = [int(stem) for stem in map(_stem, self._batches) if stem.isdecimal()]
        return f"{max(numbers, default=-1) + 1:08d}"

    def refresh(self, workspace: Workspace, *, deadline: float | None = None) -> bool:
        """Read the batches that are new; False when the deadline (monotonic) came first."""
        batches = workspace.history()
        if not self._batches.issubset(batches):  # the workspace was emptied and begun anew
            self.clear()
        for name in batches:
            if name in self._batches:
                continue
            if deadline is not None and time.monotonic() > deadline:
                return False
            if name.startswith("marks/"):
                self._forget(workspace.marks.of(name.removeprefix("marks/")))
            else:
                self._documents.update(self._identities(workspace.read_batch(name)))
            self._batches.add(name)
        return True

    def pass_by(self, batch: str) -> None:
        """Never read this batch: it is the caller's own, and what it holds is not asked for again."""
        self._batches.add(batch)

    def holds(self, url: str, version: str) -> bool:
        """Whether this file, or this archive with its members, is indexed at this version."""
        identity = _short(document_id_of(url, version))
        return (identity in self._documents or identity in self._archives) and identity not in self._pruned

    def holds_document(self, document: Document) -> bool:
        """Whether this very document is indexed."""
        identity = _short(document.document_id)
        return identity in self._documents and identity not in self._pruned

    def count(self, found: Found) -> int:
        """How many documents of the index a known file or archive stands for."""
        identity = _short(document_id_of(found.url, found.version))
        return (identity in self._documents) + self._archives.get(identity, 0)

    def _identities(self, rows: Iterable[IndexRow]) -> Iterable[bytes]:
        for row in rows:
            if row.member is not None:
                for archive in _archives_of(row.url, row.version):
                    self._archives[archive] = self._archives.get(archive, 0) + 1
                    self._pruned.discard(archive)
            identity = _short(row.document_id)
            if self._pruned:
                self._pruned.discard(identity)
            yield identity

    def _forget(self, marks: Iterable[Mark]) -> None:
        """What was pruned is new again, should its source come back."""
        for mark in marks:
            if mark.kind is MarkKind.PRUNED:
                self._pruned.add(_short(mark.document_id))
                self._pruned.update(_archives_of(mark.url, mark.version))


def _archives_of(url: str, version: str) -> Iterator[bytes]:
    """The identities under which the archive of a member may be known.

    An archive's own name may hold the separator, so every place where the name can end is taken; the version goes into
    the identity, so a wrong one stands for no file.
    """
    version = version.rpartition("#")[0]
    end = url.find(ARCHIVE_SEPARATOR)
    while end >= 0:
        yield _short(document_id_of(url[:end], version))
        end = url.find(ARCHIVE_SEPARATOR, end + 1)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


def _short(document_id: str) -> bytes:
    return bytes.fromhex(document_id[: 2 * IDENTITY_BYTES])
