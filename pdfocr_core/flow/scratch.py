"""What a killed run leaves in a workspace, and how the next one clears it away."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

__all__ = ["sweep_writes"]

# The store writes a file under its name with a number and then renames it; no file of ours has such a name.
_UNFINISHED = re.compile(r"\.(zst|json|jsonl|csv|parquet|html|md)#\d+$")
# A write takes seconds. One that is so old was broken off, by whichever run.
_ABANDONED_AFTER_S = 600.0


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
