"""What an indexing saw, and so which documents of the index are gone, and which are there again.

Only a folder, prefix or pattern that was listed to its end says that something is missing from it; one that holds nothing
at all says nothing, since a disk that is not mounted looks just like that. What was seen is kept on disk, 8 bytes each.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from pdfocr_core.documents import ARCHIVE_SEPARATOR, document_id_of
from pdfocr_core.errors import Reason
from pdfocr_core.marks import Mark, MarkKind
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.names import split_glob
from pdfocr_core.sources.standing import Standing, short_hash, standings_of
from pdfocr_core.store import is_url
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["Extent", "Presence"]

_THERE, _OPENED, _CLOSED = "there\0", "opened\0", "closed\0"


@dataclass(frozen=True, slots=True)
class Extent:
    """What a listing that came to its end has visited.

    Attributes:
        base: the folder, or the URL of the bucket with the prefix.
        pattern: what a path below it has to match.
        exclude: what was left out: the workspace.
    """

    base: str
    pattern: re.Pattern[str] | None
    exclude: str | None

    @classmethod
    def of_folder(cls, folder: str, pattern: re.Pattern[str] | None, exclude: str | None) -> Extent:
        """A local folder, all of it or what matches."""
        return cls(os.path.abspath(folder), pattern, exclude)  # noqa: PTH100 - links stay as the user wrote them

    @classmethod
    def of_objects(cls, url: str, exclude: str | None) -> Extent | None:
        """A prefix or pattern on an object store; None for one that begins with a slash, which stores spell in two ways."""
        scheme, _, rest = url.partition("://")
        bucket, _, key = rest.partition("/")
        glob = split_glob(key)
        prefix = (glob.base if glob else key).rstrip("/")
        if key.startswith("/"):
            return None
        base = f"{scheme}://{bucket}/{prefix}".rstrip("/")
        return cls(base, glob.regex if glob else None, exclude)

    def covers(self, url: str) -> bool:
        """Whether the listing would have come upon this file or object, were it there."""
        below = url.removeprefix(f"{self.base.rstrip('/')}/")
        if below == url or (self.exclude and url.startswith(f"{self.exclude.rstrip('/')}/")):
            return False
        if self.pattern is None or self.pattern.fullmatch(below):
            return True
        # A folder that matches is taken whole; objects have no folders.
        folders = [below[: match.start()] for match in re.finditer("/", below)]
        return not is_url(self.base) and any(self.pattern.fullmatch(folder) for folder in folders)


class Presence:
    """Collects what one indexing sees; costs nothing where there is no index yet."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        # What another indexing appends meanwhile may have come after our look: of that nothing is said.
        self._before = frozenset(workspace.index_batches())
        self._file = tempfile.TemporaryFile() if self._before else None  # noqa: SIM115 - closed in `marks`
        self._extents: list[Extent] = []
        self._saw_known = False

    def listed(self, extent: Extent) -> None:
        """A listing came to its end."""
        self._extents.append(extent)

    def saw(self, found: Found) -> None:
        """A file or object is there."""
        if self._file is None or found.problem is Reason.SOURCE_MISSING:
            return
        self._saw_known |= found.known
        self._note(document_id_of(found.url, found.version))
        if found.what is What.IGNORED and not found.known:
            self._note(_THERE + found.url)

    def saw_archive(self, found: Found, document_ids: list[str], *, whole: bool) -> None:
        """An archive was opened; when not to its end, nothing is said of members that were not seen."""
        if self._file is not None:
            self._saw_known = True
            self._note((_OPENED if whole else _CLOSED) + found.url)
            for document_id in document_ids:
                self._note(document_id)

    def marks(self) -> list[Mark]:
        """What has changed for documents of the index, to be appended to it."""
        if self._file is None:
            return []
        with self._file:
            self._file.flush()
            # A few new objects, named one by one, say nothing of others; the index need not be read for them.
            if not self._file.tell() or not (self._extents or self._saw_known):
                return []
            standings = standings_of(self._workspace)  # before the next lines, since both take much memory
            # A file in memory's clothes: it may be larger than what memory is to be used.
            seen = np.memmap(self._file, dtype="<u8", mode="r+")
            seen.sort()
            states = standings.by_document()
            later = self._appended_meanwhile({row.document_id for row in standings.current.values()})
            at = datetime.now(UTC).isoformat(timespec="seconds")
            pruned = self._workspace.pruned()
            marks = []
            for row, there in self._rows(seen):
                standing = states.get((row.group, row.document_id), Standing.CURRENT)
                if (row.group, row.document_id) in pruned:
                    continue
                kind = None
                current = standings.current.get(row.url)
                if there and standing is not Standing.CURRENT and (current is None or current.document_id not in later):
                    kind = MarkKind.LIVE
                elif not there and standing is Standing.CURRENT and self._is_missing(row, seen):
                    kind = MarkKind.GONE
                if kind is not None:
                    marks.append(Mark(kind, at, row.group, row.document_id, row.url, row.version))
            del seen
        return marks

    def _note(self, identity: str) -> None:
        if self._file is not None:
            self._file.write(short_hash(identity).to_bytes(8, "little"))

    def _appended_meanwhile(self, document_ids: Collection[str]) -> set[str]:
        """Which of these documents were indexed after this look began, and so may be newer than what it saw."""
        found: set[str] = set()
        for name in self._workspace.index_batches() if document_ids else ():
            if name not in self._before:
                found |= {row.document_id for row in self._workspace.read_batch(name)} & set(document_ids)
        return found

    def _rows(self, seen: npt.NDArray[np.uint64]) -> Iterator[tuple[IndexRow, bool]]:
        """Every document that was indexed before, and whether it was seen."""
        for name in sorted(self._before):
            rows = list(self._workspace.read_batch(name))
            ids = np.fromiter((short_hash(row.document_id) for row in rows), np.uint64, len(rows))
            for row, there in zip(rows, _within(ids, seen), strict=True):
                yield row, bool(there) or _holds_any(seen, _archives_of(row))

    def _is_missing(self, row: IndexRow, seen: npt.NDArray[np.uint64]) -> bool:
        outer = row.url if row.member is None else row.url.split(ARCHIVE_SEPARATOR, 1)[0]
        if not any(extent.covers(outer) for extent in self._extents):
            return False
        ends = [row.url[:end] for end in _ends(row)]
        if _holds_any(seen, [sign + url for sign in (_THERE, _CLOSED) for url in (row.url, *ends)]):
            return False
        if _holds_any(seen, [_OPENED + url for url in ends]):
            return True
        return is_url(outer) or all(_is_absent(path) for path in ends or [outer])


def _archives_of(row: IndexRow) -> list[str]:
    """The identity of the archive that holds a member, for every place where its name may end."""
    version = row.version.rpartition("#")[0]
    return [document_id_of(row.url[:end], version) for end in _ends(row)]


def _ends(row: IndexRow) -> list[int]:
    if row.member is None:
        return []
    return [match.start() for match in re.finditer(ARCHIVE_SEPARATOR, row.url)]


def _holds_any(seen: npt.NDArray[np.uint64], identities: list[str]) -> bool:
    hashes = np.fromiter((short_hash(identity) for identity in identities), np.uint64, len(identities))
    return bool(_within(hashes, seen).any())


def _within(hashes: npt.NDArray[np.uint64], ordered: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    places = np.searchsorted(ordered, hashes)
    places[places == len(ordered)] = 0
    found: npt.NDArray[np.bool_] = ordered[places] == hashes
    return found


def _is_absent(path: str) -> bool:
    """Whether a local file is really not there, rather than out of reach."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
