"""The rendering processes together: what the run calls to open, count and draw documents.

Untrusted bytes are parsed only in those processes, under a cap on memory and with a clock that runs here. A process that
crashes, hangs or runs out of memory is discarded and costs the item it was working on; the items of the same request
that it had answered stay, the rest goes to a new process. The blamed page is tried once more alone before it is given
up, since what earlier pages left behind, or a kill from outside, may have been the cause; a page that hung has had its
time and is not tried again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pdfocr_core.errors import DocumentError, PageError, Reason
from pdfocr_core.rendering.model import (
    DocumentSample,
    Failure,
    LinesOfPage,
    OpenedDocument,
    OpenLimits,
    Region,
    RenderedPage,
    RenderOptions,
    SearchablePdf,
)
from pdfocr_core.rendering.worker import Clock, Clocks, Worker, WorkerLost
from pdfocr_core.settings import RenderSettings

__all__ = ["RenderPool"]

# Counting reads little of a file; the clock is for files that make the reader loop.
_COUNT = Clock("counting the pages of a file", 10.0)
_COUNT_BATCH = 64
_CPU_GRACE_S = 5.0
# A decoded picture may take this part of a process's memory; scaling and encoding need the rest.
_DECODED_SHARE = 0.25

T = TypeVar("T")


class RenderPool:
    """Processes that open and render documents. Use as a context manager, or call `close`."""

    def __init__(self, settings: RenderSettings) -> None:
        self._settings = settings
        self._size = settings.workers or len(os.sched_getaffinity(0))
        self._local = threading.local()
        self._workers: list[Worker] = []
        self._tickets: set[_Ticket] = set()
        self._lock = threading.Lock()
        self._closed = False
        # Each thread owns one process: a process is tied to the life of the thread that started it.
        self._threads = ThreadPoolExecutor(self._size, "pdfocr-render", initializer=self._adopt_worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def size(self) -> int:
        """Processes that work at the same time."""
        return self._size

    @property
    def pids(self) -> list[int]:
        """The living processes."""
        with self._lock:
            return [worker.pid for worker in self._workers if worker.pid is not None]

    def close(self) -> None:
        """Ends all processes at once; whoever still waits is cancelled."""
        with self._lock:
            self._closed = True
            tickets, workers = list(self._tickets), list(self._workers)
        for ticket in tickets:
            ticket.cancel()
        for worker in workers:
            worker.forbid()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    async def open(self, path: Path, name: str, passwords: Sequence[str] = ()) -> OpenedDocument:
        """Hashes and opens a document.

        Args:
            path: the file.
            name: what to call it in tracebacks.
            passwords: tried in turn on an encrypted PDF.

        Raises:
            DocumentError: it cannot be read, or broke the process that tried.
        """
        settings = self._settings
        limits = OpenLimits(
            settings.max_pages, settings.max_bytes, settings.max_image_pixels, self._max_decoded_bytes()
        )
        clock = Clock("open_timeout_s", settings.open_timeout_s)
        clocks = Clocks(clock, clock)
        arguments = (path, tuple(passwords), limits)
        result: OpenedDocument | Failure = await self._run(lambda ticket: _one(ticket, "open", arguments, clocks))
        if isinstance(result, Failure):
            error = DocumentError(result.reason, result.detail)
            error.add_note(f"while opening {name}")
            raise error
        return result

    async def sample(
        self, path: Path, pages: int, *, want_form: bool, password: str | None = None
    ) -> DocumentSample | None:
        """What filters look at in a PDF; None when the file broke the process that looked.

        Args:
            path: the file.
            pages: first pages whose own text is wanted; 0 for none.
            want_form: whether to look for text fields.
            password: that opens the document.
        """
        clock = Clock("open_timeout_s", self._settings.open_timeout_s)
        arguments = (path, password, pages, want_form)
        result: DocumentSample | Failure = await self._run(
            lambda ticket: _one(ticket, "sample", arguments, Clocks(clock, clock))
        )
        return None if isinstance(result, Failure) else result

    async def render(
        self,
        path: Path,
        kind: str,
        page_numbers: Sequence[int],
        *,
        rotation: int = 0,
        longest_side: int | None = None,
        want_text: bool = False,
        password: str | None = None,
        image_format: str | None = None,
        allow_grey: bool | None = None,
        want_figures: bool = False,
        crops: Sequence[Region] = (),
        dpi: int | None = None,
        want_lines: bool = False,
        keep_margins: bool = True,
    ) -> list[RenderedPage | PageError]:
        """Draws some pages of one document in one process; four to sixteen at a time cost least.

        Args:
            path: the file.
            kind: `pdf` or `image`, as `open` said.
            page_numbers: 1-based.
            rotation: degrees counter-clockwise, a multiple of 90.
            longest_side: of the pictures in pixels; the settings' unless given.
            want_text: whether to read the PDF's own text too.
            password: that opens the document.
            image_format: `jpeg` or `png`; the settings' unless given.
            allow_grey: whether pages without colour may be grey pictures; the settings' unless given.
            want_figures: whether to say where pictures lie on a PDF page.
            crops: regions to cut out; see `RenderOptions`.
            dpi: draw a PDF page at so many dots per inch, within `longest_side`.
            want_lines: whether the places of its own text's lines are wanted too.
            keep_margins: whether page numbers, running heads and stamps stay in its own text.

        Returns:
            For each page number in turn the page, or why it could not be drawn.
        """
        settings = self._settings
        options = replace(
            self._options(),
            longest_side=longest_side or settings.longest_side_px,
            rotation=rotation,
            image_format=image_format or settings.image_format,
            allow_grey=settings.allow_grey if allow_grey is None else allow_grey,
            want_text=want_text,
            want_figures=want_figures,
            crops=tuple(crops),
            dpi=dpi,
            want_lines=want_lines,
            keep_margins=keep_margins,
        )
        clocks = self._page_clocks()

        def arguments(pages: list[int]) -> tuple[Any, ...]:
            return path, kind, password, tuple(pages), options

        results = await self._run(lambda ticket: _each(ticket, "render", list(page_numbers), arguments, clocks))
        return [
            PageError(result.reason, result.detail) if isinstance(result, Failure) else result for result in results
        ]

    async def searchable(
        self, path: Path, kind: str, pages: Mapping[int, LinesOfPage], *, password: str | None = None
    ) -> SearchablePdf:
        """The document as a PDF with these lines as invisible text; all of it is in memory at the end.

        Args:
            path: the file.
            kind: `pdf` or `image`, as `open` said.
            pages: the lines, by page.
            password: that opens the document.

        Raises:
            DocumentError: it cannot be written, or broke the process that tried.
        """
        arguments = (path, kind, password, dict(pages), self._options())
        clocks = self._page_clocks()
        result: SearchablePdf | Failure = await self._run(lambda ticket: _one(ticket, "searchable", arguments, clocks))
        if isinstance(result, Failure):
            raise DocumentError(result.reason, result.detail)
        return result

    async def count_pages(self, paths: Sequence[str]) -> list[int | None]:
        """The pages of many files, in order; None where a file does not open."""
        batches = [asyncio.wrap_future(future) for future in self._count_batches(paths)]
        try:
            counted = await asyncio.gather(*batches)
        except asyncio.CancelledError:
            for batch in batches:
                batch.cancel()
            raise
        return [pages for batch in counted for pages in batch]

    def count_pages_sync(self, paths: Sequence[str]) -> list[int | None]:
        """`count_pages` for callers without an event loop."""
        return [pages for future in self._count_batches(paths) for pages in future.result()]

    def _count_batches(self, paths: Sequence[str]) -> list[Future[list[int | None]]]:
        clocks = Clocks(_COUNT, _COUNT)

        def count(batch: list[str], ticket: _Ticket) -> list[int | None]:
            results = _each(ticket, "count", batch, lambda left: (tuple(left),), clocks)
            return [None if isinstance(result, Failure) else result for result in results]

        batches = [list(paths[start : start + _COUNT_BATCH]) for start in range(0, len(paths), _COUNT_BATCH)]
        return [self._submit(_Ticket(), partial(count, batch)) for batch in batches]

    def _options(self) -> RenderOptions:
        settings = self._settings
        return RenderOptions(
            longest_side=settings.longest_side_px,
            min_short_side=settings.min_short_side_px,
            rotation=0,
            image_format=settings.image_format,
            jpeg_quality=settings.jpeg_quality,
            allow_grey=settings.allow_grey,
            want_text=False,
            max_image_pixels=settings.max_image_pixels,
            max_decoded_bytes=self._max_decoded_bytes(),
        )

    def _page_clocks(self) -> Clocks:
        settings = self._settings
        return Clocks(
            Clock("open_timeout_s", settings.open_timeout_s),
            Clock("page_render_timeout_s", settings.page_render_timeout_s),
        )

    def _max_decoded_bytes(self) -> int:
        return int((self._settings.render_memory_mb << 20) * _DECODED_SHARE)

    def _adopt_worker(self) -> None:
        # Processes started from here inherit the mask: Ctrl-C, and what a machine that is taken away sends to all processes,
        # are for the run, which then ends them in order. Their page would pass for one that kills its renderer.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        settings = self._settings
        # No step computes longer than its clock allows, so this ends only what is out of the run's reach.
        cpu_s = max(settings.open_timeout_s, settings.page_render_timeout_s, _COUNT.seconds) + _CPU_GRACE_S
        worker = Worker(settings.render_memory_mb, settings.tasks_per_worker, cpu_s)
        self._local.worker = worker
        with self._lock:
            self._workers.append(worker)
            if self._closed:
                worker.forbid()

    async def _run(self, task: Callable[[_Ticket], T]) -> T:
        ticket = _Ticket()
        future = self._submit(ticket, task)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            ticket.cancel()
            raise

    def _submit(self, ticket: _Ticket, task: Callable[[_Ticket], T]) -> Future[T]:
        def run() -> T:
            try:
                ticket.take(self._local.worker)
                return task(ticket)
            finally:
                ticket.done()
                with self._lock:
                    self._tickets.discard(ticket)

        with self._lock:
            if self._closed:
                raise RuntimeError("The rendering processes were closed.")
            self._tickets.add(ticket)
        return self._threads.submit(run)


class _Ticket:
    """One request on its way: lets whoever asked give it up while a process works on it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._cancelled = False

    @property
    def worker(self) -> Worker:
        """The process that works on it.

        Raises:
            CancelledError: it was given up.
        """
        with self._lock:
            if self._cancelled or self._worker is None:
                raise CancelledError
            return self._worker

    def take(self, worker: Worker) -> None:
        with self._lock:
            self._worker = worker

    def done(self) -> None:
        with self._lock:
            self._worker = None

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._worker is not None:
                self._worker.kill()


def _one(ticket: _Ticket, operation: str, arguments: tuple[Any, ...], clocks: Clocks) -> Any:
    """The answer to a request for a single thing, or why there is none."""
    return _each(ticket, operation, [None], lambda _: arguments, clocks)[0]


def _each(
    ticket: _Ticket,
    operation: str,
    items: list[Any],
    arguments: Callable[[list[Any]], tuple[Any, ...]],
    clocks: Clocks,
) -> list[Any]:
    """One result for each item, in order, whatever becomes of the processes that work on them."""
    results: list[Any] = []
    suspect = False
    while len(results) < len(items):
        rest = items[len(results) :]
        # After a crash the blamed item goes alone, so that it cannot take its neighbours along again.
        asked = rest[:1] if suspect else rest
        ready = False
        try:
            for kind, value in ticket.worker.ask(operation, arguments(asked), clocks):
                ready = True
                if kind == "item":
                    results.append(value)
                elif kind == "refused":
                    return results + [value] * (len(items) - len(results))
            suspect = False
        except WorkerLost as lost:
            _ = ticket.worker  # raises when the process was ended because nobody waits any more
            final = suspect or lost.failure.reason is Reason.RENDERER_TIMEOUT
            if final and not ready:
                # What breaks before the first item breaks for every item.
                return results + [lost.failure] * (len(items) - len(results))
            if final:
                results.append(lost.failure)
            suspect = not final
    return results
