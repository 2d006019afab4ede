"""The workspace: where everything that a collection becomes is kept, and under which names.

    index/<batch>.csv.zst        append-only, one immutable file per ingestion
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

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import zstandard
from pydantic import TypeAdapter

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.records import DocumentRecord, PageRecord, StatusRow
from pdfocr_core.settings import StorageSettings
from pdfocr_core.store import Store, open_store

__all__ = ["IndexRow", "Workspace", "open_workspace"]

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

    @property
    def url(self) -> str:
        """The root, as a path or URL."""
        return self.store.url

    # The index.

    def append_index(self, rows: Iterable[IndexRow], name: str) -> bool:
        """Add one immutable batch; names sort by time. False when another writer has taken the name."""
        text = io.StringIO()
        writer = csv.writer(text)  # ends lines with \r\n, and so quotes names that hold either
        writer.writerow(_INDEX_COLUMNS)
        for row in rows:
            writer.writerow(["" if value is None else value for value in row])
        data = _compress(text.getvalue().encode("utf-8", "surrogateescape"))
        return self.store.create(f"index/{name}.csv.zst", data)

    def index_batches(self) -> list[str]:
        """The names of all batches, oldest first."""
        return sorted(stored.name for stored in self.store.list("index") if stored.name.endswith(".csv.zst"))

    def read_batch(self, name: str) -> Iterator[IndexRow]:
        """Every document of one batch."""
        text = _decompress(self.store.read(name)).decode("utf-8", "surrogateescape")
        for row in csv.DictReader(io.StringIO(text, newline="")):
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
        """Every document of every batch, oldest batch first."""
        for name in self.index_batches():
            yield from self.read_batch(name)

    def group_keys(self) -> list[str]:
        """Keys of all groups of the index, in the order in which they were indexed."""
        return list(dict.fromkeys(row.group for row in self.read_index()))

    # Manifests.

    def write_manifest(self, group: PageGroup) -> None:
        """Write a group's manifest; the same group has the same manifest, so a second writer changes nothing."""
        manifest = {
            "schema_version": 1,
            "key": group.key,
            "pages": group.pages,
            "documents": [document.to_json() for document in group.documents],
        }
        self.store.create(f"groups/{group.key}.json", (json.dumps(manifest, indent=1) + "\n").encode())

    def read_manifest(self, key: str) -> PageGroup:
        """The group with that key.

        Raises:
            FileNotFoundError: no group of this workspace has the key.
        """
        data = json.loads(self.store.read(f"groups/{key}.json"))
        return PageGroup(tuple(Document.from_json(document) for document in data["documents"]))

    # Page records.

    def write_part(self, key: str, name: str, records: Sequence[PageRecord]) -> None:
        """Checkpoint finished pages of a group in work; durable when this returns."""
        self.store.create(f"pages/{key}/part-{name}.jsonl.zst", _compress(_lines(records)))

    def read_parts(self, key: str) -> Iterator[PageRecord]:
        """All checkpointed pages of a group."""
        for name in sorted(stored.name for stored in self.store.list(f"pages/{key}") if "/part-" in stored.name):
            try:
                data = self.store.read(name)
            except FileNotFoundError:
                continue  # another run committed the group meanwhile
            for record in _parse(data):
                if isinstance(record, PageRecord):
                    yield record

    def drop_parts(self, key: str) -> None:
        """Remove a group's parts, once its pages are committed."""
        for stored in list(self.store.list(f"pages/{key}")):
            self.store.delete(stored.name)

    def commit_pages(self, key: str, records: Sequence[DocumentRecord | PageRecord]) -> None:
        """Write a group's records, each document before its pages, in manifest order."""
        self.store.write(f"pages/{key}.jsonl.zst", _compress(_lines(records)))

    def read_pages(self, key: str) -> list[DocumentRecord | PageRecord] | None:
        """A finished group's records; None when the group was never committed."""
        try:
            return list(_parse(self.store.read(f"pages/{key}.jsonl.zst")))
        except FileNotFoundError:
            return None

    # Results.

    def write_results(self, key: str, lines: bytes) -> None:
        """Write a group's Dolma documents (JSON Lines)."""
        self.store.write(f"results/output_{key}.jsonl", lines)

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

    def write_markdown(self, path: str, text: str) -> None:
        """Write one Markdown file; `path` is relative to `markdown/` and already safe."""
        self.store.write(f"markdown/{path}", text.encode("utf-8", "replace"))

    def write_report(self, name: str, data: bytes) -> None:
        """Write one file of the collection report."""
        self.store.write(f"report/{name}", data)


def _lines(records: Iterable[DocumentRecord | PageRecord | StatusRow]) -> bytes:
    return b"".join(_line(record.model_dump(mode="json")) + b"\n" for record in records)


def _line(record: dict[str, Any]) -> bytes:
    line = json.dumps(record)
    if "\\ud" in line:
        # Half of a surrogate pair, from a name or a server's answer: strict readers would refuse the whole file.
        line = json.dumps(json.loads(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")))
    return line.encode()


def _parse(data: bytes) -> Iterator[DocumentRecord | PageRecord]:
    for line in _decompress(data).splitlines():
        if line:
            yield _RECORD.validate_json(line)


def _compress(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(data)


def _decompress(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)
