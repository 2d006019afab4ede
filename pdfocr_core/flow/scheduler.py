"""The page scheduler: all pages of all groups of a run in one flow without barriers.

    manifests → open (several documents ahead) → render (chunks, worker processes) → window → model → record → commit

Each arrow is a bounded queue or a semaphore, so memory follows the settings and never the size of the collection. A
group is committed the moment its last page has a record, while later groups are already on their way.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pdfocr_core.documents import Document
from pdfocr_core.engines.engine import Engine
from pdfocr_core.errors import ConfigurationError, DocumentError, PageError, Reason, ServerError, is_filtered
from pdfocr_core.flow.connection import Connection
from pdfocr_core.flow.documents import OpenDocument, Twins, closed_record, pages_of_twin
from pdfocr_core.flow.exceptions import first_of_ours
from pdfocr_core.flow.filters import Filters
from pdfocr_core.flow.group import GroupResult, GroupWork, Stages, finish_group, no_manifest, reusable, take_up, taken
from pdfocr_core.flow.ladder import PageToRead, read_page
from pdfocr_core.flow.opening import Opener
from pdfocr_core.flow.pages import PageMaker
from pdfocr_core.flow.scratch import sweep_writes
from pdfocr_core.flow.stopping import Stopped, Stopping
from pdfocr_core.flow.trial import Trial
from pdfocr_core.flow.window import Window
from pdfocr_core.outputs.figures import FigureCutter
from pdfocr_core.records import DocumentRecord, PageRecord, PageStatus
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.scratch import scratch_folder
from pdfocr_core.settings import ReadSettings
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.telemetry import Telemetry
from pdfocr_core.workspace import Workspace

__all__ = ["read_groups"]

logger = logging.getLogger(__name__)

_CHUNK = 8  # pages per render task: the document is opened once for all of them
_OPENERS = 8  # documents fetched and opened at the same time


async def read_groups(
    keys: Sequence[str],
    *,
    workspace: Workspace,
    stages: Stages,
    engine: Engine,
    settings: ReadSettings,
    pool: RenderPool,
    fetcher: Fetcher,
    connect: Callable[[], Awaitable[Connection]],
    telemetry: Telemetry,
    on_page: Callable[[PageRecord], None] | None = None,
    stopping: Stopping | None = None,
) -> AsyncGenerator[GroupResult, None]:
    """Read the groups with these keys and yield each the moment it ends.

    `on_page` is called on the event loop with each page's record as it is made; `stopping` ends it before all are read.

    A group that fails by itself (its manifest is gone, say) is yielded with its error; the others go on.

    Raises:
        ConfigurationError: nothing can work as configured.
        ServerUnavailable: the server is gone for good. What was finished is committed or checkpointed.
    """
    results: asyncio.Queue[GroupResult | None] = asyncio.Queue()
    if workspace.store.local_root is not None:
        await asyncio.to_thread(sweep_writes, workspace.store.local_root)
    with scratch_folder() as directory:
        flow = _Flow(
            workspace=workspace,
            stages=stages,
            engine=engine,
            settings=settings,
            pool=pool,
            fetcher=fetcher,
            connect=connect,
            telemetry=telemetry,
            on_page=on_page,
            directory=directory,
            results=results,
            stopping=stopping or Stopping(),
        )
        task = asyncio.create_task(flow.run(keys))
        task.add_done_callback(lambda _task: results.put_nowait(None))
        try:
            while (result := await results.get()) is not None:
                yield result
            with first_of_ours():
                await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            flow.save()


class _Flow:
    def __init__(
        self,
        *,
        workspace: Workspace,
        stages: Stages,
        engine: Engine,
        settings: ReadSettings,
        pool: RenderPool,
        fetcher: Fetcher,
        connect: Callable[[], Awaitable[Connection]],
        telemetry: Telemetry,
        on_page: Callable[[PageRecord], None] | None,
        directory: Path,
        results: asyncio.Queue[GroupResult | None],
        stopping: Stopping,
    ) -> None:
        self._workspace, self._stages, self._engine, self._settings = workspace, stages, engine, settings
        self._connect, self._telemetry, self._on_page, self._results = connect, telemetry, on_page, results
        self._stopping = stopping
        self._sources: asyncio.Queue[tuple[GroupWork, Document]] = asyncio.Queue(_OPENERS)
        self._opened: asyncio.Queue[OpenDocument] = asyncio.Queue(_OPENERS)
        self._ready: asyncio.Queue[tuple[OpenDocument, PageToRead]] = asyncio.Queue(2 * _CHUNK)
        self._render_slots = asyncio.Semaphore(pool.size + 2)
        self._twins = Twins()
        self._opener = Opener(pool, fetcher, settings, directory, telemetry, Filters(settings, pool, workspace))
        self._maker = PageMaker(pool, engine, settings)
        self._is_done = partial(reusable, workspace, engine_id=engine.engine_id, selection=settings.selection_id)
        cutter = FigureCutter(workspace, pool, fetcher, settings)
        self._finish_group = partial(
            finish_group, workspace, stages=stages, settings=settings, model=engine.model, cutter=cutter
        )
        self._groups: dict[str, GroupWork] = {}
        self._left = 0
        self._idle = asyncio.Event()
        self._tasks: asyncio.TaskGroup
        self._loops: list[asyncio.Task[None]] = []
        self._trial: Trial[OpenDocument]
        self._between_groups: Callable[[], Coroutine[Any, Any, None]] | None = None

    async def run(self, keys: Sequence[str]) -> None:
        self._telemetry.expect_groups(len(keys))
        self._left = len(keys)
        if not keys:
            return
        try:
            async with asyncio.TaskGroup() as self._tasks:
                feeding = [self._spawn(self._open_documents()) for _ in range(_OPENERS)]
                feeding += [self._spawn(self._plan()), self._spawn(self._dispatch())]
                self._loops = [*feeding, self._spawn(self._flush()), self._spawn(self._stopping.end(feeding))]
                for key in keys:
                    await self._start_group(key)
                await self._idle.wait()
                for loop in self._loops:
                    loop.cancel()
        except* Stopped:
            logger.warning("Told to end: %d groups are left for another run.", self._left)

    def save(self) -> None:
        """Make every finished page durable; the loop may be gone when this is called."""
        for work in self._groups.values():
            work.save(self._workspace)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._tasks.create_task(work)

    def _spawn_last(self, work: Coroutine[Any, Any, None]) -> None:
        """What a run that is told to end may still do."""
        self._stopping.wait_for(self._spawn(work))

    # Groups.

    async def _start_group(self, key: str) -> None:
        try:
            group = await asyncio.to_thread(self._workspace.read_manifest, key)
        except FileNotFoundError:
            self._end_group(GroupResult(key, error=no_manifest(key, self._workspace.url)))
            return
        if not self._stages.pages:
            self._spawn(self._finish(key, time.monotonic(), reused=True))
            return
        self._telemetry.expect(len(group.documents), group.pages)
        as_it_is = self._settings.reuse and not self._settings.retry
        if as_it_is and await asyncio.to_thread(self._is_done, group):
            self._telemetry.reused_pages += group.pages
            self._telemetry.documents_done += len(group.documents)
            self._spawn(self._finish(key, time.monotonic(), reused=True))
            return
        work = await asyncio.to_thread(take_up, self._workspace, group, self._engine.engine_id, self._settings)
        self._groups[key] = work
        for document in group.documents:
            await self._sources.put((work, document))

    async def _commit_group(self, work: GroupWork) -> None:
        with self._telemetry.timed("write"):
            won = await work.commit(self._workspace)
        del self._groups[work.key]
        if won:
            await self._finish(work.key, work.started, reused=False)
        elif await asyncio.to_thread(self._is_done, work.group):
            logger.warning("Group %s was read by another run meanwhile; what that one committed stays.", work.key)
            await self._finish(work.key, work.started, reused=True)
        else:
            self._end_group(GroupResult(work.key, error=taken(work.key)))

    async def _finish(self, key: str, started: float, *, reused: bool) -> None:
        try:
            with self._telemetry.timed("write"):
                result = await asyncio.to_thread(self._finish_group, key)
            if reused:
                await asyncio.to_thread(self._workspace.drop_parts, key)
        except ConfigurationError as error:
            if error.code == "access_denied":
                raise
            result = GroupResult(key, error=error)
        result.seconds, result.reused = time.monotonic() - started, reused
        self._end_group(result)

    def _end_group(self, result: GroupResult) -> None:
        self._telemetry.groups_done += 1
        self._results.put_nowait(result)
        self._left -= 1
        if self._left == 0:
            self._idle.set()
        elif self._between_groups is not None:
            self._spawn(self._between_groups())

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(min(0.5, self._settings.checkpoint_interval_s))
            for work in list(self._groups.values()):
                if work.checkpoint.due():
                    with self._telemetry.timed("write"):
                        await work.checkpoint.flush()

    # Documents.

    async def _open_documents(self) -> None:
        while True:
            work, document = await self._sources.get()
            opened = await self._open(work, document)
            if opened is None:
                continue
            leader = self._twins.leader_of(opened)
            to_do = set(opened.numbers) - work.pages_done(document, opened.content_id)
            opened.remaining, opened.inked = len(to_do), document.document_id in work.inked
            self._telemetry.reused_pages += opened.pages - len(to_do)
            if not to_do:
                await self._end_document(opened)
            elif leader is not None:
                self._spawn(self._copy_pages(opened, leader.key, leader.document_id, leader.ended, to_do))
            else:
                await self._opened.put(opened)

    async def _open(self, work: GroupWork, document: Document) -> OpenDocument | None:
        """Open one document; None when that ended it."""
        kept = work.kept_out(document, self._engine.engine_id)
        if kept is not None:
            self._telemetry.pages_total += kept.pages - document.pages
            self._telemetry.reused_pages += kept.pages
            self._close(work, kept)
            return None
        try:
            opened = await self._opener.open(work, document)
        except DocumentError as error:
            self._reject(work, document, error)
            return None
        self._telemetry.pages_total += opened.pages - document.pages
        return opened

    def _reject(self, work: GroupWork, document: Document, error: DocumentError) -> None:
        self._telemetry.pages_total -= document.pages
        if not is_filtered(error.code):
            self._telemetry.failures[error.code] += 1
        selection = work.selection_of(document, self._settings)
        self._close(work, closed_record(document, self._engine.engine_id, error, selection))

    def _close(self, work: GroupWork, record: DocumentRecord) -> None:
        work.documents[record.document_id] = record
        self._telemetry.documents_done += 1
        if work.complete:
            self._spawn_last(self._commit_group(work))

    async def _end_document(self, opened: OpenDocument) -> None:
        tell_twins = self._twins.ended(opened)
        if tell_twins is not None:
            await opened.work.checkpoint.flush()
            tell_twins()
        self._opener.remove_copy(opened)
        drop_blank = self._settings.filters.filter_blank
        self._close(opened.work, opened.record(self._engine.engine_id, drop_blank=drop_blank))

    async def _copy_pages(
        self, opened: OpenDocument, key: str, document_id: str, ended: asyncio.Event, to_do: set[int]
    ) -> None:
        """Take the pages of the twin that read the same bytes."""
        self._opener.remove_copy(opened)
        await ended.wait()
        wanted = (document_id, opened.content_id, self._engine.engine_id)
        for record in await asyncio.to_thread(pages_of_twin, self._workspace, key, wanted):
            if record.page in to_do:
                to_do.discard(record.page)
                copy = record.model_copy(update={"document_id": opened.document.document_id, "attempts": []})
                opened.work.checkpoint.add(copy)
                opened.inked |= record.status is not PageStatus.BLANK
                self._telemetry.reused_pages += 1
                self._tell(copy)
        opened.remaining = 0
        await self._end_document(opened)

    # Pages.

    async def _plan(self) -> None:
        chunk = 1  # the first page of a run goes alone, so that the model has something to do at once
        while True:
            opened = await self._opened.get()
            done = opened.work.pages_done(opened.document, opened.content_id)
            to_do = [page for page in opened.numbers if page not in done]
            start = 0
            while start < len(to_do):
                await self._render_slots.acquire()
                self._spawn(self._render_chunk(opened, to_do[start : start + chunk]))
                start, chunk = start + chunk, _CHUNK

    async def _render_chunk(self, opened: OpenDocument, numbers: Sequence[int]) -> None:
        try:
            for page in await self._maker.make(opened, numbers):
                if isinstance(page, PageRecord):
                    await self._end_page(opened, page)
                else:
                    self._telemetry.add_seconds("render", page.picture.render_s)
                    self._telemetry.add_seconds("encode", page.picture.encode_s)
                    await self._ready.put((opened, page))
        finally:
            self._render_slots.release()

    async def _dispatch(self) -> None:
        connection: Connection | None = None
        window = Window(1, self._settings.in_flight_bytes)
        while True:
            opened, page = await self._ready.get()
            if connection is None:
                connection = await self._connect()
                self._between_groups = connection.between_groups
                window.resize(connection.in_flight)
                self._trial = Trial(connection.first_pages, connection.model)
                if (pilot := connection.pilot(window, self._telemetry)) is not None:
                    self._loops.append(self._spawn(pilot.run(lambda: not self._trial.open)))
            with self._telemetry.timed("window"):
                await window.acquire(len(page.picture.image))
            self._telemetry.in_flight = window.pages
            self._spawn_last(self._read(opened, page, connection, window))

    async def _read(self, opened: OpenDocument, page: PageToRead, connection: Connection, window: Window) -> None:
        size = len(page.picture.image)
        try:
            async with opened.clock.limit():
                record = await read_page(
                    page,
                    asker=connection.asker,
                    served_model=connection.model,
                    engine=self._engine,
                    settings=self._settings,
                    on_first=self._trial.note,
                    form=connection.form,
                )
        except (ConfigurationError, ServerError):
            raise
        except PageError as error:
            record = self._maker.failed(opened, page.picture.page, error, page.started_at, page.attempts)
        except Exception:
            ids = {"document_id": opened.document.document_id, "page": page.picture.page}
            logger.exception("page %d of %r", page.picture.page, opened.document.url, extra=ids)
            record = self._maker.failed(opened, page.picture.page, PageError(Reason.INTERNAL_ERROR), page.started_at)
        finally:
            self._telemetry.add_seconds("parse", page.parse_s)
            window.release(size)
            self._telemetry.in_flight = window.pages
        for of_document, judged in self._trial.hold(opened, record, last=window.pages == 0):
            await self._end_page(of_document, judged)

    async def _end_page(self, opened: OpenDocument, record: PageRecord) -> None:
        opened.work.checkpoint.add(record)
        opened.inked |= record.status is not PageStatus.BLANK
        self._telemetry.count(record)
        self._tell(record)
        opened.remaining -= 1
        if opened.remaining == 0:
            await self._end_document(opened)

    def _tell(self, record: PageRecord) -> None:
        if self._on_page is not None:
            self._on_page(record)
