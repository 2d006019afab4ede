"""A workspace of olmOCR, as its version 0.4 leaves it: read only.

work_index_list.csv.zstd      one line per work item: its hash, then its paths
done_flags/done_<hash>.flag   the item was finished, whatever became of its documents
worker_locks/worker_<hash>.lock
results/output_<hash>.jsonl   Dolma documents of the item; documents that were discarded have none
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import zstandard

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.store import Store

__all__ = ["OlmocrItem", "OlmocrResult", "OlmocrWorkspace", "ResultHead"]

_INDEX = "work_index_list.csv.zstd"
_LOCK_SECONDS = 1800  # after this olmOCR itself takes a lock for a dead worker's


@dataclass(frozen=True, slots=True)
class OlmocrResult:
    """One document as olmOCR read it.

    Attributes:
        source: the path as it was given to olmOCR; members of archives as `archive::member`.
        pages: text of each page, in order; None for a blank one.
        read_before: the source was read before this moment.
    """

    source: str
    record: dict[str, Any]
    pages: list[str | None]
    read_before: datetime


class ResultHead(NamedTuple):
    """A result without its text, of which there may be more than memory holds."""

    source: str
    id: str
    pages: int
    read_before: datetime


@dataclass(slots=True)
class OlmocrItem:
    """One work item; `results` are those that can be used, `damaged` how many lines cannot."""

    key: str
    paths: list[str]
    done: bool = False
    results: list[ResultHead] = field(default_factory=list)
    damaged: int = 0


class OlmocrWorkspace:
    """Reads the files named at the head of this module."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def url(self) -> str:
        """The root, as a path or URL."""
        return self._store.url

    def items(self) -> Iterator[OlmocrItem]:
        """Every work item with its results, those included that only a results file tells of.

        Raises:
            ConfigurationError: this is no workspace of olmOCR.
        """
        done = {_middle(stored.name, "done_", ".flag") for stored in self._store.list("done_flags")}
        files = {
            _middle(stored.name, "output_", ".jsonl"): stored
            for stored in self._store.list("results")
            if stored.name.endswith(".jsonl")
        }
        paths = self._index()
        if paths is None and not files:
            raise ConfigurationError(
                f"{self.url} is no workspace of olmOCR: it has no {_INDEX} and no results.",
                code="not_an_olmocr_workspace",
                remedy="Name the folder or prefix that was olmOCR's first argument.",
            )
        for key in dict.fromkeys([*(paths or {}), *files]):
            item = OlmocrItem(key, (paths or {}).get(key, []), key in done)
            if key in files:
                for result in self._parse(key, files[key].last_modified):
                    if result is None:
                        item.damaged += 1
                    else:
                        name = str(result.record.get("id", ""))
                        item.results.append(ResultHead(result.source, name, len(result.pages), result.read_before))
            yield item

    def results(self, key: str) -> dict[str, OlmocrResult]:
        """The results of one item that can be used, by source."""
        written = datetime.now(UTC)  # when they were read is in the head, and was judged before
        return {result.source: result for result in self._parse(key, written) if result is not None}

    def locked(self) -> list[str]:
        """Items that a worker of olmOCR has in hand now."""
        done = {_middle(stored.name, "done_", ".flag") for stored in self._store.list("done_flags")}
        now = time.time()
        return sorted(
            key
            for stored in self._store.list("worker_locks")
            if (key := _middle(stored.name, "worker_", ".lock")) not in done
            and now - stored.last_modified.timestamp() <= _LOCK_SECONDS
        )

    def _index(self) -> dict[str, list[str]] | None:
        try:
            packed = self._store.read(_INDEX)
        except FileNotFoundError:
            return None
        try:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True) as stream:
                text = stream.read().decode("utf-8", "surrogateescape")
        except zstandard.ZstdError as error:
            raise ConfigurationError(
                f"{self.url}/{_INDEX} is damaged: {error}.",
                remedy="Restore it, or remove it to adopt the results alone.",
            ) from error
        return {row[0]: [path for path in row[1:] if path] for row in csv.reader(io.StringIO(text, newline="")) if row}

    def _parse(self, key: str, written: datetime) -> Iterator[OlmocrResult | None]:
        """Each line of a results file, of each source the first; None for what cannot be used."""
        seen: set[str] = set()
        for line in self._store.read(f"results/output_{key}.jsonl").split(b"\n"):
            if not line.strip():
                continue
            try:
                result = _result(json.loads(line), written)
            except (ValueError, TypeError, KeyError, IndexError):
                yield None
                continue
            if result.source not in seen:
                seen.add(result.source)
                yield result


def _result(record: dict[str, Any], written: datetime) -> OlmocrResult:
    """Check one line and take its text apart; anything that does not add up is an error."""
    text, metadata = record["text"], record["metadata"]
    spans = record["attributes"]["pdf_page_numbers"]
    if [span[2] for span in spans] != list(range(1, metadata["pdf-total-pages"] + 1)):
        raise ValueError("pages are missing")
    pages: list[str | None] = []
    position = 0
    for start, end, _page in spans:
        if start != position or end < start:
            raise ValueError("spans do not meet")
        position = end
        pages.append(text[start:end] or None)
    if position != len(text) or not pages:
        raise ValueError("spans do not cover the text")
    # A page's span ends with the line break that joins it to the next page; the last page has none.
    joined = [page and page.removesuffix("\n") for page in pages[:-1]] + pages[-1:]
    source = metadata["Source-File"]
    if not isinstance(source, str) or not source:
        raise ValueError("no source")
    day = datetime.combine(date.fromisoformat(record["created"]), datetime.min.time(), UTC)
    # The day is that of olmOCR's own time zone.
    return OlmocrResult(source, record, joined, min(written, day + timedelta(days=2)))


def _middle(name: str, before: str, after: str) -> str:
    return name.rpartition("/")[2].removeprefix(before).removesuffix(after)
