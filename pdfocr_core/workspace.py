"""The workspace: where everything that a collection becomes is kept, and under which names.

    index/<batch>.csv.zst        append-only, one immutable file per ingestion
    marks/<batch>-<n>.csv.zst    what became of documents since: gone, there again, pruned (see `marks`)
    groups/<key>.json            a group's manifest, immutable
    pages/<key>.jsonl.zst        document and page records of a finished group
    pages/<key>/part-*.jsonl.zst page records of a group in work
    results/output_<key>.jsonl   Dolma documents
    status/<key>.jsonl           status rows
    markdown/…                   mirrors the sources
    report/…                     the collection report

Nothing here is a lock or a done flag; Dagster knows which groups are done.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import zstandard
from pydantic import TypeAdapter

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.marks import MarkKind, Marks, Prunes, find_prunes
from pdfocr_core.records import DocumentRecord, PageRecord, StatusRow
from pdfocr_core.settings import StorageSettings
from pdfocr_core.store import Store, open_store

__all__ = ["IndexRow", "Workspace", "line_of", "open_workspace"]

_INDEX_COLUMNS = ("group", "document_id", "url", "version", "bytes", "pages", "member", "problem")
_RECORD: TypeAdapter[DocumentRecord | PageRecord] = TypeAdapter(DocumentRecord | PageRecord)


class IndexRow(NamedTuple):
    """One document of the index."""

    group: str
    document_id: str
    url: str
    version: str
    bytes: int
    pages: int
    member: int | None
    problem: str | None


def open_workspace(root: str, storage: StorageSettings | None = None) -> Workspace:
    """Open the workspace at a local folder or an object-store URL; nothing is written yet.

    Raises:
        ConfigurationError: see `pdfocr_core.store.open_store`.
    """
    return Workspace(open_store(root, storage))


class Workspace:
    """Reads and writes the files named at the head of this module."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.marks = Marks(store)
        self._known_prunes = Prunes()

    @property
    def url(self) -> str:
        """The root, as a path or URL."""
        return self.store.url

    # The index.

    def append_index(self, rows: Iterable[IndexRow], name: str) -> bool:
        """Add one immutable batch; names sort by time. False when another writer has taken the name."""
        packed = io.BytesIO()
        compressor = zstandard.ZstdCompressor(level=3).stream_writer(packed, closefd=False)
        with io.TextIOWrapper(compressor, "utf-8", "surrogateescape", newline="") as text:
            writer = csv.writer(text)  # ends lines with \r\n, and so quotes names that hold either
            writer.writerow(_INDEX_COLUMNS)
            for row in rows:
                writer.writerow(["" if value is None else value for value in row])
        return self.store.create(f"index/{name}.csv.zst", packed.getvalue())

    def index_batches(self) -> list[str]:
        """The names of all batches, oldest first."""
        return sorted(stored.name for stored in self.store.list("index") if stored.name.endswith(".csv.zst"))

    def read_batch(self, name: str) -> Iterator[IndexRow]:
        """Every document of one batch."""
        # Read as a stream: a batch can hold a million documents.
        packed = zstandard.ZstdDecompressor().stream_reader(self.store.read(name))
        for row in csv.DictReader(io.TextIOWrapper(packed, "utf-8", "surrogateescape", newline="")):
            yield IndexRow(
                row["group"],
                row["document_id"],
                row["url"],
                row["version"],
                int(row["bytes"]),
                int(row["pages"]),
                int(row["member"]) if row["member"] else None,
                row["problem"] or None,
            )

    def read_index(self) -> Iterator[IndexRow]:
        """Every document that was not pruned, oldest batch first."""
        passed_by = Counter(self._prunes().rows)
        for name in self.index_batches():
            for row in self.read_batch(name):
                place = (row.group, row.document_id)
                if passed_by and passed_by[place]:
                    passed_by[place] -= 1
                else:
                    yield row

    def group_keys(self) -> list[str]:
        """Keys of all groups that have documents, in the order in which they were indexed."""
        return list(dict.fromkeys(row.group for row in self.read_index()))

    def next_batch(self) -> str:
        """The name that the next batch of the index bears; whoever creates it first has it."""
        stems = (name.rpartition("/")[2].partition(".")[0] for name in self.index_batches())
        return f"{max((int(stem) for stem in stems if stem.isdecimal()), default=-1) + 1:08d}"

    def history(self) -> list[str]:
        """The names of all marks (`marks/…`) and batches (`index/…`), in the order in which they hold."""
        marks = [f"marks/{name}" for name in self.marks.names()]
        return sorted(marks + self.index_batches(), key=_place_in_history)

    def pruned(self) -> frozenset[tuple[str, str]]:
        """Group and id of every document whose results were removed and that was not indexed in that group again."""
        return self._prunes().now

    def reopened(self) -> set[str]:
        """Groups of which everything was pruned, that were indexed again and have not been read since.

        What Dagster knows of them is from before.
        """
        prunes = self._prunes()
        groups = {group for group, document_id in prunes.rows if (group, document_id) not in prunes.now}
        return {key for key in groups if not self.store.exists(f"status/{key}.jsonl")}

    def _prunes(self) -> Prunes:
        names = self.marks.names()
        if not any(mark.kind is MarkKind.PRUNED for name in names for mark in self.marks.of(name)):
            return Prunes()
        names = self.history()
        if self._known_prunes.names != names:
            self._known_prunes = find_prunes(names, self.marks, self.read_batch)
        return self._known_prunes

    # Manifests.

    def write_manifest(self, group: PageGroup) -> None:
        """Write a group's manifest; the same group has the same manifest, so a second writer changes nothing."""
        head = json.dumps({"schema_version": 1, "key": group.key, "pages": group.pages})
        documents = ",\n".join(json.dumps(document.to_json()) for document in group.documents)
        manifest = f'{head.removesuffix("}")}, "documents": [\n{documents}\n]}}\n'
        self.store.create(f"groups/{group.key}.json", manifest.encode())

    def read_manifest(self, key: str) -> PageGroup:
        """The group with that key, without the documents that were pruned from it.

        Raises:
            FileNotFoundError: no group of this workspace has the key.
        """
        data = json.loads(self.store.read(f"groups/{key}.json"))
        group = PageGroup(tuple(Document.from_json(document) for document in data["documents"]))
        pruned = {document_id for of_group, document_id in self.pruned() if of_group == key}
        return group.without(pruned) if pruned else group

    # Page records.

    def write_part(self, key: str, name: str, records: Sequence[PageRecord]) -> None:
        """Checkpoint finished pages of a group in work; durable when this returns."""
        self.store.create(f"pages/{key}/part-{name}.jsonl.zst", _compress(_lines(records)))

    def read_parts(self, key: str) -> Iterator[PageRecord]:
        """All checkpointed pages of a group."""
        return (record for record, _line in self.read_part_lines(key))

    def read_part_lines(self, key: str) -> Iterator[tuple[PageRecord, bytes]]:
        """The same, each with the line that it was written as."""
        for name in sorted(stored.name for stored in self.store.list(f"pages/{key}") if "/part-" in stored.name):
            try:
                data = self.store.read(name)
            except FileNotFoundError:
                continue  # another run committed the group meanwhile
            for record, line in _parse(data):
                if isinstance(record, PageRecord):
                    yield record, line

    def pages_in_work(self) -> dict[str, int]:
        """How many pages of each unfinished group are checkpointed."""
        found: Counter[str] = Counter()
        for stored in self.store.list("pages"):
            folder, slash, part = stored.name.removeprefix("pages/").rpartition("/")
            if slash and part.startswith("part-"):
                try:
                    found[folder] += _decompress(self.store.read(stored.name)).count(b"\n")
                except FileNotFoundError:
                    continue  # the group was committed meanwhile
        return dict(found)

    def drop_parts(self, key: str) -> None:
        """Remove a group's parts, once its pages are committed."""
        for stored in list(self.store.list(f"pages/{key}")):
            self.store.delete(stored.name)

    def commit_pages(self, key: str, lines: Iterable[bytes], size: int, *, replace: bool = True) -> bool:
        """Write a group's records, each document before its pages, in manifest order.

        Args:
            key: of the group.
            lines: see `line_of`; compressed as they come, so that they are never all in memory.
            size: of all lines together, in bytes.
            replace: put them in the place of others that were committed before.

        Returns False when there are others and they were to stay.
        """
        compressor = zstandard.ZstdCompressor(level=3).compressobj(size=size)
        packed = [compressor.compress(line) for line in lines]
        packed.append(compressor.flush())
        name, data = f"pages/{key}.jsonl.zst", b"".join(packed)
        if not replace:
            return self.store.create(name, data)
        self.store.write(name, data)
        return True

    def pages_version(self, key: str) -> str | None:
        """What tells one commit of a group's pages from the next; None when there was none yet."""
        try:
            stored = self.store.head(f"pages/{key}.jsonl.zst")
        except FileNotFoundError:
            return None
        return f"{stored.e_tag} {stored.size} {stored.last_modified.isoformat()}"

    def read_pages(self, key: str) -> list[DocumentRecord | PageRecord] | None:
        """A finished group's records; None when the group was never committed."""
        try:
            return [record for record, _line in self.read_page_lines(key)]
        except FileNotFoundError:
            return None

    def read_page_lines(self, key: str) -> Iterator[tuple[DocumentRecord | PageRecord, bytes]]:
        """A finished group's records one after the other, each with the line that it was written as.

        Raises:
            FileNotFoundError: the group was never committed.
        """
        return _parse(self.store.read(f"pages/{key}.jsonl.zst"))

    def read_durable(self, key: str) -> Iterator[PageRecord]:
        """A group's pages, finished or in work, one after the other: of the parts, then of the pages file.

        In this order, since parts go only after the pages file is there. The file may be older than the parts, and of
        another engine, when a group is read again.
        """
        yield from self.read_parts(key)
        with contextlib.suppress(FileNotFoundError):
            for record, _line in self.read_page_lines(key):
                if isinstance(record, PageRecord):
                    yield record

    # Results.

    def write_results(self, key: str, lines: bytes | bytearray) -> None:
        """Write a group's Dolma documents (JSON Lines)."""
        self.store.write(f"results/output_{key}.jsonl", lines)

    def has_results(self, key: str) -> bool:
        """Whether the group's Dolma documents have been assembled."""
        return self.store.exists(f"results/output_{key}.jsonl")

    def read_result_lines(self, key: str) -> Iterator[bytes]:
        """A group's Dolma documents, one line after the other, without the file ever being in memory whole.

        Raises:
            FileNotFoundError: they have not been assembled.
        """
        rest = bytearray()
        for chunk in self.store.stream(f"results/output_{key}.jsonl"):
            rest += chunk
            while (end := rest.find(b"\n") + 1) > 0:
                yield _cut(rest, end)
        if rest:
            yield _cut(rest, len(rest))

    def read_results(self, key: str) -> bytes:
        """A group's Dolma documents (JSON Lines)."""
        return self.store.read(f"results/output_{key}.jsonl")

    def write_status(self, key: str, rows: Sequence[StatusRow]) -> None:
        """Write a group's status rows."""
        self.store.write(f"status/{key}.jsonl", _lines(rows))

    def read_status(self, key: str) -> list[StatusRow] | None:
        """A group's status rows; None when it has none yet."""
        try:
            data = self.store.read(f"status/{key}.jsonl")
        except FileNotFoundError:
            return None
        return [StatusRow.model_validate_json(line) for line in data.splitlines() if line]

    def write_markdown(self, path: str, text: str | bytearray) -> None:
        """Write one Markdown file; `path` is relative to `markdown/` and already safe."""
        self.store.write(f"markdown/{path}", text.encode("utf-8", "replace") if isinstance(text, str) else text)

    def write_report(self, name: str, data: bytes | Path) -> None:
        """Write one file of the collection report: these bytes, or the contents of a local file of any size."""
        self.store.write(f"report/{name}", data)


def _place_in_history(name: str) -> tuple[str, bool, str]:
    folder, _, file = name.rpartition("/")
    return file[:8], folder != "marks", file


def line_of(record: DocumentRecord | PageRecord | StatusRow) -> bytes:
    """One line of JSON Lines, as all files of records have them."""
    return _line(record.model_dump(mode="json")) + b"\n"


def _lines(records: Iterable[DocumentRecord | PageRecord | StatusRow]) -> bytes:
    return b"".join(map(line_of, records))


def _line(record: dict[str, Any]) -> bytes:
    line = json.dumps(record)
    if "\\ud" in line:
        # Half of a surrogate pair, from a name or a server's answer: strict readers would refuse the whole file.
        line = json.dumps(json.loads(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")))
    return line.encode()


def _parse(data: bytes) -> Iterator[tuple[DocumentRecord | PageRecord, bytes]]:
    for line in io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(data)):
        if line.strip():
            yield _RECORD.validate_json(line), line


def _cut(buffer: bytearray, end: int) -> bytes:
    """Take the first bytes out of a buffer."""
    taken = bytes(buffer[:end])
    del buffer[:end]
    return taken


def _compress(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(data)


def _decompress(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)
