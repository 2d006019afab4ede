"""A small index over the documents of a workspace, so that lists of any length are paged, searched and filtered at once.

It is made from the work index and the status rows in a temporary SQLite file, and kept up to date from listings: only
status files that are new or have changed are read again. The workspace itself is never written to.
"""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pdfocr_core.documents import shown_url
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["PENDING", "Catalogue", "Query"]

PENDING = "pending"
"""The status of a document whose group has not ended yet."""

ORDERS = {
    "index": "position",
    "worst": "status = 'failed' DESC, doubt DESC, position",
    "longest": "pages DESC, position",
    "name": "url, position",
}
_IDENTITY = re.compile(r"[0-9a-f]{64}")
LOW_CONFIDENCE = 0.9  # mean score of a page's lines, below which letters are likely to be wrong
_AT_ONCE = 16  # status files fetched from an object store at the same time
_SCHEMA = """
CREATE TABLE documents (
    position INTEGER PRIMARY KEY, id TEXT UNIQUE, content TEXT, url TEXT, folded TEXT, status TEXT, reason TEXT, pages INTEGER,
    doubt REAL, row TEXT);
CREATE INDEX by_status ON documents (status, position);
CREATE INDEX by_content ON documents (content);
CREATE TABLE tags (kind TEXT, value TEXT, position INTEGER, PRIMARY KEY (kind, value, position)) WITHOUT ROWID;
CREATE INDEX tags_by_position ON tags (position);
"""


@dataclass(frozen=True, slots=True)
class Query:
    """What to list.

    Attributes:
        text: words that the name must hold, in any case; or the start of a document id.
        status, reason, language, method: exactly this; empty for any.
        doubtful: only documents with a page of low confidence (see `_doubt`).
        order: one of `ORDERS`.
    """

    text: str = ""
    status: str = ""
    reason: str = ""
    language: str = ""
    method: str = ""
    doubtful: bool = False
    order: str = "index"
    offset: int = 0
    limit: int = 100


class Catalogue:
    """The documents of one workspace, in a new SQLite file. Use as a context manager; any thread may call it."""

    def __init__(self, workspace: Workspace, file: Path) -> None:
        self._workspace = workspace
        self._database = sqlite3.connect(file, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.executescript(_SCHEMA)
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._history: list[str] = []
        self._seen: dict[str, tuple[str | None, int, str]] = {}
        self._totals: dict[str, Any] | None = None
        self.complete = False
        """Whether everything has been looked at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._refreshing, self._lock:
            self._database.close()

    def refresh(self) -> None:
        """Take in what has changed in the workspace since the last time."""
        with self._refreshing:
            self._read_index()
            self._read_changed_status()
            self.complete = True

    def _read_index(self) -> None:
        history = self._workspace.history()
        new = history[len(self._history) :]
        if history[: len(self._history)] != self._history or any(not name.startswith("index/") for name in new):
            # Something was pruned or has come back: what was known may not hold any more.
            self._forget()
            rows = self._workspace.read_index()
        else:
            rows = itertools.chain.from_iterable(map(self._workspace.read_batch, new))
        for some in _batched(rows, 2000):
            self._add_pending(some)
        self._history = history

    def _forget(self) -> None:
        with self._lock, self._database:
            self._database.execute("DELETE FROM tags")
            self._database.execute("DELETE FROM documents")
            self._totals = None
        self._seen.clear()

    def _add_pending(self, rows: Iterable[IndexRow]) -> None:
        values = []
        for row in rows:
            if _IDENTITY.fullmatch(row.document_id):
                url = shown_url(row.url)
                data = {"document_id": row.document_id, "url": url, "group": row.group, "pages": row.pages}
                shown = json.dumps({**data, "status": PENDING})
                values.append((row.document_id, url, url.casefold(), PENDING, None, row.pages, 0.0, shown))
        with self._lock, self._database:
            self._insert(values)

    def _insert(self, values: list[tuple[Any, ...]]) -> None:
        self._database.executemany(
            "INSERT OR IGNORE INTO documents (id, url, folded, status, reason, pages, doubt, row) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
        self._totals = None

    def _read_changed_status(self) -> None:
        changed = []
        for stored in self._workspace.store.list("status"):
            state = (stored.e_tag, stored.size, stored.last_modified.isoformat())
            if stored.name.endswith(".jsonl") and self._seen.get(stored.name) != state:
                changed.append((stored.name, state))
        pruned = self._workspace.pruned()
        at_once = 1 if self._workspace.store.local_root is not None else _AT_ONCE
        with ThreadPoolExecutor(at_once, "pdfocr-view") as pool:
            # Few at a time, so that what was fetched and not yet taken in stays little.
            for some in _batched(iter(sorted(changed)), 4 * at_once):
                for (name, state), rows in zip(some, pool.map(lambda one: self._read(one[0]), some), strict=True):
                    self._add_status(row for row in rows if (row.get("group"), row.get("document_id")) not in pruned)
                    self._seen[name] = state

    def _read(self, name: str) -> list[dict[str, Any]]:
        try:
            data = self._workspace.store.read(name)
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in data.splitlines() if line]

    def _add_status(self, rows: Iterable[dict[str, Any]]) -> None:
        with self._lock, self._database:
            for row in rows:
                if not _IDENTITY.fullmatch(row["document_id"]):
                    continue
                fields = (row["status"], row.get("reason"), row["pages"], _doubt(row), json.dumps(row))
                self._insert([(row["document_id"], row["url"], row["url"].casefold(), *fields)])
                self._database.execute(
                    "UPDATE documents SET status = ?, reason = ?, pages = ?, doubt = ?, row = ?, content = ? WHERE id = ?",
                    (*fields, row.get("content_id"), row["document_id"]),
                )
                position = self._database.execute(
                    "SELECT position FROM documents WHERE id = ?", (row["document_id"],)
                ).fetchone()[0]
                self._database.execute("DELETE FROM tags WHERE position = ?", (position,))
                self._database.executemany(
                    "INSERT OR IGNORE INTO tags VALUES (?, ?, ?)",
                    [(kind, value, position) for kind, value in _tags(row)],
                )

    # Asking.

    def find(self, query: Query) -> tuple[int, list[dict[str, Any]]]:
        """How many documents fit, and the rows of those from `offset`."""
        where, values = _conditions(query)
        order = ORDERS.get(query.order, ORDERS["index"])
        with self._lock:
            total = self._database.execute(f"SELECT count(*) FROM documents{where}", values).fetchone()[0]  # noqa: S608
            found = self._database.execute(
                f"SELECT row, doubt FROM documents{where} ORDER BY {order} LIMIT ? OFFSET ?",  # noqa: S608
                (*values, query.limit, query.offset),
            ).fetchall()
        return total, [{**json.loads(row), "doubt": doubt} for row, doubt in found]

    def row(self, document_id: str) -> dict[str, Any] | None:
        """One document's status row, or as much as is known of a pending one; None for an unknown id."""
        with self._lock:
            found = self._database.execute("SELECT row, doubt FROM documents WHERE id = ?", (document_id,)).fetchone()
        return {**json.loads(found[0]), "doubt": found[1]} if found else None

    def same(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """The row here of a document of another workspace: the same source, or else the same bytes."""
        found = self.row(row["document_id"])
        if found is None and row.get("content_id"):
            with self._lock:
                ids = self._database.execute(
                    "SELECT id FROM documents WHERE content = ? ORDER BY position LIMIT 1", (row["content_id"],)
                ).fetchone()
            found = self.row(ids[0]) if ids else None
        return found

    def totals(self) -> dict[str, Any]:
        """Documents by status, and all values to filter by with their numbers of documents."""
        with self._lock:
            if self._totals is None:
                self._totals = self._count()
            return dict(self._totals)

    def _count(self) -> dict[str, Any]:
        rows = self._database.execute(
            "SELECT status, count(*), sum(pages), sum(doubt > 0) FROM documents GROUP BY status"
        ).fetchall()
        tags = self._database.execute(
            "SELECT kind, value, count(*) AS n FROM tags GROUP BY kind, value ORDER BY kind, n DESC, value"
        ).fetchall()
        return {
            "documents": sum(number for _status, number, _pages, _doubtful in rows),
            "pages": sum(pages for _status, _number, pages, _doubtful in rows),
            "doubtful": sum(doubtful for _status, _number, _pages, doubtful in rows),
            "statuses": {status: number for status, number, _pages, _doubtful in rows},
            **{
                plural: {value: number for of_kind, value, number in tags if of_kind == kind}
                for plural, kind in (("reasons", "reason"), ("languages", "language"), ("methods", "method"))
            },
        }


def _conditions(query: Query) -> tuple[str, list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    for word in query.text.casefold().split():
        conditions.append("(instr(folded, ?) OR id LIKE ? || '%')")
        values += [word, word if re.fullmatch(r"[0-9a-f]{6,64}", word) else "-"]
    if query.status:
        conditions.append("status = ?")
        values.append(query.status)
    for kind, value in (("reason", query.reason), ("language", query.language), ("method", query.method)):
        if value:
            conditions.append("position IN (SELECT position FROM tags WHERE kind = ? AND value = ?)")
            values += [kind, value]
    if query.doubtful:
        conditions.append("doubt > 0")
    return (" WHERE " + " AND ".join(conditions) if conditions else ""), values


def _tags(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    reasons = {row.get("reason"), *row.get("page_reasons", ())} - {None}
    yield from (("reason", reason) for reason in sorted(reasons))
    yield from (("language", language) for language in row.get("languages", ()))
    yield from (("method", method) for method in row.get("methods", ()))


def _doubt(row: Mapping[str, Any]) -> float:
    """How little the text should be trusted, 0 when there is nothing to doubt.

    Pages that failed count 1 each, pages that have the PDF's own text for want of a good answer 1/2, pages that are ok and
    empty 1/2, and pages that took more than one answer 1/4. Where the engine gives scores, a document with any page of a
    low one is doubted by as much as its mean is short of certainty.
    """
    retried = sum(number for attempts, number in row.get("attempts", {}).items() if int(attempts) > 1)
    weight = row["pages_failed"] + (row["pages_fallback"] + row.get("empty_pages", 0)) / 2 + retried / 4
    least, mean = row.get("least_confidence"), row.get("confidence")
    unsure = 1 - mean if least is not None and mean is not None and least < LOW_CONFIDENCE else 0.0
    return float(weight / max(1, row["pages"]) + unsure)


def _batched(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while some := list(itertools.islice(rows, size)):
        yield some
