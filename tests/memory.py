"""How much memory a process and all its descendants hold: the proportional share (PSS), which counts shared pages once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

__all__ = ["Peak", "peak_of_tree"]


class Peak:
    """The highest values seen so far, in MiB.

    Attributes:
        mb: of the whole tree.
        main_mb: of the process itself.
        drawing_mb: resident memory of one drawing process.
    """

    def __init__(self) -> None:
        self.mb = 0.0
        self.main_mb = 0.0
        self.drawing_mb = 0.0

    def look(self, root: psutil.Process) -> None:
        """Take one sample; processes that end meanwhile count nothing."""
        try:
            tree = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        shares = [_pss_mb(process.pid) for process in tree]
        self.main_mb = max(self.main_mb, shares[0])
        self.mb = max(self.mb, sum(shares))
        self.drawing_mb = max(self.drawing_mb, *(_drawing_mb(process) for process in tree))


def _drawing_mb(process: psutil.Process) -> float:
    try:
        drawing = "pdfocr_core.rendering.child" in process.cmdline()
        return process.memory_info().rss / 2**20 if drawing else 0.0
    except psutil.Error:
        return 0.0


def _pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


@contextmanager
def peak_of_tree(pid: int, every_s: float = 0.1) -> Iterator[Peak]:
    """Watch a process and its descendants from outside until the end of the block."""
    peak, over, root = Peak(), threading.Event(), psutil.Process(pid)

    def watch() -> None:
        while not over.wait(every_s):
            peak.look(root)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
