"""The OCR processes behind the server: loaded before they count, replaced when they die."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import TimeoutError as ResultTimeout
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired, ProcessPool

from pdfocr_core.cpu_engine import worker
from pdfocr_core.cpu_engine.models import DEFAULT_MODEL

if TYPE_CHECKING:
    from pdfocr_core.cpu_engine.answer import Answer
    from pdfocr_core.cpu_engine.request import PageRequest

__all__ = ["OcrPool", "PageTooSlow", "WorkerLost"]

logger = logging.getLogger("pdfocr.cpu_engine")

PAGE_TIMEOUT_S = 300.0
GRACE_S = 10.0
TAKEN_WITHIN_S = 60.0  # a process takes its page at once, or when it has loaded the models again
END_S = 5.0
PAGES_PER_WORKER = 2000  # then the process is replaced, whatever a library may have leaked
POLL_S = 0.05


class WorkerLost(Exception):
    """The process that read the page died; a new one takes its place."""


class PageTooSlow(Exception):
    """The page took longer than any page should; its process was ended."""


class OcrPool:
    """Worker processes, each with its own models and its own pipe.

    Processes that share a pipe and its lock can take it with them when they are killed; so every place is a pool of one,
    which is made anew when its process dies.

    Args:
        workers: how many there are.
        model: what they read with; see `choose_model`.

    Attributes:
        workers: how many there are.
        running: pages that are being read.
        waiting: pages that wait for a process.
    """

    def __init__(self, workers: int, model: str = DEFAULT_MODEL) -> None:
        self.workers = workers
        self._model = model
        self.running = 0
        self.waiting = 0
        self._context = multiprocessing.get_context("spawn")
        self._loaded = self._context.Value("i", 0)
        self._failed = self._context.Value("i", 0)
        self._pools: list[Any] = [self._new_pool() for _ in range(workers)]
        self._places: asyncio.Queue[int] = asyncio.Queue()
        for place in range(workers):
            self._places.put_nowait(place)
        self._ready = False

    def _new_pool(self) -> Any:
        return ProcessPool(
            max_workers=1,
            max_tasks=PAGES_PER_WORKER,
            initializer=worker.load,
            initargs=(self._model, os.getpid(), self._loaded, self._failed),
            context=self._context,
        )

    @property
    def ready(self) -> bool:
        """Whether every worker had loaded, and none has failed to since."""
        return self._ready and not self._failed.value

    async def start(self) -> None:
        """Start the workers and return when all have loaded.

        Raises:
            RuntimeError: a worker cannot load; its reason is in the log.
        """
        for pool in self._pools:
            pool.schedule(os.getpid)  # a pool starts its process with its first task
        while self._loaded.value < self.workers:
            if self._failed.value:
                raise RuntimeError("an OCR process could not load the models")
            await asyncio.sleep(POLL_S)
        self._ready = True

    async def read(self, asked: PageRequest, is_abandoned: Callable[[], Awaitable[bool]]) -> Answer | None:
        """Read one page; None when the one who asked has gone before its turn came.

        Raises:
            WorkerLost: the process died.
            PageTooSlow: it took too long.
            BadPicture: from the worker, when the bytes are no picture.
        """
        self.waiting += 1
        try:
            place = await self._places.get()
        finally:
            self.waiting -= 1
        try:
            if await is_abandoned():
                return None
            self.running += 1
            try:
                return await self._read_now(place, asked)
            finally:
                self.running -= 1
        finally:
            self._places.put_nowait(place)

    async def _read_now(self, place: int, asked: PageRequest) -> Answer:
        try:
            future: Any = self._pools[place].schedule(worker.read_page, args=(asked,), timeout=PAGE_TIMEOUT_S)
            answer = await answer_of(future)
        except (ResultTimeout, TimeoutError):
            await self._replace(place)
            raise PageTooSlow(f"the page took longer than {PAGE_TIMEOUT_S:.0f} s") from None
        except (ProcessExpired, RuntimeError) as error:
            logger.error("an OCR process ended (%s); it is replaced", error)
            await self._replace(place)
            raise WorkerLost("the OCR process ended") from None
        return answer

    async def _replace(self, place: int) -> None:
        broken, self._pools[place] = self._pools[place], self._new_pool()
        self._pools[place].schedule(os.getpid)
        await asyncio.to_thread(_end, broken)

    def stop(self) -> None:
        """End all processes now."""
        self._ready = False
        for pool in self._pools:
            pool.stop()
        for pool in self._pools:
            _end(pool)


async def answer_of(future: Any) -> Answer:
    """The answer of a page that a process was given.

    Raises:
        RuntimeError: no process has taken it. One that is killed at that moment can leave its pool waiting for ever; the page
            itself is not to blame then.
    """
    reading = asyncio.wrap_future(future)
    try:
        await asyncio.wait([reading], timeout=TAKEN_WITHIN_S)
        if not (future.running() or future.done()):
            raise RuntimeError("no process has taken the page")
        answer: Answer = await asyncio.wait_for(reading, PAGE_TIMEOUT_S + GRACE_S)
        return answer
    finally:
        reading.cancel()


def _end(pool: Any) -> None:
    """End a pool, however broken it is."""
    pool.stop()
    with contextlib.suppress(ResultTimeout, TimeoutError, RuntimeError):
        pool.join(END_S)
