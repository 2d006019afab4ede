"""Folders that a command makes and then has no use for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pdfocr_core.store import is_url

__all__ = ["no_empty_folder"]


@contextlib.contextmanager
def no_empty_folder(workspace: str) -> Iterator[None]:
    """Take a workspace's folder away again when it was made in here and nothing was written to it."""
    if is_url(workspace) or Path(workspace).exists():
        yield
        return
    try:
        yield
    finally:
        # Only ever an empty one goes; where another command has written meanwhile, this fails.
        with contextlib.suppress(OSError):
            Path(workspace).rmdir()
