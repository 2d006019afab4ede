"""What the C library keeps of freed memory."""

from __future__ import annotations

import contextlib
import ctypes

__all__ = ["give_back"]


def give_back() -> None:
    """Have freed memory returned to the system.

    glibc keeps what many small texts have left free, and puts large ones beside it: a long document would take its room
    twice. Takes milliseconds; elsewhere than on glibc nothing happens.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
