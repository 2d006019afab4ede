"""The OCR processes behind the server: loaded before they count, replaced when they die."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import TimeoutError as ResultTimeout
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired, ProcessPool

from pdfocr_core.cpu_engine import worker

if TYPE_CHECKING:
    from pdfocr_core.cpu_engine.answer import Answer

__all__ = ["OcrPool", "PageTooSlow", "WorkerLost"]

logger = logging.getLogger("pdfocr.cpu_engine")

PAGE_TIMEOUT_S = 300.0
PAGES_PER_WORKER = 2000  # then the process is replaced, whatever a library may have leaked
POLL_S = 0.05


class WorkerLost(Exception):
    """The process that read the page died; a new one takes its place."""


class PageTooSlow(Exception):
    """The page took longer than any page should; its process was ended."""


class OcrPool:
    """Worker processes, each with its own models.

    Attributes:
        workers: how many there are.
        running: pages that are being read.
        waiting: pages that wait for a process.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.running = 0
        self.waiting = 0
        context = multiprocessing.get_context("spawn")
        self._loaded = context.Value("i", 0)
        self._failed = context.Value("i", 0)
        self._pool: Any = ProcessPool(
            max_workers=workers,
            max_tasks=PAGES_PER_WORKER,
            initializer=worker.load,
            initargs=(os.getpid(), self._loaded, self._failed),
            context=context,
        )
        self._places = asyncio.Semaphore(workers)
        self._ready = False

    @property
    def ready(self) -> bool:
        """Whether every worker had loaded, and the pool still works."""
        return self._ready and not self._failed.value and bool(self._pool.active)

    async def start(self) -> None:
        """Start the workers and return when all have loaded.

        Raises:
            RuntimeError: a worker cannot load; its reason is in the log.
        """
        # The pool starts its processes with its first task.
        self._pool.schedule(os.getpid)
        while self._loaded.value < self.workers:
            if self._failed.value:
                raise RuntimeError("an OCR process could not load the models")
            await asyncio.sleep(POLL_S)
        self._ready = True

    async def read(self, data: bytes, is_abandoned: Callable[[], Awaitable[bool]]) -> Answer | None:
        """Read one page; None when the one who asked has gone before its turn came.

        Raises:
            WorkerLost: the process died.
            PageTooSlow: it took too long.
            BadPicture: from the worker, when the bytes are no picture.
        """
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        try:
            if await is_abandoned():
                return None
            self.running += 1
            try:
                return await self._read_now(data)
            finally:
                self.running -= 1
        finally:
            self._places.release()

    async def _read_now(self, data: bytes) -> Answer:
        future: Any = self._pool.schedule(worker.read_page, args=(data,), timeout=PAGE_TIMEOUT_S)
        try:
            answer: Answer = await asyncio.wrap_future(future)
        except ResultTimeout:
            raise PageTooSlow(f"the page took longer than {PAGE_TIMEOUT_S:.0f} s") from None
        except ProcessExpired as error:
            logger.error("OCR process %s ended with code %s; it is replaced", error.pid, error.exitcode)
            raise WorkerLost(f"the OCR process ended with code {error.exitcode}") from None
        return answer

    def stop(self) -> None:
        """End all processes now."""
        self._ready = False
        self._pool.stop()
        self._pool.join()
