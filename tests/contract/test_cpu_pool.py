"""The OCR processes of the CPU server: who has a page, and who is to blame when nobody answers."""

from __future__ import annotations

import asyncio
import sys
import time

import psutil
import pytest
from pebble import ProcessPool

from pdfocr_core.cpu_engine import pool
from pdfocr_core.cpu_engine.answer import Answer
from pdfocr_core.cpu_engine.request import PageRequest
from tests.contract.test_cpu_server import SENTENCES, page

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process handling is tested on Linux")


def test_a_page_that_no_process_takes_is_not_called_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    async def is_here() -> bool:
        return False

    async def read_twice() -> Answer | None:
        before = set(psutil.Process().children(recursive=True))
        ocr = pool.OcrPool(1)
        try:
            await ocr.start()
            started = set(psutil.Process().children(recursive=True)) - before
            [process] = [process for process in started if "spawn_main" in " ".join(process.cmdline())]
            process.suspend()
            monkeypatch.setattr(pool, "TAKEN_WITHIN_S", 0.5)
            with pytest.raises(pool.WorkerLost):
                await ocr.read(PageRequest(page()), is_here)
            assert not process.is_running()
            monkeypatch.undo()
            return await ocr.read(PageRequest(page()), is_here)
        finally:
            ocr.stop()

    answer = asyncio.run(read_twice())
    assert answer is not None
    assert SENTENCES[0] in answer.content


def test_a_page_that_a_process_has_taken_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "TAKEN_WITHIN_S", 0.01)
    with ProcessPool(max_workers=1) as processes:
        slow = processes.schedule(time.sleep, args=(1.0,))
        deadline = time.monotonic() + 60
        while not (slow.running() or slow.done()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert asyncio.run(pool.answer_of(slow)) is None  # what `sleep` returns, no matter how long it took
