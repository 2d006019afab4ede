"""Temporary folders that do not outlive their process for long, however it ends.

A folder is told to be in use by a lock on a file in it. The kernel drops that lock with the process, so a folder whose
lock can be had belongs to nobody, and whoever makes the next one removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["scratch_folder", "sweep_folders"]

_PREFIX = "pdfocr-"
_LOCK = ".in-use"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder that goes with this block, or, should the process be killed, with the next run's start."""
    sweep_folders()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    fresh = folder / f"{_LOCK}.new"
    with fresh.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Locked before it has its name: nobody sees it free.
        fresh.rename(folder / _LOCK)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def sweep_folders() -> int:
    """Remove temporary folders whose run is gone. Returns how many there were."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            # Through no link, and only what is this user's: the folder of temporary files is everybody's.
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
                removed += 1
    return removed
