"""The budget of temporary disk: how many bytes of documents from archives and stores are here at the same time."""

from __future__ import annotations

from pdfocr_core.documents import Document
from pdfocr_core.flow.window import Window
from pdfocr_core.store import is_url

__all__ = ["DiskBudget"]

_ANY_NUMBER = 1 << 62


class DiskBudget:
    """Admits documents in order while their bytes together fit; one that is larger than all of it goes alone.

    Belongs to one event loop.

    Args:
        max_bytes: what `temporary_bytes` allows.
    """

    def __init__(self, max_bytes: int) -> None:
        self._window = Window(_ANY_NUMBER, max_bytes)

    @property
    def bytes(self) -> int:
        """Bytes that are taken."""
        return self._window.bytes

    async def take(self, document: Document) -> int:
        """Wait for room; returns what is to be given back when the copy is removed. Local files need none."""
        if document.member is None and not is_url(document.url):
            return 0
        size = max(1, document.bytes)
        await self._window.acquire(size)
        return size

    def give_back(self, size: int) -> None:
        """The copy is gone."""
        if size:
            self._window.release(size)
