"""What runs in the OCR processes. Heavy imports wait until there: the server itself needs none of them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

    from pdfocr_core.cpu_engine.answer import Answer
    from pdfocr_core.cpu_engine.reader import PageReader
    from pdfocr_core.cpu_engine.request import PageRequest

__all__ = ["load", "read_page"]

PR_SET_PDEATHSIG = 1

_reader: PageReader | None = None


def load(model: str, parent: int, loaded: Synchronized[int], failed: Synchronized[int]) -> None:
    """Prepare this process: load the models, read one page so that everything lazy is there, then count as loaded."""
    global _reader  # noqa: PLW0603 - one reader a process is the point
    _live_and_die_with(parent)
    # Processes do the work side by side; libraries that start threads of their own would only get in their way.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    try:
        from pdfocr_core.cpu_engine.reader import PageReader

        reader = PageReader(model)
        reader.read(_first_page())
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        with failed.get_lock():
            failed.value += 1
        raise
    _reader = reader
    with loaded.get_lock():
        loaded.value += 1


def read_page(asked: PageRequest) -> Answer:
    """Read one picture in this process."""
    if _reader is None:
        raise RuntimeError("this process has not loaded the models")
    return _reader.read(asked.picture, keep_margins=asked.keep_margins)


def _live_and_die_with(parent: int) -> None:
    """Be gone when the server is, even when it was killed, and at once when told to end in the middle of a page."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _first_page() -> bytes:
    import io

    from PIL import Image, ImageDraw

    page = Image.new("RGB", (640, 800), "white")
    ImageDraw.Draw(page).text((60, 60), "This page warms the models up.", fill="black", font_size=28)
    data = io.BytesIO()
    page.save(data, "PNG")
    return data.getvalue()
