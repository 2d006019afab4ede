"""Whether it was SIGTERM that interrupted a run: a machine that goes away, and not somebody at the keyboard.

Dagster turns both into the same exception, and holds it back while it stores events. A run that somebody ends, in the
terminal or in the UI, ends at once; one whose machine is taken away has some time left, in which pages that are nearly
read are worth waiting for.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["on_sigterm"]

_OVER = b"\0"  # the number of no signal


@contextmanager
def on_sigterm(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell`, from another thread, when SIGTERM comes, whoever handles it.

    Only the main thread is interrupted by Dagster; entered in any other, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def watch() -> None:
        with open(reader, "rb", buffering=0) as numbers:  # noqa: PTH123 - a descriptor
            while (number := numbers.read(1)) not in (b"", _OVER):
                if number[0] == signal.SIGTERM:
                    tell()

    thread = threading.Thread(target=watch, name="pdfocr-sigterm", daemon=True)
    thread.start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.write(writer, _OVER)  # a process that was forked meanwhile may hold the other end open
        os.close(writer)
