"""From a document of the index to an open one: its bytes fetched within the disk's budget, and opened by a worker."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from pdfocr_core.documents import Document
from pdfocr_core.errors import DocumentError, PdfocrError, Reason
from pdfocr_core.flow.clock import DocumentClock
from pdfocr_core.flow.disk import DiskBudget
from pdfocr_core.flow.documents import OpenDocument
from pdfocr_core.flow.filters import Filters
from pdfocr_core.flow.group import GroupWork
from pdfocr_core.rendering.model import OpenedDocument
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import ReadSettings
from pdfocr_core.sources.fetch import FetchedDocument, Fetcher
from pdfocr_core.telemetry import Telemetry

__all__ = ["Opener"]

logger = logging.getLogger(__name__)


class Opener:
    """Opens documents, and removes the copies of those that came from afar.

    Args:
        pool: the workers in which bytes are parsed.
        fetcher: brings the bytes.
        settings: passwords, the document's clock and the budget of the disk.
        directory: where copies are kept.
        telemetry: learns how long it takes.
        filters: say which documents are left out.
    """

    def __init__(
        self,
        pool: RenderPool,
        fetcher: Fetcher,
        settings: ReadSettings,
        directory: Path,
        telemetry: Telemetry,
        filters: Filters,
    ) -> None:
        self._pool, self._fetcher, self._settings, self._directory = pool, fetcher, settings, directory
        self._telemetry, self._filters = telemetry, filters
        self._disk = DiskBudget(settings.temporary_bytes)

    async def open(self, work: GroupWork, document: Document) -> OpenDocument:
        """Fetch and open one document.

        Raises:
            DocumentError: it cannot be read or is left out by a filter, and why; nothing is left of it.
            PdfocrError: nothing can be read as things are.
        """
        self._filters.before_opening(document)
        fetched: FetchedDocument | None = None
        disk_bytes = await self._disk.take(document)
        try:
            with self._telemetry.timed("fetch"):
                fetched = await asyncio.to_thread(self._fetcher.fetch, document, self._directory)
            with self._telemetry.timed("open"):
                found = await self._pool.open(fetched.path, document.url, self._settings.passwords)
            opened = self._opened(work, document, fetched, found, disk_bytes)
            with self._telemetry.timed("open"):
                await self._filters.after_opening(opened)
            return opened
        except BaseException as error:
            if fetched is not None and fetched.temporary:
                fetched.path.unlink(missing_ok=True)
            self._disk.give_back(disk_bytes)
            if isinstance(error, PdfocrError) or not isinstance(error, Exception):
                raise
            logger.exception("opening %r", document.url, extra={"document_id": document.document_id})
            raise DocumentError(Reason.INTERNAL_ERROR, repr(error)) from error

    def remove_copy(self, opened: OpenDocument) -> None:
        """Free the disk once nothing will be drawn from the document any more."""
        opened.remove_temporary()
        self._disk.give_back(opened.disk_bytes)
        opened.disk_bytes = 0

    def _opened(
        self, work: GroupWork, document: Document, fetched: FetchedDocument, found: OpenedDocument, disk_bytes: int
    ) -> OpenDocument:
        return OpenDocument(
            work=work,
            document=document,
            path=fetched.path,
            temporary=fetched.temporary,
            disk_bytes=disk_bytes,
            content_id=found.content_id,
            kind=found.kind,
            source_pages=found.pages,
            selection=work.selection_of(document, self._settings),
            flags=list(found.flags),
            clock=DocumentClock(self._settings.document_deadline_s),
            password=None if found.password_index is None else self._settings.passwords[found.password_index],
        )
