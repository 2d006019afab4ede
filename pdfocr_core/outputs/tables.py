"""The status rows of a collection as CSV and Parquet, written one by one into local files of any size."""

from __future__ import annotations

import csv
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pdfocr_core.records import StatusRow

__all__ = ["DocumentTables", "spreadsheet_cell"]

_BATCH = 5000
# Some spreadsheets take the wide forms for the narrow ones.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_TEXT = ("url", "status", "reason", "remedy", "detail")
_NUMBERS = ("pages", "pages_ok", "pages_fallback", "pages_blank", "pages_failed", "empty_pages")
_LISTS = ("failed_pages", "fallback_pages")
_TOKENS = ("prompt_tokens", "completion_tokens", "characters")
_COUNTS = ("page_reasons", "languages", "methods", "attempts", "retries")
_IDS = ("document_id", "content_id", "group", "engine_id")
_COLUMNS = (*_TEXT, *_NUMBERS, *_LISTS, "flags", *_TOKENS, "seconds", *_COUNTS, *_IDS, "standing")


class DocumentTables:
    """A context manager; the files are complete when it is left.

    In the CSV lists are separated by spaces and counts are `name=number`; no cell is taken for a formula. In Parquet
    lists are lists and counts are maps.
    """

    def __init__(self, folder: Path) -> None:
        self.csv_file, self.parquet_file = folder / "documents.csv", folder / "documents.parquet"
        self._stack = ExitStack()
        self._waiting: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        import pyarrow as pa
        import pyarrow.parquet as pq

        text = self._stack.enter_context(
            self.csv_file.open("w", encoding="utf-8", errors="backslashreplace", newline="")
        )
        self._csv = csv.writer(text)
        self._csv.writerow(_COLUMNS)
        counts = pa.map_(pa.string(), pa.int64())
        types = {
            **dict.fromkeys((*_TEXT, *_IDS, "standing"), pa.string()),
            **dict.fromkeys((*_NUMBERS, *_TOKENS), pa.int64()),
            **dict.fromkeys(_LISTS, pa.list_(pa.int64())),
            **dict.fromkeys(_COUNTS, counts),
            "flags": pa.list_(pa.string()),
            "seconds": pa.float64(),
        }
        self._schema = pa.schema([(name, types[name]) for name in _COLUMNS])
        self._parquet = self._stack.enter_context(pq.ParquetWriter(self.parquet_file, self._schema, compression="zstd"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._write_waiting()
        self._stack.close()

    def add(self, row: StatusRow, standing: str) -> None:
        """Append one document."""
        data = {**row.model_dump(mode="json", include=set(_COLUMNS)), "standing": standing}
        self._csv.writerow([spreadsheet_cell(data[name]) for name in _COLUMNS])
        self._waiting.append({name: _for_arrow(value) for name, value in data.items()})
        if len(self._waiting) >= _BATCH:
            self._write_waiting()

    def _write_waiting(self) -> None:
        import pyarrow as pa

        if self._waiting:
            self._parquet.write_table(pa.Table.from_pylist(self._waiting, schema=self._schema))
            self._waiting = []


def spreadsheet_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(value, dict):
        value = " ".join(f"{name}={number}" for name, number in value.items())
    elif isinstance(value, list):
        value = " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value


def _for_arrow(value: Any) -> Any:
    if isinstance(value, dict):
        return list(value.items())
    # Half of a surrogate pair cannot be stored.
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
