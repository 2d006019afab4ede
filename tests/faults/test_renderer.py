"""The promises of the rendering processes, each broken on purpose."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

from pdfocr_core.errors import ConfigurationError, DocumentError, PageError, Reason
from pdfocr_core.rendering.model import RenderedPage, RenderOptions
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.rendering.worker import Clock, Clocks, Worker, WorkerLost
from pdfocr_core.settings import RenderSettings
from tests import bad_pdfs

CORPUS = Path(os.environ.get("PDFOCR_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
RENDER_OPTIONS = RenderOptions(
    longest_side=400,
    min_short_side=28,
    rotation=0,
    image_format="jpeg",
    jpeg_quality=90,
    allow_grey=True,
    want_text=False,
    max_image_pixels=10**8,
    max_decoded_bytes=10**8,
)
HARMLESS = b"BT /F 30 Tf 60 700 Td (A harmless page) Tj ET"


def written(path: Path, contents: list[bytes]) -> Path:
    """A PDF with one page for each content stream."""
    count = len(contents)
    font = 3 + 2 * count
    kids = b" ".join(b"%d 0 R" % (3 + 2 * index) for index in range(count))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count)]
    for index, content in enumerate(contents):
        resources = b"<< /Font << /F %d 0 R >> >>" % font
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources %s >>"
            % (4 + 2 * index, resources)
        )
        objects.append(bad_pdfs.stream(zlib.compress(content), b"/Filter /FlateDecode"))
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    path.write_bytes(bad_pdfs.raw_pdf(objects))
    return path


def slow() -> bytes:
    """Half a minute of work from a few kilobytes: shapes of many rectangles, one over the other."""
    return (b"0 0 595 842 re " * 100_000 + b"f* ") * 20


def greedy() -> bytes:
    """A gigabyte of objects from a few kilobytes."""
    return b"0 0 10 10 re f\n" * 4_000_000


def drawn(pool: RenderPool, path: Path, *numbers: int) -> list[RenderedPage | PageError]:
    return asyncio.run(pool.render(path, "pdf", numbers))


def reasons(pages: list[RenderedPage | PageError]) -> list[str]:
    return ["ok" if isinstance(page, RenderedPage) else page.reason.value for page in pages]


def test_a_page_that_hangs_costs_that_page_and_no_more(tmp_path: Path):
    path = written(tmp_path / "slow.pdf", [HARMLESS, HARMLESS, slow(), HARMLESS])
    with RenderPool(RenderSettings(workers=1, page_render_timeout_s=4.0)) as pool:
        assert reasons(drawn(pool, path, 1)) == ["ok"]  # started and warm
        pages = drawn(pool, path, 1, 2, 3, 4)
        assert reasons(pages) == ["ok", "ok", "renderer_timeout", "ok"]
        assert "page_render_timeout_s" in pages[2].detail
        assert reasons(drawn(pool, path, 4)) == ["ok"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here; set PDFOCR_CORPUS")
def test_a_real_slow_page_is_ended_by_its_clock():
    with RenderPool(RenderSettings(workers=1, page_render_timeout_s=0.5)) as pool:
        assert reasons(drawn(pool, CORPUS / "broken/slow_bug_1646.pdf", 1)) == ["renderer_timeout"]


def test_a_page_that_eats_memory_costs_that_page_and_no_more(tmp_path: Path):
    path = written(tmp_path / "greedy.pdf", [HARMLESS, greedy(), HARMLESS])
    assert in_a_small_process(draw_with_little_memory, path, 1, 2, 3)[0] == ["ok", "renderer_memory", "ok"]


def test_the_memory_of_a_process_never_passes_its_cap(tmp_path: Path):
    path = written(tmp_path / "greedy.pdf", [greedy()])
    found, peak = in_a_small_process(draw_with_little_memory, path, 1)
    assert found == ["renderer_memory"]
    assert 100 << 20 < peak <= 512 << 20


def in_a_small_process(work: Callable[..., tuple[list[str], int]], *args: object) -> tuple[list[str], int]:
    """A process takes over the peak memory of the one that starts it, and the tests' own may be larger than the cap."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(work, *args).result(timeout=300)


def draw_with_little_memory(path: Path, *numbers: int) -> tuple[list[str], int]:
    """What becomes of the pages in 512 MiB, and the most that a process was seen to hold."""
    peak = 0
    with RenderPool(RenderSettings(workers=1, render_memory_mb=512)) as pool, ThreadPoolExecutor(1) as thread:
        future = thread.submit(drawn, pool, path, *numbers)
        while not future.done():
            for pid in pool.pids:
                try:
                    peak = max(peak, psutil.Process(pid).memory_info().rss)
                except psutil.NoSuchProcess:
                    continue
            time.sleep(0.01)
        return reasons(future.result()), peak


def kill_when_busy(pool: RenderPool, busy_s: float = 0.8, with_signal: signal.Signals = signal.SIGKILL) -> int:
    """Kills the only process once it has computed for longer than its imports take; the number of the process."""
    deadline = time.monotonic() + 300
    start: dict[int, float] = {}
    while time.monotonic() < deadline:
        for pid in pool.pids:
            try:
                used = psutil.Process(pid).cpu_times().user
            except psutil.NoSuchProcess:
                continue
            if used - start.setdefault(pid, used) >= busy_s:
                os.kill(pid, with_signal)
                return pid
        time.sleep(0.01)
    raise AssertionError("no process was ever busy")


def test_a_kill_from_outside_costs_nothing(tmp_path: Path):
    content = b"0 0 595 842 re " * 30_000 + b"f*"
    path = written(tmp_path / "busy.pdf", [content] * 4)
    with RenderPool(RenderSettings(workers=1)) as pool, ThreadPoolExecutor(1) as thread:
        future = thread.submit(drawn, pool, path, 1, 2, 3, 4)
        killed = kill_when_busy(pool)
        assert reasons(future.result()) == ["ok"] * 4
        assert killed not in pool.pids


def test_a_page_that_kills_twice_is_given_up(tmp_path: Path):
    path = written(tmp_path / "busy.pdf", [slow(), HARMLESS])
    settings = RenderSettings(workers=1, page_render_timeout_s=600)
    with RenderPool(settings) as pool, ThreadPoolExecutor(1) as thread:
        future = thread.submit(drawn, pool, path, 1, 2)
        # Long after its start on any machine: a process that is killed before it has the page does not count.
        kill_when_busy(pool, 2.5)
        kill_when_busy(pool, 2.5)
        assert reasons(future.result()) == ["renderer_memory", "ok"]


def test_a_native_crash_costs_its_page_and_the_process_is_never_used_again(tmp_path: Path):
    path = written(tmp_path / "busy.pdf", [slow(), HARMLESS])
    settings = RenderSettings(workers=1, page_render_timeout_s=600)
    with RenderPool(settings) as pool, ThreadPoolExecutor(1) as thread:
        future = thread.submit(drawn, pool, path, 1, 2)
        crashed = {kill_when_busy(pool, 2.5, signal.SIGSEGV) for _ in range(2)}
        pages = future.result()
        assert reasons(pages) == ["renderer_crashed", "ok"]
        assert "SIGSEGV" in pages[0].detail
        assert len(crashed) == 2
        assert not crashed & set(pool.pids)


def test_a_process_out_of_the_runs_reach_is_ended_by_its_cpu_limit(tmp_path: Path):
    path = written(tmp_path / "slow.pdf", [slow(), HARMLESS])
    hour = Clock("page_render_timeout_s", 3600.0)
    worker = Worker(1024, 500, cpu_s=1)
    arguments = (path, "pdf", None, (1, 2), RENDER_OPTIONS)
    try:
        with pytest.raises(WorkerLost) as caught:
            list(worker.ask("render", arguments, Clocks(hour, hour)))
        assert caught.value.failure.reason is Reason.RENDERER_TIMEOUT
        # Each step has that long: many pages together may take more.
        assert [
            kind for kind, _ in worker.ask("render", (*arguments[:3], (2,) * 3, RENDER_OPTIONS), Clocks(hour, hour))
        ]
    finally:
        worker.close()


def test_an_idle_process_that_is_killed_is_replaced(tmp_path: Path):
    path = written(tmp_path / "one.pdf", [HARMLESS])
    with RenderPool(RenderSettings(workers=1)) as pool:
        drawn(pool, path, 1)
        (pid,) = pool.pids
        os.kill(pid, signal.SIGKILL)
        assert reasons(drawn(pool, path, 1)) == ["ok"]
        assert pool.pids != [pid]


def test_a_document_that_takes_too_long_to_open_is_ended_by_its_clock(tmp_path: Path):
    path = tmp_path / "large.pdf"
    path.write_bytes(bad_pdfs.plain())
    os.truncate(path, 3 << 30)  # a hole: quick to make, slow to hash
    with RenderPool(RenderSettings(workers=1, open_timeout_s=0.2)) as pool, pytest.raises(DocumentError) as caught:
        asyncio.run(pool.open(path, "large", ()))
    assert caught.value.reason is Reason.RENDERER_TIMEOUT
    assert "open_timeout_s" in caught.value.detail


def test_one_file_that_hangs_does_not_cost_the_count_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pdfocr_core.rendering.pool._COUNT", Clock("counting", 4.0))
    good = written(tmp_path / "good.pdf", [HARMLESS] * 3)
    with RenderPool(RenderSettings(workers=1)) as pool, ThreadPoolExecutor(1) as thread:
        pipe = tmp_path / "pipe.pdf"
        os.mkfifo(pipe)  # opening it waits for a writer that never comes
        future = thread.submit(pool.count_pages_sync, [str(good), str(pipe), str(good)])
        assert future.result(timeout=60) == [3, None, 3]


def test_cancelling_frees_the_process_at_once(tmp_path: Path):
    path = written(tmp_path / "slow.pdf", [slow(), HARMLESS])

    async def give_up(pool: RenderPool) -> list[str]:
        await pool.render(path, "pdf", [2])
        task = asyncio.create_task(pool.render(path, "pdf", [1]))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return reasons(await asyncio.wait_for(pool.render(path, "pdf", [2]), timeout=20))

    with RenderPool(RenderSettings(workers=1, page_render_timeout_s=120)) as pool:
        assert asyncio.run(give_up(pool)) == ["ok"]


def test_closing_ends_everything_even_in_the_middle_of_work(tmp_path: Path):
    path = written(tmp_path / "slow.pdf", [slow()])

    async def close_meanwhile(pool: RenderPool) -> list[int]:
        tasks = [asyncio.create_task(pool.render(path, "pdf", [1])) for _ in range(5)]
        while len(pool.pids) < 2:  # noqa: ASYNC110 - processes have no event to wait for
            await asyncio.sleep(0.05)
        pids = pool.pids
        await asyncio.to_thread(pool.close)
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended
        return pids

    pids = asyncio.run(close_meanwhile(RenderPool(RenderSettings(workers=2, page_render_timeout_s=120))))
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def test_processes_are_replaced_after_their_number_of_tasks(tmp_path: Path):
    path = written(tmp_path / "one.pdf", [HARMLESS])
    with RenderPool(RenderSettings(workers=1, tasks_per_worker=2)) as pool:
        seen = []
        for _ in range(3):
            assert reasons(drawn(pool, path, 1)) == ["ok"]
            seen.append(pool.pids)
    assert seen[0] != []
    assert seen[1] == []  # the second task was its last
    assert seen[2] not in (seen[0], [])


def test_processes_have_no_secret_write_nothing_and_ignore_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    planted = {"AWS_SECRET_ACCESS_KEY": "planted-1", "PDFOCR_PASSWORDS": "planted-2", "OPENAI_API_KEY": "planted-3"}
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    path = written(tmp_path / "one.pdf", [HARMLESS])
    with RenderPool(RenderSettings(workers=1, render_memory_mb=700)) as pool:
        drawn(pool, path, 1)
        (pid,) = pool.pids
        process = psutil.Process(pid)
        assert "planted" not in str(process.environ()) + str(process.cmdline())
        assert process.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
        assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert process.rlimit(psutil.RLIMIT_AS) == (700 << 20, 700 << 20)
        assert 0 < process.rlimit(psutil.RLIMIT_CPU)[0] < 300
        # Of files it holds what it reads: no descriptor is open for writing but its standard error and its socket.
        assert [opened.path for opened in process.open_files() if opened.mode != "r"] == []
        for meant_for_the_run in (signal.SIGINT, signal.SIGTERM):
            os.kill(pid, meant_for_the_run)
            assert reasons(drawn(pool, path, 1)) == ["ok"]
            assert pool.pids == [pid]


RUN = """
import asyncio, os, sys
from pathlib import Path
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import RenderSettings
pool = RenderPool(RenderSettings(workers=1, page_render_timeout_s=600))
asyncio.run(pool.render(Path(sys.argv[1]), "pdf", [2]))
print(pool.pids[0], flush=True)
asyncio.run(pool.render(Path(sys.argv[1]), "pdf", [1]))
"""


def test_no_process_outlives_a_run_that_is_killed(tmp_path: Path):
    # Busy, so that it cannot notice by itself that its run is gone. The program has no guard for its main module.
    path = written(tmp_path / "slow.pdf", [slow(), HARMLESS])
    run = subprocess.Popen([sys.executable, "-c", RUN, str(path)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert run.stdout is not None
    child = psutil.Process(int(run.stdout.readline()))
    run.kill()
    run.wait()
    child.wait(timeout=10)


def test_processes_that_cannot_start_end_the_run_with_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Else every document of a collection would be reported as damaged.
    monkeypatch.setattr(sys, "executable", "/bin/false")
    path = written(tmp_path / "one.pdf", [HARMLESS])
    with RenderPool(RenderSettings(workers=1)) as pool, pytest.raises(ConfigurationError) as caught:
        drawn(pool, path, 1)
    assert caught.value.code == "renderer_start"
    assert caught.value.remedy
