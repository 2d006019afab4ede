"""The books of a collection: its status rows summed up, and checked against the index."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.workspace import Workspace

__all__ = ["Books", "books_of", "write_report"]


@dataclass(slots=True)
class Books:
    """Totals over a collection.

    Attributes:
        documents: documents of the index.
        pending: documents whose group has not ended yet.
        missing: documents of ended groups without a status row; the books balance when there are none.
        extra: status rows without a document in their group's part of the index; none when the books balance.
        unbalanced: documents whose pages ok + fallback + blank + failed are not their pages.
        by_reason: documents that are not ok, by reason.
        page_reasons: failed and fallback pages, by reason.
    """

    groups: int = 0
    groups_done: int = 0
    documents: int = 0
    pending: int = 0
    missing: int = 0
    extra: int = 0
    unbalanced: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    by_reason: dict[str, int] = field(default_factory=dict)
    pages: int = 0
    pages_ok: int = 0
    pages_fallback: int = 0
    pages_blank: int = 0
    pages_failed: int = 0
    page_reasons: dict[str, int] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    characters: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every document of every ended group is accounted for, once, and so is every page."""
        return not (self.missing or self.extra or self.unbalanced)

    @property
    def not_ok(self) -> int:
        """Documents that ended otherwise than `ok`."""
        return sum(number for status, number in self.by_status.items() if status != DocumentStatus.OK)

    def to_json(self) -> dict[str, Any]:
        """All totals, with the verdict."""
        return {**asdict(self), "balanced": self.balanced}


def books_of(workspace: Workspace) -> tuple[Books, list[StatusRow]]:
    """Sum up a workspace, finished or not, together with its status rows in index order."""
    expected: dict[str, set[str]] = {}
    for row in workspace.read_index():
        expected.setdefault(row.group, set()).add(row.document_id)
    books = Books(groups=len(expected))
    rows: list[StatusRow] = []
    for key, document_ids in expected.items():
        books.documents += len(document_ids)
        of_group = workspace.read_status(key)
        if of_group is None:
            books.pending += len(document_ids)
            continue
        books.groups_done += 1
        seen = Counter(row.document_id for row in of_group)
        books.missing += len(document_ids - seen.keys())
        books.extra += sum(seen.values()) - len(document_ids & seen.keys())
        rows += of_group
    _add(books, rows)
    return books, rows


def _add(books: Books, rows: Iterable[StatusRow]) -> None:
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    page_reasons: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    for row in rows:
        statuses[row.status.value] += 1
        if row.reason:
            reasons[row.reason] += 1
        page_reasons.update(row.page_reasons)
        languages.update(row.languages)
        books.pages += row.pages
        books.pages_ok += row.pages_ok
        books.pages_fallback += row.pages_fallback
        books.pages_blank += row.pages_blank
        books.pages_failed += row.pages_failed
        books.prompt_tokens += row.prompt_tokens
        books.completion_tokens += row.completion_tokens
        books.characters += row.characters
        books.unbalanced += row.pages != row.pages_ok + row.pages_fallback + row.pages_blank + row.pages_failed
    books.by_status = dict(sorted(statuses.items()))
    books.by_reason = dict(sorted(reasons.items()))
    books.page_reasons = dict(sorted(page_reasons.items()))
    books.languages = dict(sorted(languages.items()))


def write_report(workspace: Workspace) -> Books:
    """Write `report/summary.json` and `report/documents.csv`, and return the totals."""
    books, rows = books_of(workspace)
    workspace.write_report("summary.json", (json.dumps(books.to_json(), indent=1) + "\n").encode())
    workspace.write_report("documents.csv", _csv(rows))
    return books


_COLUMNS = (
    *("url", "status", "reason", "remedy", "detail"),
    *("pages", "pages_ok", "pages_fallback", "pages_blank", "pages_failed", "failed_pages", "fallback_pages", "flags"),
    *("prompt_tokens", "completion_tokens", "characters", "document_id", "content_id", "group", "engine_id"),
)


def _csv(rows: Iterable[StatusRow]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for row in rows:
        data = row.model_dump(mode="json")
        writer.writerow([_cell(data[column]) for column in _COLUMNS])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value
