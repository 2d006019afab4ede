"""A collection as a data set: one row per document or per page, as Parquet or JSON Lines, streamed.

Hugging Face `datasets`, pandas, Polars and DuckDB read the Parquet files as they are. Documents that are superseded are
passed by, since their new version has a row of its own; so are those without any text.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.records import PageRecord, StatusRow
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["By", "rows_of", "write_jsonl", "write_parquet"]

Row = dict[str, Any]

# A row group is written when it has so many rows or characters: what a reader of one row must hold, and what we hold.
_GROUP_ROWS = 2000
_GROUP_CHARACTERS = 16 * 1024**2
# A file of a folder is closed beyond this many characters; several can be read, and uploaded, at the same time.
_FILE_CHARACTERS = 512 * 1024**2


class By(StrEnum):
    """What one row is."""

    DOCUMENT = "document"
    PAGE = "page"


_DOCUMENT_TYPES = {
    "id": "string",
    "text": "string",
    "url": "string",
    "content_id": "string",
    "status": "string",
    "pages": "int64",
    "page_numbers": "list<int64>",
    "page_starts": "list<int64>",
    "failed_pages": "list<int64>",
    "fallback_pages": "list<int64>",
    "language": "string",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "model": "string",
    "engine_id": "string",
    "group": "string",
    "created": "string",
}
_PAGE_TYPES = {
    "id": "string",
    "page": "int64",
    "text": "string",
    "url": "string",
    "content_id": "string",
    "status": "string",
    "reason": "string",
    "method": "string",
    "language": "string",
    "is_table": "bool",
    "is_diagram": "bool",
    "rotation": "int64",
    "answers": "int64",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "flags": "list<string>",
    "model": "string",
    "engine_id": "string",
    "group": "string",
    "finished_at": "string",
}


def rows_of(workspace: Workspace, by: By) -> Iterator[Row]:
    """The rows of all groups that have ended, in the order of the index; one row is in memory at a time."""
    standings = standings_of(workspace).by_document()
    superseded = {place for place, standing in standings.items() if standing is Standing.SUPERSEDED}
    for key in workspace.group_keys():
        status = {
            row.document_id: row for row in workspace.read_status(key) or () if (key, row.document_id) not in superseded
        }
        if status:
            yield from (_documents if by is By.DOCUMENT else _pages)(workspace, key, status)


def _documents(workspace: Workspace, key: str, status: Mapping[str, StatusRow]) -> Iterator[Row]:
    with contextlib.suppress(FileNotFoundError):
        for record in map(json.loads, workspace.read_result_lines(key)):
            row = status.get(record["id"])
            if row is not None:
                yield _document(record, row)


def _document(record: Mapping[str, Any], row: StatusRow) -> Row:
    metadata, spans = record["metadata"], record["attributes"]["pdf_page_numbers"]
    return {
        "id": record["id"],
        "text": record["text"],
        "url": row.url,
        "content_id": row.content_id,
        "status": row.status.value,
        "pages": row.pages,
        "page_numbers": [page for _start, _end, page in spans],
        "page_starts": [start for start, _end, _page in spans],
        "failed_pages": row.failed_pages,
        "fallback_pages": row.fallback_pages,
        "language": max(row.languages, key=lambda name: row.languages[name], default=None),
        "prompt_tokens": row.prompt_tokens,
        "completion_tokens": row.completion_tokens,
        "model": metadata.get("model"),
        "engine_id": row.engine_id,
        "group": row.group,
        "created": record["created"],
    }


def _pages(workspace: Workspace, key: str, status: Mapping[str, StatusRow]) -> Iterator[Row]:
    with contextlib.suppress(FileNotFoundError):
        for record, _line in workspace.read_page_lines(key):
            row = status.get(record.document_id)
            if row is not None and isinstance(record, PageRecord):
                yield _page(record, row.url, key)


def _page(page: PageRecord, url: str, key: str) -> Row:
    return {
        "id": page.document_id,
        "page": page.page,
        "text": page.text,
        "url": url,
        "content_id": page.content_id,
        "status": page.status.value,
        "reason": page.reason,
        "method": page.method.value,
        "language": page.language,
        "is_table": page.is_table,
        "is_diagram": page.is_diagram,
        "rotation": page.rotation_applied,
        "answers": len(page.attempts),
        "prompt_tokens": page.prompt_tokens,
        "completion_tokens": page.completion_tokens,
        "flags": page.flags,
        "model": page.model,
        "engine_id": page.engine_id,
        "group": key,
        "finished_at": page.finished_at,
    }


def write_jsonl(rows: Iterable[Row], target: Path) -> int:
    """Write one JSON object a line; the file is there when it is complete. Returns the number of rows."""
    number = 0
    with _whole(target) as path, path.open("w", encoding="utf-8", newline="\n") as file:
        for number, row in enumerate(rows, start=1):  # noqa: B007 - the last number is the count
            file.write(json.dumps({name: _storable(value) for name, value in row.items()}, ensure_ascii=False) + "\n")
    return number


def write_parquet(rows: Iterable[Row], target: Path, by: By, *, file_characters: int = _FILE_CHARACTERS) -> int:
    """Write a file, or several into a folder when the name does not end in `.parquet`. Returns the number of rows.

    Raises:
        ConfigurationError: the folder holds Parquet files already, which would be read together with ours.
    """
    one_file = target.suffix == ".parquet"
    if not one_file:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.glob("*.parquet")):
            raise ConfigurationError(
                f"{target} has Parquet files already.", remedy="Name a new folder, or remove them."
            )
    number = 0
    counted = _Counted(rows)
    for index, file_rows in enumerate(_parts(counted, None if one_file else file_characters)):
        _write_file(file_rows, target if one_file else target / f"part-{index:05}.parquet", by)
        number = counted.number
    return number


class _Counted:
    """Counts rows as they pass by."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows, self.number = rows, 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.number += 1
            yield row


def _parts(rows: Iterable[Row], characters: int | None) -> Iterator[Iterator[Row]]:
    """The rows of one file after the other; each must be taken whole. Without rows there is one empty file."""
    source = iter(rows)
    row = next(source, None)
    if row is None:
        yield iter(())

    def part() -> Iterator[Row]:
        nonlocal row
        written = 0
        while row is not None and (characters is None or written < characters):
            written += len(row["text"])
            yield row
            row = next(source, None)

    while row is not None:
        yield part()


def _write_file(rows: Iterator[Row], target: Path, by: By) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(_DOCUMENT_TYPES if by is By.DOCUMENT else _PAGE_TYPES)
    with _whole(target) as path, pq.ParquetWriter(path, schema, compression="zstd") as file:
        waiting: list[Row] = []
        characters = 0
        for row in rows:
            waiting.append({name: _storable(value) for name, value in row.items()})
            characters += len(row["text"])
            if len(waiting) >= _GROUP_ROWS or characters >= _GROUP_CHARACTERS:
                file.write_table(pa.Table.from_pylist(waiting, schema=schema))
                waiting, characters = [], 0
        if waiting:
            file.write_table(pa.Table.from_pylist(waiting, schema=schema))


def _schema(types: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    known = {
        "string": pa.string(),
        "int64": pa.int64(),
        "bool": pa.bool_(),
        "list<int64>": pa.list_(pa.int64()),
        "list<string>": pa.list_(pa.string()),
    }
    return pa.schema([(name, known[kind]) for name, kind in types.items()])


def _storable(value: Any) -> Any:
    # Half of a surrogate pair cannot be stored.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


@contextlib.contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A name to write to, which becomes the target at the end: who finds the target finds all of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
