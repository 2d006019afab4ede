"""The pages of a document as the viewer shows them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from pdfocr_core.records import DocumentRecord, PageRecord
from pdfocr_core.store import StoredObject
from pdfocr_core.workspace import Workspace

__all__ = ["GroupCache", "GroupPages", "document_view", "page_view", "read_group"]

_CACHED_PAGES = 5000


class GroupPages:
    """The records of one group, by document."""

    def __init__(self, documents: Mapping[str, DocumentRecord], pages: Mapping[str, list[PageRecord]]) -> None:
        self.documents = documents
        self._pages = pages

    def __len__(self) -> int:
        return sum(map(len, self._pages.values()))

    def of(self, document_id: str) -> list[PageRecord]:
        """A document's pages in order."""
        return self._pages.get(document_id, [])

    def page(self, document_id: str, number: int) -> PageRecord | None:
        """One page; None when it has no record."""
        return next((page for page in self.of(document_id) if page.page == number), None)


def read_group(workspace: Workspace, key: str) -> GroupPages:
    """A group's records; of a group in work as many as are checkpointed."""
    records = workspace.read_pages(key)
    documents: dict[str, DocumentRecord] = {}
    pages: dict[str, dict[int, PageRecord]] = {}
    for record in records if records is not None else workspace.read_parts(key):
        if isinstance(record, DocumentRecord):
            documents[record.document_id] = record
        else:
            pages.setdefault(record.document_id, {})[record.page] = record
    ordered = {document: [of[number] for number in sorted(of)] for document, of in pages.items()}
    return GroupPages(documents, ordered)


class GroupCache:
    """The finished groups that were looked at last; one that was written again is read again."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._groups: OrderedDict[str, tuple[StoredObject, GroupPages]] = OrderedDict()
        self._lock = threading.Lock()

    def group(self, key: str) -> GroupPages:
        """The records of one group."""
        try:
            stored = self._workspace.store.head(f"pages/{key}.jsonl.zst")
        except FileNotFoundError:
            return read_group(self._workspace, key)
        with self._lock:
            known = self._groups.get(key)
            if known is not None and known[0] == stored:
                self._groups.move_to_end(key)
                return known[1]
        pages = read_group(self._workspace, key)
        with self._lock:
            self._groups[key] = (stored, pages)
            while len(self._groups) > 1 and sum(len(of) for _stored, of in self._groups.values()) > _CACHED_PAGES:
                self._groups.popitem(last=False)
        return pages


def document_view(row: Mapping[str, Any], group: GroupPages) -> dict[str, Any]:
    """One document: its status row, its record if it has one yet, its pages in short."""
    record = group.documents.get(row["document_id"])
    return {
        "status": row,
        "record": record.model_dump(mode="json") if record else None,
        "pages": [_summary(page) for page in group.of(row["document_id"])],
    }


def _summary(page: PageRecord) -> dict[str, Any]:
    return {"page": page.page, "status": page.status.value, "reason": page.reason}


def page_view(
    page: PageRecord,
    image: str | None,
    problem: str = "",
    other: Mapping[str, Any] | None = None,
    figures: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """One page: its record, where its picture is or why there is none, what it is compared with, its figures."""
    record = page.model_dump(mode="json")
    return {"record": record, "image": image, "image_problem": problem, "other": other, "figures": list(figures)}
