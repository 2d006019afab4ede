"""A run that is told to end: nothing new is asked for, what is in flight is kept, and a second interrupt ends the wait."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.profile import load_profile
from pdfocr_core.errors import ServerUnavailable
from pdfocr_core.flow.connection import Connection
from pdfocr_core.flow.group import Stages
from pdfocr_core.flow.scheduler import read_groups
from pdfocr_core.flow.stopping import Stopping
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.serving.answers import Answer
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.keepalive import KeepAlive
from pdfocr_core.settings import ReadSettings, RenderSettings
from pdfocr_core.sources.fetch import FetchedDocument, Fetcher
from pdfocr_core.telemetry import Telemetry
from pdfocr_core.workspace import open_workspace
from pdfocr_dagster.bridge import AsyncBridge
from pdfocr_dagster.termination import on_sigterm
from tests.documents import write_pdf

ANSWER = (
    "---\nprimary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False\n"
    "---\nPlain words."
)
TOGETHER = 3


class PlainFetcher(Fetcher):
    """Hands out the files as they are."""

    def fetch(self, document: Document, directory: Path) -> FetchedDocument:
        return FetchedDocument(Path(document.url), temporary=False)


class SlowReader:
    """Tells the run to end once it has some pages in hand, and answers them after that."""

    def __init__(self, stopping: Stopping) -> None:
        self.asked, self._stopping, self._all = 0, stopping, asyncio.Event()

    async def ask(self, _body: bytes) -> Answer:
        self.asked += 1
        if self.asked == TOGETHER:
            self._stopping.tell()
            self._all.set()
        await self._all.wait()
        await asyncio.sleep(1.0)
        return Answer(ANSWER, "stop", 1, 1, 0.1, "m")


@pytest.mark.parametrize("pages", [TOGETHER, 4 * TOGETHER])
def test_pages_in_flight_are_kept_and_a_group_they_complete_is_committed(tmp_path: Path, pages: int) -> None:
    paths = [write_pdf(tmp_path / f"{name}.pdf", [f"{name} {number}" for number in range(pages)]) for name in "ab"]
    groups = [PageGroup((Document(str(path), "1"),)) for path in paths]
    workspace = open_workspace(str(tmp_path / "workspace"))
    for group in groups:
        workspace.write_manifest(group)
    stopping = Stopping()
    reader = SlowReader(stopping)

    async def connect() -> Connection:
        return Connection(reader, "m", in_flight=TOGETHER)

    async def read() -> list[str]:
        with RenderPool(RenderSettings(workers=1)) as pool, PlainFetcher() as fetcher:
            results = read_groups(
                [group.key for group in groups],
                workspace=workspace,
                stages=Stages(),
                engine=build_engine(load_profile("pdfocr-cpu")),
                settings=ReadSettings(),
                pool=pool,
                fetcher=fetcher,
                connect=connect,
                telemetry=Telemetry(),
                stopping=stopping,
            )
            return [result.key async for result in results]

    ended = asyncio.run(read())
    assert reader.asked == TOGETHER
    kept = [record for group in groups for record in workspace.read_durable(group.key)]
    assert len(kept) == TOGETHER
    assert all(record.text == "Plain words." for record in kept)
    assert ended == ([groups[0].key] if pages == TOGETHER else [])
    assert (workspace.read_status(groups[0].key) is not None) == (pages == TOGETHER)


class Dead:
    """A server that has ended; to start it would take too long."""

    restartable = True

    def running(self) -> bool:
        return False

    def tail(self, _lines: int) -> list[str]:
        return []

    def restart(self) -> None:
        raise AssertionError("started again")

    def endpoints(self) -> tuple[Endpoint, ...]:
        return ()


def test_a_server_is_not_started_again_for_a_run_that_ends() -> None:
    keep_alive = KeepAlive(Dead(), ending=lambda: True)  # type: ignore[arg-type]
    with pytest.raises(ServerUnavailable, match="told to end"):
        asyncio.run(keep_alive.ensure())
    assert keep_alive.restarts == 0


def test_sigterm_is_told_from_ctrl_c_whoever_handles_them() -> None:
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        stopping = Stopping()
        with on_sigterm(stopping.tell):
            os.kill(os.getpid(), signal.SIGINT)
            assert not stopping.told_by(0.5)
            os.kill(os.getpid(), signal.SIGTERM)
            assert stopping.told_by(60)
        stopping = Stopping()
        with on_sigterm(stopping.tell):
            assert not stopping.told_by(0.1)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_outside_the_main_thread_it_does_nothing() -> None:
    started: list[set[threading.Thread]] = []

    def look() -> None:
        before = set(threading.enumerate())
        with on_sigterm(lambda: None):
            started.append(set(threading.enumerate()) - before)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert started == [set()]


def test_a_generator_may_end_by_itself_when_the_bridge_is_left() -> None:
    ended: list[str] = []
    told = threading.Event()

    async def items() -> AsyncIterator[int]:
        try:
            yield 1
            while not told.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.01)
            ended.append("by itself")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    def leave() -> float:
        told.set()
        return 30.0

    with AsyncBridge(items, on_leave=leave) as found:
        assert next(iter(found)) == 1
    assert ended == ["by itself"]


def test_a_second_interrupt_ends_the_wait() -> None:
    ended: list[str] = []

    async def items() -> AsyncIterator[int]:
        yield 1
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    def interrupted(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt), AsyncBridge(items, on_leave=lambda: 3600.0) as found:
            next(iter(found))
            signal.setitimer(signal.ITIMER_REAL, 2.0)
        assert time.monotonic() - started < 600
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ended == ["cancelled"]
