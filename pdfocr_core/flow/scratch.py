"""What a killed run leaves on disk, and how the next one clears it away.

A run's temporary folder is told to be in use by a lock on a file in it. The kernel drops that lock with the process,
however it ends, so a folder whose lock can be had belongs to nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["scratch_folder", "sweep_folders", "sweep_writes"]

_PREFIX = "pdfocr-"
_LOCK = ".in-use"
# The store writes a file under its name with a number and then renames it; no file of ours has such a name.
_UNFINISHED = re.compile(r"\.(zst|json|jsonl|csv|md)#\d+$")
# A write takes seconds. One that is so old was broken off, by whichever run.
_ABANDONED_AFTER_S = 600.0


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


def sweep_writes(root: Path, *, older_than_s: float = _ABANDONED_AFTER_S) -> int:
    """Remove files of a local workspace whose writing was broken off. Returns how many there were."""
    removed = 0
    oldest = time.time() - older_than_s
    for path, _folders, names in os.walk(root):
        for name in filter(_UNFINISHED.search, names):
            file = Path(path, name)
            with contextlib.suppress(OSError):
                if file.stat().st_mtime <= oldest:
                    file.unlink()
                    removed += 1
    return removed
