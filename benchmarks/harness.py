"""What all benchmarks share: the stub server, a meter for whole commands, and the form of their results."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from pdfocr_core.serving.endpoint import free_port

RESULTS = Path("bench-results")
_SAMPLE_S = 0.2
_LOOKING_SHARE = 0.03  # of the time, at most
_PACKAGES = ("pdfocr", "dagster", "pypdfium2", "pillow", "httpx", "onnxruntime", "rapidocr")


@dataclass(slots=True)
class Usage:
    """What a command used, with all its children.

    Attributes:
        wall_s: from start to exit.
        cpu_s: user and system time.
        peak_mb: peak of the process tree's proportional set size, in MiB.
        memory: (seconds since the start, MiB), sampled.
        code: exit code.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    memory: list[tuple[float, float]] = field(default_factory=list)
    code: int = 0


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
    with_memory: bool = True,
) -> Usage:
    """Run a command to its end and measure it; without memory where every bit of processor time counts."""
    started = time.monotonic()
    child = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    memory: list[tuple[float, float]] = []
    done = threading.Event()

    def watch() -> None:
        pause = _SAMPLE_S
        while not done.wait(pause):
            began = time.monotonic()
            memory.append((round(began - started, 1), pss_mb(child.pid)))
            # Looking at a large tree takes tens of milliseconds, which must not be taken from what is measured.
            pause = max(_SAMPLE_S, (time.monotonic() - began) / _LOOKING_SHARE)

    errors: list[bytes] = []
    threads = [threading.Thread(target=lambda: errors.append(_all_of(child)))]
    if with_memory:
        threads.append(threading.Thread(target=watch))
    for thread in threads:
        thread.start()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    done.set()
    for thread in threads:
        thread.join()
    if child.returncode not in accept:
        raise SystemExit(f"{' '.join(argv)} ended with {child.returncode}:\n{errors[0][-3000:].decode()}")
    peak = max((size for _, size in memory), default=0.0)
    return Usage(wall, usage.ru_utime + usage.ru_stime, peak, memory, child.returncode)


def _all_of(child: subprocess.Popen[bytes]) -> bytes:
    assert child.stderr is not None  # noqa: S101 - it is a pipe
    with child.stderr as stream:
        return stream.read()


def pss_mb(pid: int) -> float:
    """Proportional set size of a process and all below it, in MiB; pages that they share count once."""
    total = 0
    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0.0
    for process in tree:
        try:
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


class Stub:
    """The stub server of `benchmarks.engine_stub`."""

    def __init__(self, *options: str) -> None:
        self._options = options

    def __enter__(self) -> Self:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.engine_stub", "--port", str(port), *self._options]
        )
        for _ in range(100):
            try:
                self.stats()
            except urllib.error.URLError:
                time.sleep(0.1)
            else:
                return self
        raise SystemExit("the stub server does not answer")

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def stats(self) -> dict[str, Any]:
        """What the server saw since it was reset."""
        return self._get("/stats")

    def reset(self) -> None:
        """Forget what was."""
        self._get("/reset")

    def _get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:  # noqa: S310 - our own stub
            found: dict[str, Any] = json.load(answer)
        return found


def pdfocr_run(sources: Path, workspace: Path, stub: Stub, *more: str) -> list[str]:
    """The command that reads a folder with the stub."""
    argv = [sys.executable, "-m", "pdfocr_dagster.cli", "run", str(sources), "--quiet", "--workspace", str(workspace)]
    return [*argv, "--engine", "remote", "--model", "pdfocr-cpu", "--server", f"{stub.url}/v1", *more]


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without settings of pdfocr and Dagster."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PDFOCR_", "DAGSTER_"))}
    return kept | more


def report(name: str, rows: Sequence[Mapping[str, Any]], dataset: str, **more: Any) -> None:
    """Print a table and write `bench-results/<name>.json`."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [[_shown(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in [columns, *cells]) for i in range(len(columns))]
    print(f"\n{name}: {dataset}")
    for line in [columns, *cells]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    for key, value in more.items():
        print(f"{key}: {_shown(value)}")
    RESULTS.mkdir(exist_ok=True)
    result = {"name": name, "dataset": dataset, "machine": machine(), "rows": rows, **more}
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else str(value)


def machine() -> dict[str, Any]:
    """Where it was measured, and with which versions."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "memory GiB": round(psutil.virtual_memory().total / 2**30, 1),
        "load": os.getloadavg()[0],
        "versions": dict(_versions()),
    }


def _versions() -> Iterator[tuple[str, str]]:
    for package in _PACKAGES:
        yield package, importlib.metadata.version(package)


@contextmanager
def quiet_hint() -> Iterator[None]:
    """Says so when other work on the machine makes the figures worth little."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"The machine is busy (load {load:.1f} on {cores} cores): trust ratios, not absolute figures.")
    yield
