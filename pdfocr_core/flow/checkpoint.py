"""Checkpoint parts: the finished pages of a group in work, on disk every few seconds or megabytes."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time

from pdfocr_core.records import PageRecord
from pdfocr_core.workspace import Workspace

__all__ = ["Checkpoint"]


class Checkpoint:
    """Collects a group's page records and writes them in parts.

    A part's name holds a random token of this run, so two runs that work on one group never overwrite each other.
    """

    def __init__(self, workspace: Workspace, key: str, *, interval_s: float, max_bytes: int) -> None:
        self._workspace, self._key = workspace, key
        self._interval_s, self._max_bytes = interval_s, max_bytes
        self._run = secrets.token_hex(4)
        self._numbers = itertools.count()
        self._buffer: list[PageRecord] = []
        self._bytes = 0
        self._oldest = 0.0
        self._lock = asyncio.Lock()

    def add(self, record: PageRecord) -> None:
        """Take one finished page; it is durable after the next flush."""
        if not self._buffer:
            self._oldest = time.monotonic()
        self._buffer.append(record)
        self._bytes += len(record.text) + len(record.raw or "")

    def due(self) -> bool:
        """Whether the buffer is old or large enough to be written."""
        if not self._buffer:
            return False
        return self._bytes >= self._max_bytes or time.monotonic() - self._oldest >= self._interval_s

    async def flush(self) -> None:
        """Write the buffer; when this returns, every page added before the call is durable."""
        async with self._lock:
            records, self._buffer, self._bytes = self._buffer, [], 0
            if not records:
                return
            writing = asyncio.ensure_future(asyncio.to_thread(self._write, records))
            writing.add_done_callback(lambda done: self._take_back(records, done))
            # The thread goes on when this flow is cancelled; what becomes of its records is seen in `_take_back`.
            await asyncio.shield(writing)

    def _take_back(self, records: list[PageRecord], writing: asyncio.Future[None]) -> None:
        """Keep the records of a write that failed for the next one."""
        if not writing.cancelled() and writing.exception() is not None:
            self._buffer = records + self._buffer

    def flush_now(self) -> None:
        """The same without an event loop: the last act of a flow that is being torn down."""
        records, self._buffer = self._buffer, []
        if records:
            self._write(records)

    def _write(self, records: list[PageRecord]) -> None:
        self._workspace.write_part(self._key, f"{self._run}-{next(self._numbers):06d}", records)
