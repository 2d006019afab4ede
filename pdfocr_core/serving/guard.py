"""Runs one command and lets nothing of it outlive the process that asked for it.

This file is run by path as a program of its own, so it imports the standard library only:

    python -I guard.py [--grace SECONDS] [--parent PID] -- COMMAND ARGUMENT…

Its standard input is a pipe that the run holds open. When the pipe closes (the run has ended, even by `kill -9`), when the
run's process is gone, on SIGTERM, SIGINT or SIGHUP, or when the command itself ends, the whole tree of descendants goes:
SIGTERM first, SIGKILL after the grace, until the process table shows none. A server's own children are found whatever
session or process group they made, because the guard is a "child subreaper": orphans become its children.

The exit code is the command's; 128 + N when signal N ended it, 127 when there is no such program.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LINUX = sys.platform == "linux"
# An orphan lost the parent that would have ended it in order, so long grace would only hold its memory longer.
ORPHAN_GRACE_S = 3.0


def set_process_option(option: int, value: int) -> None:
    """Call prctl(2); elsewhere than on Linux there is none, and the process group has to do."""
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def living_parents() -> dict[int, int]:
    """Parent by process for every process that is not a zombie."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        # The process may end between the listing and the reading.
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name in parentheses may itself hold spaces and parentheses.
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[0] not in {"Z", "X"}:
                parents[int(entry.name)] = int(fields[1])
    return parents


def descendants(root: int) -> list[int]:
    """Every living process below `root`."""
    children: dict[int, list[int]] = {}
    for pid, parent in living_parents().items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    open_ends = [root]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        found += below
        open_ends += below
    return found


def send(pids: list[int], number: signal.Signals) -> None:
    """Signal each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


class Guard:
    """The waiting half: notes every reason to end the command."""

    def __init__(self, parent: int) -> None:
        self.parent = parent
        self.asked_to_stop = False
        self.wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, self.on_signal)

    def on_signal(self, number: int, _frame: object) -> None:
        """Note what a signal asks for; the waiting loop acts on it."""
        if number != signal.SIGCHLD:
            self.asked_to_stop = True

    def wait(self, server: subprocess.Popen[bytes]) -> None:
        """Return once the command has ended or has to."""
        while not self.asked_to_stop and server.poll() is None:
            # The time-out is for a run that is gone while a forked child of it still holds the pipe.
            ready, _, _ = select.select([0, self.wake_read], [], [], 1.0)
            if self.wake_read in ready:
                os.read(self.wake_read, 4096)
            if 0 in ready and not os.read(0, 4096):
                self.asked_to_stop = True
            if self.parent and os.getppid() != self.parent:
                self.asked_to_stop = True
            reap(server)


def start(argv: list[str]) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own; should the guard itself be killed, the kernel asks it to end."""
    guard_pid = os.getpid()

    def die_with_guard() -> None:
        # SIGTERM and not SIGKILL: a server that is asked ends its own children, one that is killed leaves them.
        set_process_option(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != guard_pid:
            os._exit(1)

    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=die_with_guard,  # noqa: PLW1509 - the guard has a single thread
    )


def reap(server: subprocess.Popen[bytes]) -> None:
    """Collect orphans that ended, so that they do not pile up; the server's own end is left to its object."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None:
            return
        if ended.si_pid == server.pid:
            server.poll()
        else:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(ended.si_pid, os.WNOHANG)


def end_tree(server: subprocess.Popen[bytes], grace_s: float) -> None:
    """SIGTERM to the server; what is left without it gets its own; SIGKILL after the grace, until nothing lives."""
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    if server.poll() is None:
        send([server.pid], signal.SIGTERM)
    while pids := left(server):
        if server.poll() is not None and (orphans := [pid for pid in pids if pid not in asked]):
            send(orphans, signal.SIGTERM)
            asked.update(orphans)
            deadline = min(deadline, time.monotonic() + ORPHAN_GRACE_S)
        if time.monotonic() >= deadline:
            send(pids, signal.SIGKILL)
        time.sleep(0.05)
    if not LINUX:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(server.pid, signal.SIGKILL)


def left(server: subprocess.Popen[bytes]) -> list[int]:
    """What of the tree still lives."""
    reap(server)
    if LINUX:
        return descendants(os.getpid())
    return [server.pid] if server.poll() is None else []


def main() -> int:
    """Read the arguments and guard the command."""
    parser = argparse.ArgumentParser(description="Run a command whose whole process tree ends with its parent.")
    parser.add_argument("--grace", type=float, default=10.0, help="seconds from SIGTERM to SIGKILL")
    parser.add_argument("--parent", type=int, default=0, help="pid of the process to live and die with")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    set_process_option(PR_SET_CHILD_SUBREAPER, 1)
    guard = Guard(options.parent)
    try:
        server = start(options.command)
    except OSError as error:
        sys.stderr.write(f"cannot start {options.command[0]}: {error.strerror}\n")
        return 127
    guard.wait(server)
    end_tree(server, options.grace)
    code = server.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
