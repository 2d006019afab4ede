"""Which documents of the index still stand for something: current, superseded by another version, or gone.

Of the versions of one URL the one that was indexed last is current, or the one that was seen again after it. The first
look keeps 8 bytes of each URL; only URLs with more to say than "indexed once" are looked at a second time.
"""

from __future__ import annotations

import hashlib
from array import array
from enum import StrEnum
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from pdfocr_core.marks import MarkKind
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["Standing", "Standings", "short_hash", "standings_of"]


class Standing(StrEnum):
    """What a document is now."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    GONE = "gone"


class Standings(NamedTuple):
    """What is known beyond "indexed once".

    Attributes:
        rows: documents that are superseded or gone and were not pruned, with their standing.
        current: the current document of every URL that has had more than one version.
    """

    rows: dict[IndexRow, Standing]
    current: dict[str, IndexRow]

    def by_document(self) -> dict[tuple[str, str], Standing]:
        """Standing by group and document id; any other document is current."""
        return {(row.group, row.document_id): standing for row, standing in self.rows.items()}


def short_hash(text: str) -> int:
    """Eight bytes that stand for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big")


_found: WeakKeyDictionary[Workspace, tuple[list[str], Standings]] = WeakKeyDictionary()


def standings_of(workspace: Workspace) -> Standings:
    """Find the documents that are not current. While index and marks stay as they are, it costs a listing of them."""
    names = workspace.history()
    if workspace not in _found or _found[workspace][0] != names:
        _found[workspace] = (names, _look(workspace, names))
    return _found[workspace][1]


def _look(workspace: Workspace, names: list[str]) -> Standings:
    wanted = _urls_with_a_history(workspace, names)
    if not len(wanted):
        return Standings({}, {})
    versions: dict[str, list[IndexRow]] = {}
    current: dict[str, IndexRow] = {}
    gone: set[str] = set()
    for name in names:
        if name.startswith("marks/"):
            _apply_marks(workspace, name, versions, current, gone)
            continue
        rows = list(workspace.read_batch(name))
        for place in np.flatnonzero(np.isin(_hashes(rows), wanted)):
            row = rows[place]
            versions.setdefault(row.url, []).append(row)
            current[row.url] = row
            gone.discard(row.document_id)
    pruned = workspace.pruned()
    found: dict[IndexRow, Standing] = {}
    for url, of_url in versions.items():
        for row in of_url:
            if (row.group, row.document_id) in pruned:
                continue
            if row.document_id != current[url].document_id:
                found[row] = Standing.SUPERSEDED
            elif row.document_id in gone:
                found[row] = Standing.GONE
    return Standings(found, current)


def _apply_marks(
    workspace: Workspace,
    name: str,
    versions: dict[str, list[IndexRow]],
    current: dict[str, IndexRow],
    gone: set[str],
) -> None:
    for mark in workspace.marks.of(name.removeprefix("marks/")):
        row = next((row for row in versions.get(mark.url, ()) if row.document_id == mark.document_id), None)
        if row is not None and mark.kind is MarkKind.GONE:
            gone.add(mark.document_id)
        elif row is not None and mark.kind is MarkKind.LIVE:
            gone.discard(mark.document_id)
            current[mark.url] = row


def _urls_with_a_history(workspace: Workspace, names: list[str]) -> npt.NDArray[np.uint64]:
    """Hashes of the URLs that were indexed more than once or that a mark speaks of."""
    hashes = array("Q")
    marked: set[int] = set()
    for name in names:
        if name.startswith("marks/"):
            marked.update(short_hash(mark.url) for mark in workspace.marks.of(name.removeprefix("marks/")))
        else:
            hashes.extend(short_hash(row.url) for row in workspace.read_batch(name))
    ordered = np.frombuffer(hashes, dtype=np.uint64) if hashes else np.empty(0, np.uint64)
    ordered.sort()  # where it is: a copy would be as large again
    several = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.union1d(several, np.fromiter(marked, np.uint64, len(marked)))


def _hashes(rows: list[IndexRow]) -> npt.NDArray[np.uint64]:
    return np.fromiter((short_hash(row.url) for row in rows), np.uint64, len(rows))
