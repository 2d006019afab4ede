"""What the index holds already, by half of each identity: 16 bytes are enough to be unique, and all that is kept."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pdfocr_core.documents import ARCHIVE_SEPARATOR, Document, document_id_of
from pdfocr_core.sources.found import Found
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["Known"]


class Known:
    """Grows with the index: batches are immutable, so each is read once."""

    def __init__(self) -> None:
        self._batches: set[str] = set()
        self._documents = _Identities()
        self._archives: dict[bytes, int] = {}

    @property
    def next_batch(self) -> str:
        """The name that the next batch of the index bears; whoever creates it first has it."""
        numbers = [int(stem) for stem in map(_stem, self._batches) if stem.isdecimal()]
        return f"{max(numbers, default=-1) + 1:08d}"

    def refresh(self, workspace: Workspace, *, deadline: float | None = None) -> bool:
        """Read the batches that are new; False when the deadline (monotonic) came first."""
        batches = workspace.index_batches()
        if not self._batches.issubset(batches):  # the workspace was emptied and begun anew
            self._batches, self._documents, self._archives = set(), _Identities(), {}
        for name in batches:
            if name in self._batches:
                continue
            if deadline is not None and time.monotonic() > deadline:
                return False
            self._documents.add(self._identities(workspace.read_batch(name)))
            self._batches.add(name)
        return True

    def holds(self, url: str, version: str) -> bool:
        """Whether this file, or this archive with its members, is indexed at this version."""
        identity = _short(document_id_of(url, version))
        return identity in self._documents or identity in self._archives

    def holds_document(self, document: Document) -> bool:
        """Whether this very document is indexed."""
        return _short(document.document_id) in self._documents

    def count(self, found: Found) -> int:
        """How many documents of the index a known file or archive stands for."""
        identity = _short(document_id_of(found.url, found.version))
        return (identity in self._documents) + self._archives.get(identity, 0)

    def _identities(self, rows: Iterable[IndexRow]) -> Iterable[bytes]:
        for row in rows:
            if row.member is not None:
                self._add_member(row)
            yield _short(row.document_id)

    def _add_member(self, row: IndexRow) -> None:
        # An archive's own name may hold the separator, so every place where the name can end is noted; the version
        # goes into the identity, so a wrong one stands for no file.
        version = row.version.rpartition("#")[0]
        end = row.url.find(ARCHIVE_SEPARATOR)
        while end >= 0:
            archive = _short(document_id_of(row.url[:end], version))
            self._archives[archive] = self._archives.get(archive, 0) + 1
            end = row.url.find(ARCHIVE_SEPARATOR, end + 1)


class _Identities:
    """A set of 16-byte values in 16 bytes each: sorted by their first half, in a few arrays that grow in size."""

    def __init__(self) -> None:
        self._arrays: list[npt.NDArray[np.uint64]] = []

    def add(self, identities: Iterable[bytes]) -> None:
        """Take more of them in."""
        joined = b"".join(identities)
        if not joined:
            return
        new = np.frombuffer(joined, dtype=">u8").astype(np.uint64).reshape(-1, 2)
        # Like sizes are merged, so there are never more arrays than the logarithm of their number.
        while self._arrays and len(self._arrays[-1]) <= 2 * len(new):
            new = np.concatenate([self._arrays.pop(), new])
        self._arrays.append(new[np.argsort(new[:, 0], kind="stable")])

    def __contains__(self, identity: bytes) -> bool:
        first, second = np.uint64(int.from_bytes(identity[:8], "big")), int.from_bytes(identity[8:], "big")
        for array in self._arrays:
            place = int(np.searchsorted(array[:, 0], first))
            while place < len(array) and array[place, 0] == first:
                if int(array[place, 1]) == second:
                    return True
                place += 1
        return False


def _stem(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


def _short(document_id: str) -> bytes:
    return bytes.fromhex(document_id[:32])
