"""From a document of a manifest to an open one: fetched, hashed, opened, its equal twins found."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pdfocr_core.documents import Document, shown_url
from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.flow.clock import DocumentClock
from pdfocr_core.flow.group import GroupWork, Selection
from pdfocr_core.page_ranges import pages_in
from pdfocr_core.records import DocumentRecord, PageRecord
from pdfocr_core.workspace import Workspace

__all__ = ["OpenDocument", "Twins", "closed_record", "pages_of_twin"]


# What stands for the event of every document that has ended.
_ENDED = asyncio.Event()
_ENDED.set()


@dataclass(slots=True)
class OpenDocument:
    """A document whose pages are being read.

    Attributes:
        path: the bytes, to be opened in worker processes only.
        temporary: the file is ours to remove.
        disk_bytes: what it takes of the budget of temporary disk.
        source_pages: pages of the document, read or not.
        selection: what was asked for of the document.
        numbers: these pages, as far as the document has them.
        remaining: pages without a record yet.
        inked: a page is not blank, among those with a record.
        clock: how long its pages may take together.
    """

    work: GroupWork
    document: Document
    path: Path
    temporary: bool
    disk_bytes: int
    content_id: str
    kind: str
    source_pages: int
    selection: Selection
    flags: list[str]
    clock: DocumentClock
    password: str | None = None
    remaining: int = 0
    inked: bool = False
    numbers: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = pages_in(self.selection.page_range, self.source_pages)

    @property
    def pages(self) -> int:
        """How many pages were asked for."""
        return len(self.numbers)

    def record(self, engine_id: str, *, drop_blank: bool = False) -> DocumentRecord:
        """What the pages file says of this document; with `drop_blank`, one of blank pages alone is filtered."""
        return DocumentRecord(
            document_id=self.document.document_id,
            content_id=self.content_id,
            url=shown_url(self.document.url),
            version=self.document.version,
            bytes=self.document.bytes,
            kind=self.kind,
            pages=self.pages,
            source_pages=self.source_pages if self.selection.page_range else None,
            page_range=self.selection.page_range,
            reason=Reason.FILTERED_BLANK.value if drop_blank and not self.inked else None,
            flags=sorted(self.flags),
            selection=self.selection.identity,
            engine_id=engine_id,
        )

    def remove_temporary(self) -> None:
        """Free the disk once nothing will be drawn from the document any more."""
        if self.temporary:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)


def closed_record(document: Document, engine_id: str, error: DocumentError, selection: Selection) -> DocumentRecord:
    """The record of a document that cannot or shall not be read."""
    return DocumentRecord(
        document_id=document.document_id,
        content_id=error.content_id,
        url=shown_url(document.url),
        version=document.version,
        bytes=document.bytes,
        reason=error.code,
        detail=error.detail[:1000],
        selection=selection.identity,
        page_range=selection.page_range,
        engine_id=engine_id,
    )


@dataclass(slots=True)
class _Leader:
    key: str
    document_id: str
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Twins:
    """Equal bytes under two names are read once: the first document leads, the others wait and copy its pages."""

    def __init__(self) -> None:
        self._leaders: dict[str, _Leader] = {}

    def leader_of(self, opened: OpenDocument) -> _Leader | None:
        """The document that reads these bytes already, or None after making this one the leader."""
        leader = self._leaders.get(opened.content_id)
        if leader is None:
            self._leaders[opened.content_id] = _Leader(opened.work.key, opened.document.document_id)
        return leader

    def ended(self, opened: OpenDocument) -> Callable[[], None] | None:
        """What to call when the pages of this leader are durable; None for a document that leads nobody."""
        leader = self._leaders.get(opened.content_id)
        if leader is None or leader.document_id != opened.document.document_id:
            return None
        event = leader.ended

        def tell() -> None:
            event.set()
            # All leaders of a run are remembered; an event each would be most of what that takes.
            leader.ended = _ENDED

        return tell


def pages_of_twin(workspace: Workspace, key: str, wanted: tuple[str, str, str]) -> list[PageRecord]:
    """The durable pages in a group of one document, given by its id, its content and the engine that read it."""
    return [
        record
        for record in workspace.read_durable(key)
        if (record.document_id, record.content_id, record.engine_id) == wanted
    ]
