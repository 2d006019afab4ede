"""Drives an async generator on an event loop of its own thread, from a synchronous Dagster op.

An op that is itself async would stand still, with all its requests, whenever Dagster stores an event, and would be
closed after its resources when a run is cancelled. Here the flow never waits for Dagster, and it is torn down first.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["AsyncBridge"]

T = TypeVar("T")

_POLL_S = 0.25  # Dagster's interrupt is raised between two looks at the queue


class _End:
    """Marks the end of the stream; holds what ended it early."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class AsyncBridge(Generic[T]):
    """A context manager to iterate over; leaving it cancels the generator and waits until it has cleaned up.

    `on_wait` is called in the op's thread several times a second while there is no item. `on_leave` is called when it is
    left, and says how many seconds the generator has to end by itself before it is cancelled.
    """

    def __init__(
        self,
        generator: Callable[[], AsyncIterator[T]],
        *,
        on_wait: Callable[[], None] = lambda: None,
        on_leave: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._generator = generator
        self._on_wait, self._on_leave = on_wait, on_leave
        self._items: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        # Not the thread's own end: Python 3.11 takes a thread for ended when an interrupt comes while it is joined.
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._main, name="pdfocr-flow", daemon=True)

    def __enter__(self) -> AsyncBridge[T]:
        self._thread.start()
        return self

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                item = self._items.get(timeout=_POLL_S)
            except queue.Empty:
                self._on_wait()
                continue
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item

    def __exit__(self, *_error: object) -> None:
        try:
            if not self._over.is_set():
                self._over.wait(self._on_leave())
        finally:  # a second interrupt ends the wait
            self._cancel()

    def _cancel(self) -> None:
        while not self._over.is_set():
            if self._task is not None:
                with contextlib.suppress(RuntimeError):  # the loop may close in between
                    self._loop.call_soon_threadsafe(self._task.cancel)
            self._over.wait(1.0)
        self._thread.join()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._task = self._loop.create_task(self._drain())
            error: BaseException | None = None
            try:
                self._loop.run_until_complete(self._task)
            except BaseException as caught:  # noqa: BLE001 - handed to the op's thread
                error = caught
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._items.put(_End(error))
        finally:
            self._loop.close()
            self._over.set()

    async def _drain(self) -> None:
        generator = self._generator()
        try:
            async for item in generator:
                self._items.put(item)
        finally:
            close = getattr(generator, "aclose", None)
            if close is not None:
                await close()
