"""The clock of a whole document: the third, beside those of a single call and of no progress.

Calls have their clocks in `rendering` and `serving`; that nothing at all gets done is noticed by the client. This one
rings when a document goes on and on although every step of it is in time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pdfocr_core.errors import PageError, Reason

__all__ = ["DocumentClock"]


class DocumentClock:
    """Runs while anything is done for the document, and stands while all its pages wait for their turn.

    So documents that wait behind a long one do not pay for it. Belongs to one event loop.

    Args:
        allowed_s: what `document_deadline_s` allows.
    """

    def __init__(self, allowed_s: float) -> None:
        self._allowed_s = allowed_s
        self._spent_s = 0.0
        self._since = 0.0
        self._running = 0

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Ends what is done in this block when the clock rings.

        Raises:
            PageError: it rang, now or before.
        """
        left = self._allowed_s - self._used()
        if left <= 0:
            raise self._rung()
        timeout = asyncio.timeout(left)
        if not self._running:
            self._since = time.monotonic()
        self._running += 1
        try:
            async with timeout:
                yield
        except TimeoutError:
            if not timeout.expired():
                raise
            raise self._rung() from None
        finally:
            self._running -= 1
            if not self._running:
                self._spent_s += time.monotonic() - self._since

    def _used(self) -> float:
        return self._spent_s + (time.monotonic() - self._since if self._running else 0.0)

    def _rung(self) -> PageError:
        allows = f"document_deadline_s allows the document {self._allowed_s:g} s"
        return PageError(Reason.DOCUMENT_DEADLINE, f"{allows}; {self._used():.1f} s were used.")
