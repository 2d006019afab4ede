"""Nothing that a run started outlives it, whoever is killed and how."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdfocr_core.serving import guard
from pdfocr_core.serving.process import OWNER_VARIABLE, ServerProcess, end_orphans
from tests.ports import quiet_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

STAND_IN = Path(__file__).with_name("stand_in_server.py")
RUN = """
import sys, time
from pdfocr_core.serving.process import ServerProcess
process = ServerProcess(grace_s=1.0)
process.start(sys.argv[1:])
print(process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def token() -> Iterator[str]:
    word = f"token-{uuid.uuid4().hex}"
    yield word
    guard.send(carrying(word), signal.SIGKILL)


def carrying(token: str) -> list[int]:
    """Living processes with the token on their command line."""
    found = []
    for pid in guard.living_parents():
        try:
            if token.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def wait_until(count: int, token: str, seconds: float = 120.0) -> list[int]:
    deadline = time.monotonic() + seconds
    while len(pids := carrying(token)) != count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == count, f"{len(pids)} processes, expected {count}"
    return pids


def command(token: str) -> list[str]:
    return [sys.executable, str(STAND_IN), "--port", str(quiet_port()), "--token", token]


def start(token: str) -> tuple[ServerProcess, int]:
    """A running server: guard, server and stubborn grandchild, and the server's pid."""
    process = ServerProcess(grace_s=1.0)
    process.start(command(token))
    wait_until(3, token)
    parents = guard.living_parents()
    (server,) = [pid for pid in carrying(token) if parents[pid] == process.pid]
    return process, server


def start_run(token: str) -> subprocess.Popen[str]:
    run = subprocess.Popen([sys.executable, "-c", RUN, *command(token)], stdout=subprocess.PIPE, text=True)
    # The run itself carries the token too.
    wait_until(4, token)
    return run


def test_stop_ends_the_whole_tree(token: str) -> None:
    process, _ = start(token)
    process.stop()
    assert carrying(token) == []
    assert not process.running()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_run_ends_the_whole_tree(token: str, number: signal.Signals) -> None:
    run = start_run(token)
    run.send_signal(number)
    run.wait(60)
    wait_until(0, token)


def test_a_killed_run_is_noticed_though_a_fork_of_it_holds_the_pipe(token: str) -> None:
    forking = RUN.replace("time.sleep(600)", "import os; os.fork(); time.sleep(600)")
    run = subprocess.Popen([sys.executable, "-c", forking, *command(token)], stdout=subprocess.DEVNULL)
    wait_until(5, token)
    run.kill()
    run.wait(60)
    # Only the fork is left.
    wait_until(1, token)


def test_the_death_of_the_server_ends_what_it_left(token: str) -> None:
    process, server = start(token)
    os.kill(server, signal.SIGKILL)
    wait_until(0, token)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)  # the guard itself goes a moment after the tree
    assert process.poll() == 128 + signal.SIGKILL


def test_the_death_of_the_guard_ends_the_server_and_poll_the_rest(token: str) -> None:
    process, _ = start(token)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert carrying(token) == []
    assert process.poll() == 128 + signal.SIGKILL


def test_run_and_guard_killed_together_leave_orphans_that_the_next_start_ends(token: str) -> None:
    run = start_run(token)
    assert run.stdout is not None
    guard_pid = int(run.stdout.readline())
    # Stopped first, so that the guard cannot act on the run's death before it dies itself.
    os.kill(guard_pid, signal.SIGSTOP)
    run.kill()
    run.wait(60)
    os.kill(guard_pid, signal.SIGKILL)
    # The kernel asks the server to end; its grandchild does not care.
    wait_until(1, token)
    assert end_orphans(grace_s=0.2) >= 1
    wait_until(0, token)


def test_servers_of_a_living_run_are_no_orphans(token: str) -> None:
    process, _ = start(token)
    before = sorted(carrying(token))
    end_orphans(grace_s=0.2)
    assert sorted(carrying(token)) == before
    process.stop()


def test_marks_of_another_container_or_form_are_left_alone(token: str) -> None:
    strangers = [
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", token], env={OWNER_VARIABLE: mark})
        for mark in ("1:999999:1:1", "nonsense", "")
    ]
    wait_until(3, token)
    end_orphans(grace_s=0.2)
    assert len(carrying(token)) == 3
    for stranger in strangers:
        stranger.kill()
        stranger.wait()


def test_the_exit_code_is_the_commands() -> None:
    process = ServerProcess()
    process.start([sys.executable, "-c", "raise SystemExit(7)"])
    assert wait_for_code(process) == 7


def test_a_missing_program_is_said_so() -> None:
    process = ServerProcess()
    process.start(["/no/such/program"])
    assert wait_for_code(process) == 127
    assert "cannot start /no/such/program: No such file or directory" in process.tail()


def test_the_log_has_no_secret_and_no_control_characters() -> None:
    process = ServerProcess(secrets=["geheim-1234"])
    text = r"print('\x1b[31mred\x1b[0m key geheim-1234'); print('a\rb\rlast')"
    process.start([sys.executable, "-c", text])
    wait_for_code(process)
    assert process.tail()[0] == "red key ***"
    assert process.tail()[-1] == "last"


def wait_for_code(process: ServerProcess) -> int | None:
    deadline = time.monotonic() + 60
    while process.running() and time.monotonic() < deadline:
        time.sleep(0.02)
    return process.poll()
