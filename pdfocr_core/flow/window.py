"""The window: how many pages, and how many bytes of pictures, may be in flight at once."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Window"]


class Window:
    """Admits pages in order while both limits hold; a page larger than the byte limit goes alone.

    Belongs to one event loop.
    """

    def __init__(self, pages: int, max_bytes: int) -> None:
        self.limit = pages
        self.max_bytes = max_bytes
        self.pages = 0
        self.bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire(self, size: int) -> None:
        """Wait for a place for a page with `size` bytes of picture."""
        if not self._waiting and self._fits(size):
            self._take(size)
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release(size)
            raise

    def release(self, size: int) -> None:
        """Give a place back."""
        self.pages -= 1
        self.bytes -= size
        self._admit()

    def resize(self, pages: int) -> None:
        """Change the limit; pages in flight above a smaller limit are let finish."""
        self.limit = max(1, pages)
        self._admit()

    @property
    def held_by_bytes(self) -> bool:
        """Whether a page waits for nothing but the bytes of those in flight."""
        return bool(self._waiting) and self.pages < self.limit

    def _fits(self, size: int) -> bool:
        return self.pages < self.limit and (self.bytes + size <= self.max_bytes or self.pages == 0)

    def _take(self, size: int) -> None:
        self.pages += 1
        self.bytes += size

    def _admit(self) -> None:
        while self._waiting:
            size, place = self._waiting[0]
            if place.done():
                self._waiting.popleft()
                continue
            if not self._fits(size):
                return
            self._waiting.popleft()
            self._take(size)
            place.set_result(None)
