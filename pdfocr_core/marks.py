"""Marks: what became of documents after they were indexed. Append-only, like the index itself.

    marks/<batch>-<number>.csv.zst   written when the next batch of the index was <batch>, so before that batch

A document's source is `gone`; it is there again at that version (`live`); its results were removed (`pruned`), so that
it is read anew should its source come back.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import zstandard

from pdfocr_core.store import Store

__all__ = ["Mark", "MarkKind", "Marks", "Prunes", "find_prunes"]

_COLUMNS = ("mark", "at", "group", "document_id", "url", "version")


class MarkKind(StrEnum):
    """What is said of a document."""

    GONE = "gone"
    LIVE = "live"
    PRUNED = "pruned"


class Mark(NamedTuple):
    """One remark on one document of one group; `at` is UTC, ISO 8601."""

    kind: MarkKind
    at: str
    group: str
    document_id: str
    url: str
    version: str


class Marks:
    """Reads and appends the marks of a workspace. Their files are immutable, so each is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, list[Mark]] = {}

    def names(self) -> list[str]:
        """The names of all files, oldest first; a file stands before the batch of the index that its name begins with."""
        listed = (stored.name.rpartition("/")[2] for stored in self._store.list("marks"))
        return sorted(name for name in listed if name.endswith(".csv.zst"))

    def of(self, name: str) -> Sequence[Mark]:
        """The marks of one file, in order."""
        found = self._read.get(name)
        if found is None:
            data = zstandard.ZstdDecompressor().decompressobj().decompress(self._store.read(f"marks/{name}"))
            text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
            found = [
                Mark(MarkKind(row["mark"]), *(row[column] for column in _COLUMNS[1:])) for row in csv.DictReader(text)
            ]
            self._read[name] = found
        return found

    def append(self, marks: Iterable[Mark], next_batch: str) -> bool:
        """Add marks in one file; False when another writer was faster, so that what they say may be out of date."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(_COLUMNS)
        writer.writerows(marks)
        data = zstandard.ZstdCompressor(level=3).compress(text.getvalue().encode("utf-8", "surrogateescape"))
        number = sum(name.startswith(f"{next_batch}-") for name in self.names())
        return self._store.create(f"marks/{next_batch}-{number:04d}.csv.zst", data)


class _Row(Protocol):
    """What is needed of a row of the index."""

    @property
    def group(self) -> str: ...

    @property
    def document_id(self) -> str: ...


class Prunes(NamedTuple):
    """What marks say was pruned; a place is a group with a document id.

    Attributes:
        names: the files of marks and of the index that it was told from.
        now: places that are pruned now.
        rows: how many of the first rows of a place in the index stand for nothing any more.
    """

    names: Sequence[str] = ()
    now: frozenset[tuple[str, str]] = frozenset()
    rows: Counter[tuple[str, str]] = Counter()  # noqa: RUF012 - never changed


def find_prunes(names: Sequence[str], marks: Marks, read_batch: Callable[[str], Iterable[_Row]]) -> Prunes:
    """Go through the history, in whose order a document that was indexed again is not pruned any more."""
    now: set[tuple[str, str]] = set()
    rows: Counter[tuple[str, str]] = Counter()
    for name in names:
        if name.startswith("marks/"):
            said = marks.of(name.removeprefix("marks/"))
            pruned = {(mark.group, mark.document_id) for mark in said if mark.kind is MarkKind.PRUNED} - now
            rows.update(pruned)
            now |= pruned
        elif now:
            now -= {(row.group, row.document_id) for row in read_batch(name)}
    return Prunes(names, frozenset(now), rows)
