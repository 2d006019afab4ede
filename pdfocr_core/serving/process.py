"""A server as a child of the run: started behind the guard, its output pumped into the log, ended with its whole tree.

Every process of the tree carries a mark in its environment that names the run, so that what an earlier run of ours left
behind (its guard killed too) can be told from everything else and ended.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pdfocr_core.serving import guard

__all__ = ["OWNER_VARIABLE", "ServerProcess", "end_orphans"]

OWNER_VARIABLE = "PDFOCR_SERVER_OF"
TAIL_LINES = 200
MAX_LINE = 2000
# A progress bar redraws its line many times a second; one redraw in a while is enough for a log.
REDRAW_INTERVAL_S = 5.0
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")

logger = logging.getLogger("pdfocr.server")


class ServerProcess:
    """One command and everything that it starts.

    Args:
        name: what the log calls it.
        grace_s: seconds from SIGTERM to SIGKILL when it is ended.
        secrets: strings that never reach the log, should the server print them.
    """

    def __init__(self, name: str = "server", *, grace_s: float = 10.0, secrets: Iterable[str] = ()) -> None:
        self.name = name
        self.grace_s = grace_s
        self._secrets = tuple(secret for secret in secrets if secret)
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)
        self._guard: subprocess.Popen[bytes] | None = None
        self._pump: threading.Thread | None = None
        self._mark = ""
        self._swept = False
        self._last_redraw = 0.0

    @property
    def pid(self) -> int | None:
        """The guard's process; the server is its child."""
        return self._guard.pid if self._guard else None

    def start(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Start the command; `env` comes on top of this process's own environment."""
        if self.poll() is None and self._guard is not None:
            raise RuntimeError(f"{self.name} is already running")
        self._lines.clear()
        self._swept = False
        self._mark = f"{_owner_mark(os.getpid())}:{time.monotonic_ns()}"
        # SPT_NOENV: without it a process that renames itself (vLLM's do) writes over the environment the mark is in.
        environment = {**os.environ, **(env or {}), OWNER_VARIABLE: self._mark, "SPT_NOENV": "1"}
        self._guard = subprocess.Popen(
            [
                *(sys.executable, "-I", guard.__file__),
                *("--grace", str(self.grace_s), "--parent", str(os.getpid()), "--"),
                *argv,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        self._pump = threading.Thread(
            target=self._read_output, args=(self._guard,), name=f"{self.name}-log", daemon=True
        )
        self._pump.start()

    def poll(self) -> int | None:
        """The exit code once it has ended (128 + N for signal N); None while it runs or was never started."""
        if self._guard is None:
            return None
        code = self._guard.poll()
        if code is None:
            return None
        if code < 0:
            if not self._swept:
                # The guard was killed, so the tree is ours to end.
                self._swept = True
                _end(_marked(self._mark), self.grace_s)
            code = 128 - code
        if self._pump is not None and self._pump is not threading.current_thread():
            self._pump.join(timeout=10.0)  # its last lines say why it ended
        return code

    @property
    def lost_guard(self) -> bool:
        """Whether the guard was killed, so that nothing is known of how the command would have ended."""
        return self._guard is not None and (self._guard.poll() or 0) < 0

    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._guard is not None and self.poll() is None

    def stop(self) -> int | None:
        """End the whole tree and return the exit code; does nothing when it has ended or was never started."""
        if self._guard is None:
            return None
        if self._guard.stdin is not None:
            with contextlib.suppress(OSError):
                self._guard.stdin.close()
        try:
            self._guard.wait(self.grace_s + 10.0)
        except subprocess.TimeoutExpired:
            logger.warning("%s does not end; killing what carries its mark", self.name)
            _end(_marked(self._mark), 0.0)
            self._guard.kill()
        return self.poll()

    def tail(self, lines: int = TAIL_LINES) -> list[str]:
        """The last lines that it wrote."""
        return list(self._lines)[-lines:]

    def _read_output(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101 - asked for with PIPE
        pending = b""
        with process.stdout as stream:
            while chunk := os.read(stream.fileno(), 65536):
                pending = (pending + chunk).replace(b"\r\n", b"\n")
                *complete, pending = re.split(rb"(?<=[\r\n])", pending)
                for line in complete:
                    self._take(line)
                if len(pending) > MAX_LINE:
                    self._take(pending)
                    pending = b""
        self._take(pending)

    def _take(self, raw: bytes) -> None:
        redraw = raw.endswith(b"\r")
        line = _CONTROL.sub("", raw.decode("utf-8", "replace")).rstrip()[:MAX_LINE]
        if not line:
            return
        for secret in self._secrets:
            line = line.replace(secret, "***")
        if redraw:
            now = time.monotonic()
            if now - self._last_redraw < REDRAW_INTERVAL_S:
                return
            self._last_redraw = now
        self._lines.append(line)
        logger.info("[%s] %s", self.name, line)


def end_orphans(grace_s: float = 5.0) -> int:
    """End servers of earlier runs whose run is gone; returns how many processes that were."""
    orphans = {pid: mark for pid, mark in _marks().items() if _owner_is_gone(mark)}
    if orphans:
        logger.warning("Ending %d processes that an earlier run left behind", len(orphans))
        _end(sorted(orphans), grace_s)
    return len(orphans)


def _owner_mark(pid: int) -> str:
    """Process namespace, pid and start time: a pid alone may be another process's by now, or of another container."""
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
        return f"{namespace}:{pid}:{_start_time(pid)}"
    except OSError:
        return f"0:{pid}:0"


def _start_time(pid: int) -> str:
    """When the process began, in the kernel's ticks; empty when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in {"Z", "X"} else fields[19]


def _owner_is_gone(mark: str) -> bool:
    parts = mark.split(":")
    if len(parts) != 4 or not parts[1].isdigit():
        return False
    namespace, pid, started, _ = parts
    own_namespace = _owner_mark(os.getpid()).split(":", 1)[0]
    return namespace == own_namespace != "0" and _start_time(int(pid)) != started


def _marks() -> dict[int, str]:
    """The mark of every process that carries one and that we may look at."""
    wanted = f"{OWNER_VARIABLE}=".encode()
    marks: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for variable in (entry / "environ").read_bytes().split(b"\0"):
                if variable.startswith(wanted):
                    marks[int(entry.name)] = variable[len(wanted) :].decode("ascii", "replace")
    marks.pop(os.getpid(), None)
    return marks


def _marked(mark: str) -> list[int]:
    return [pid for pid, found in _marks().items() if found == mark]


def _end(pids: Sequence[int], grace_s: float) -> None:
    """SIGTERM, the grace, SIGKILL; descendants that lost the mark are found through their parents."""
    everyone = sorted({*pids, *(child for pid in pids for child in guard.descendants(pid))})
    started = {pid: _start_time(pid) for pid in everyone}
    deadline = time.monotonic() + grace_s
    guard.send(everyone, signal.SIGTERM)
    while left := [pid for pid in everyone if started[pid] and _start_time(pid) == started[pid]]:
        if time.monotonic() >= deadline:
            guard.send(left, signal.SIGKILL)
        if time.monotonic() >= deadline + 10.0:
            logger.warning("Processes %s do not end even by SIGKILL", left)
            return
        time.sleep(0.05)
