"""One rendering process as the run sees it: started when needed, asked, watched by a clock, killed and replaced."""

from __future__ import annotations

import math
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from pdfocr_core.errors import ConfigurationError, Reason
from pdfocr_core.rendering.child import EXIT_MEMORY
from pdfocr_core.rendering.model import Failure

__all__ = ["Clock", "Clocks", "Worker", "WorkerLost"]

# All that a rendering process gets of the environment; whatever holds a secret stays outside.
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LD_LIBRARY_PATH", "PYTHONHOME", "VIRTUAL_ENV")
# One thread a process: the parallelism is in the processes, and threads of libraries cost address space.
_SET_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONNOUSERSITE": "1",
}
# A process whose socket closed is dying: its exit code is worth this wait, which is long on a starved machine only.
_LAST_BREATH_S = 20.0
# Bytes of one answer come in one go; a process that stops in the middle of it is stuck.
_STALLED_S = 30
# A process that aborts with this part of its allowance in use was refused more.
_MEMORY_SHARE = 0.7
_PACKAGE_ROOT = str(Path(__file__).absolute().parents[2])


class Clock(NamedTuple):
    """How long something may take, and the setting that says so."""

    setting: str
    seconds: float


class Clocks(NamedTuple):
    """The clocks of a request: until it is ready, and then for each item."""

    ready: Clock
    item: Clock


# Import of the readers on a busy machine.
_START = Clock("the start of a process", 120.0)
_STARTS = 3
_START_REMEDY = "What they wrote to the log says what is missing. If nothing does, raise render_memory_mb."


class Baseline(NamedTuple):
    """What a process measured before its first request, in bytes."""

    peak_bytes: int
    address_bytes: int


class WorkerLost(Exception):
    """The process ended, or was ended, before it answered."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Worker:
    """A handle on at most one living process; used by one thread at a time, `kill` from any."""

    def __init__(self, memory_mb: int, requests_per_process: int, cpu_s: float) -> None:
        self._memory_bytes = memory_mb << 20
        self._cpu_s = math.ceil(cpu_s)
        self._requests_per_process = requests_per_process
        self._requests = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._baseline = Baseline(0, 0)
        # Guards `_process`: a number that was reaped may belong to a stranger and must not be killed.
        self._lock = threading.Lock()
        self._killed = False
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process, if one is alive."""
        process = self._process
        return process.pid if process else None

    def ask(self, operation: str, arguments: tuple[Any, ...], clocks: Clocks) -> Iterator[tuple[str, Any]]:
        """Sends one request and yields its answers up to and including the last.

        Raises:
            WorkerLost: the process died, hung or was killed; the next request gets a new one.
            ConfigurationError: no process can be started at all, so no document can be read.
        """
        if self._connection is None:
            self._start_somehow()
        assert self._connection is not None  # noqa: S101 - for the type checker
        finished = False
        try:
            self._connection.send((operation, arguments))
            clock = clocks.ready
            while not finished:
                kind, value = self._receive(clock)
                finished = kind in ("end", "refused")
                yield kind, value
                clock = clocks.item
        except (OSError, EOFError) as error:
            raise WorkerLost(self._bury()) from error
        finally:
            # Answers that nobody fetched would be taken for those of the next request.
            if not finished and self._connection is not None:
                self._end()
        self._requests += 1
        if self._requests >= self._requests_per_process:
            self._end()

    def kill(self) -> None:
        """Ends the process at once; whoever waits for its answer is told."""
        with self._lock:
            if self._process is not None:
                self._killed = True
                os.kill(self._process.pid, signal.SIGKILL)

    def forbid(self) -> None:
        """Ends the process and lets no other be started; from any thread."""
        with self._lock:
            self._closed = True
        self.kill()

    def close(self) -> None:
        """Ends the process for good."""
        self.forbid()
        self._end()

    def _receive(self, clock: Clock) -> tuple[str, Any]:
        assert self._connection is not None  # noqa: S101 - for the type checker
        started = time.monotonic()
        if not self._connection.poll(clock.seconds):
            used = time.monotonic() - started
            self._end()
            detail = f"{clock.setting} allows {clock.seconds:g} s; after {used:.1f} s the process was killed."
            raise WorkerLost(Failure(Reason.RENDERER_TIMEOUT, detail))
        answer: tuple[str, Any] = self._connection.recv()
        return answer

    def _start_somehow(self) -> None:
        for _ in range(_STARTS):
            try:
                self._start()
            except WorkerLost as lost:
                if self._killed or self._closed:
                    raise
                # A process may be killed at any moment, also in its first; but not time after time.
                failure = lost.failure
            else:
                return
        raise ConfigurationError(
            f"The rendering processes do not start. {failure.detail}", code="renderer_start", remedy=_START_REMEDY
        )

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _STALLED_S, 0))
            command = [sys.executable, "-P", "-m", "pdfocr_core.rendering.child"]
            command += [str(theirs.fileno()), str(os.getpid()), str(self._memory_bytes), str(self._cpu_s)]
            with self._lock:
                if self._closed:
                    ours.close()
                    raise WorkerLost(Failure(Reason.RENDERER_CRASHED, "The rendering processes were closed."))
                self._killed = False
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), env=_environment()
                )
        self._connection = Connection(ours.detach())
        self._requests = 0
        try:
            self._baseline = Baseline(*self._receive(_START)[1])
        except (OSError, EOFError) as error:
            raise WorkerLost(self._bury()) from error

    def _end(self) -> None:
        """Kills the process, if there is one, and clears it away. It holds nothing that a kill could harm."""
        self.kill()
        self._reap(patience_s=0.0)

    def _bury(self) -> Failure:
        """Clears away a process that broke off, and says what became of it."""
        was_killed = self._killed
        code, peak_bytes = self._reap(_LAST_BREATH_S)
        if was_killed:
            return Failure(Reason.RENDERER_CRASHED, "The process was ended by the run.")
        return _explain(code, peak_bytes, self._baseline, self._memory_bytes)

    def _reap(self, patience_s: float) -> tuple[int, int]:
        """Waits for the end of the process, killing it when patience is over: its exit code and peak memory."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        process = self._process
        if process is None:
            return 0, 0
        deadline = time.monotonic() + patience_s
        while True:
            with self._lock:
                # `Popen` would throw away how much memory the process used.
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    self._process = None
                    process.returncode = os.waitstatus_to_exitcode(status)
                    return process.returncode, usage.ru_maxrss << 10
            if time.monotonic() >= deadline:
                self.kill()
            time.sleep(0.002)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith("LC_")}
    paths = [_PACKAGE_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**kept, **_SET_VARIABLES, "PYTHONPATH": os.pathsep.join(paths)}


def _explain(code: int, peak_bytes: int, baseline: Baseline, allowed_bytes: int) -> Failure:
    """What an exit code means. Native code that is refused memory aborts; only its size tells that from a crash."""
    allowed = f"{allowed_bytes >> 20} MiB"
    if code == EXIT_MEMORY:
        return Failure(Reason.RENDERER_MEMORY, f"More memory was needed than the {allowed} allowed.")
    if code == -signal.SIGXCPU:
        return Failure(Reason.RENDERER_TIMEOUT, "The process computed longer than any clock of a call allows.")
    if code == -signal.SIGKILL:
        return Failure(
            Reason.RENDERER_MEMORY, "The process was killed from outside, as when the machine is out of memory."
        )
    # A process takes over the peak of the one that started it: only a higher one is its own.
    own_peak = peak_bytes if peak_bytes > baseline.peak_bytes else 0
    if own_peak >= _MEMORY_SHARE * (allowed_bytes - baseline.address_bytes):
        return Failure(
            Reason.RENDERER_MEMORY, f"The renderer gave up at {own_peak >> 20} MiB of the {allowed} allowed."
        )
    if code < 0:
        return Failure(Reason.RENDERER_CRASHED, f"The renderer died of {signal.Signals(-code).name}.")
    return Failure(Reason.RENDERER_CRASHED, f"The renderer ended with code {code}.")
