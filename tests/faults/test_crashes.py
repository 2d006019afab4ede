"""Processes of a run killed at random moments, again and again, and what the next run makes of it."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import psutil
import pytest

from pdfocr_core.flow.scratch import sweep_writes
from pdfocr_core.scratch import scratch_folder, sweep_folders
from tests.documents import write_collection
from tests.faults.crashes import crash_rounds, is_alive, wait_until
from tests.faults.outcome import durable_texts
from tests.integration.conftest import Command

ROUNDS = int(os.environ.get("PDFOCR_CRASH_ROUNDS", "15"))
SEED = int(os.environ.get("PDFOCR_CRASH_SEED", "0"))


@pytest.mark.timeout(120 + 40 * ROUNDS)
def test_rounds_of_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n  seed {SEED}: {line}", end="", flush=True)

    tally = crash_rounds(tmp_path, ROUNDS, SEED, say)
    say(f"{tally}\n")
    assert tally.killed.total() == ROUNDS
    assert tally.durable > ROUNDS


def test_the_folder_of_a_run_that_is_gone_is_removed_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, alive, foreign = tmp_path / "pdfocr-dead", tmp_path / "pdfocr-alive", tmp_path / "pdfocr-notes"
    for folder in (dead, alive, foreign):
        folder.mkdir()
        (folder / "file").write_text("kept or not")
    for folder in (dead, alive):
        (folder / ".in-use").touch()
    with (alive / ".in-use").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with scratch_folder() as ours:
            assert not dead.exists()
            assert sweep_folders() == 0
            assert {folder.name for folder in tmp_path.iterdir()} == {alive.name, foreign.name, ours.name}
        assert not ours.exists()
    assert sweep_folders() == 1
    assert [folder.name for folder in tmp_path.iterdir()] == [foreign.name]


def test_writes_that_were_broken_off_are_removed_and_nothing_else(tmp_path: Path) -> None:
    names = [
        "pages/a.jsonl.zst",
        "pages/a.jsonl.zst#1",
        "markdown/deep/b.pdf.md#12",
        "markdown/c #1",
        "index/d.csv.zst#2",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (time.time() - 3600,) * 2)
    (tmp_path / "index/d.csv.zst#2").touch()  # someone writes it now
    assert sweep_writes(tmp_path) == 2
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"pages/a.jsonl.zst", "markdown/c #1", "index/d.csv.zst#2"}


@pytest.mark.parametrize("victim", ["guard", "server", "reader"])
def test_a_killed_process_of_the_servers_side_costs_no_page(pdfocr: Command, victim: str) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=3, pages=8)
    arguments = ("run", sources, "--engine", "cpu", "--workspace", pdfocr.workspace)
    process = pdfocr.start(*arguments, extra_environment={"PDFOCR_CHECKPOINT_INTERVAL_S": "0.1"})
    try:
        wait_until(lambda: process.poll() is not None or bool(durable_texts(pdfocr.workspace)))
        family = psutil.Process(process.pid).children(recursive=True)
        (guard,) = [one for one in family if is_guard(one)]
        (server,) = guard.children()
        {"guard": guard, "server": server, "reader": server.children()[-1]}[victim].kill()
        _stdout, stderr = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 0, stderr
    books = pdfocr.books()
    assert (books["balanced"], books["pages_ok"], books["by_status"]) == (True, 24, {"ok": 3})
    # What ends because the run is gone may need a moment.
    wait_until(lambda: not [one for one in family if is_alive(one)], 60)


def is_guard(process: psutil.Process) -> bool:
    try:
        return any(word.endswith("serving/guard.py") for word in process.cmdline())
    except psutil.NoSuchProcess:  # one that lives for a moment only
        return False
