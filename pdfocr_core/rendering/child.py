"""The rendering process: takes one request at a time over a socket and answers item by item.

Started by `worker.py` as a plain program, never by forking or by importing the parent's main module: it knows nothing
of the run, its environment holds no secret, and it ends when the run ends. Answers, in order:

    ("ready", None)     what all items of the request need is prepared (the document is open)
    ("item", value)     one for each item, good or bad
    ("refused", value)  nothing can be done for any item; ends the request
    ("end", None)       ends the request

A native crash, a lack of memory or a kill ends the process instead, and the parent knows by the answers so far which
item was to blame.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.rendering.model import Failure, LinesOfPage, OpenLimits, RenderOptions

__all__ = ["EXIT_MEMORY", "main"]

# How a process says that it ran out of memory in Python code; native code can only abort.
EXIT_MEMORY = 86
_PR_SET_PDEATHSIG = 1

Reply = tuple[str, Any]


def _open(path: Path, passwords: tuple[str, ...], limits: OpenLimits) -> Iterator[Reply]:
    from pdfocr_core.rendering.opening import open_document

    yield "item", open_document(path, passwords, limits)


def _render(
    path: Path, kind: str, password: str | None, pages: tuple[int, ...], options: RenderOptions
) -> Iterator[Reply]:
    from pdfocr_core.rendering.image import render_image_pages
    from pdfocr_core.rendering.pdf import render_pdf_pages

    is_image = kind == "image"
    results = render_image_pages(path, pages, options) if is_image else render_pdf_pages(path, password, pages, options)
    for result in results:
        yield ("ready", None) if result is None else ("item", result)


def _count(paths: tuple[str, ...]) -> Iterator[Reply]:
    from pdfocr_core.rendering.opening import count_pages

    yield "ready", None
    for path in paths:
        yield "item", count_pages(Path(path))


def _sample(path: Path, password: str | None, pages: int, want_form: bool) -> Iterator[Reply]:
    from pdfocr_core.rendering.sampling import sample_pdf

    yield "item", sample_pdf(path, password, pages, want_form=want_form)


def _searchable(
    path: Path, kind: str, password: str | None, pages: dict[int, LinesOfPage], options: RenderOptions
) -> Iterator[Reply]:
    from pdfocr_core.rendering.searchable import make_searchable

    for result in make_searchable(path, kind, password, pages, options):
        yield ("ready", None) if result is None else ("item", result)


_OPERATIONS: dict[str, Callable[..., Iterator[Reply]]] = {
    "open": _open,
    "render": _render,
    "count": _count,
    "sample": _sample,
    "searchable": _searchable,
}


def _answers(operation: str, arguments: tuple[Any, ...]) -> Iterator[Reply]:
    try:
        yield from _OPERATIONS[operation](*arguments)
    except DocumentError as error:
        yield "refused", Failure(error.reason, error.detail)
    except MemoryError:
        os._exit(EXIT_MEMORY)
    except Exception as error:  # noqa: BLE001 - whatever a damaged file provokes is that file's failure
        yield "refused", Failure(Reason.RENDERER_CRASHED, f"{type(error).__name__}: {error}")
    else:
        yield "end", None


def _allow_cpu(seconds: int) -> None:
    """Let the process compute that long from now on; after that it is ended, whether or not its parent looks."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _confine(memory_bytes: int, parent: int) -> None:
    """Limits that hold whatever the bytes of a document make this process do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent died before it could be tied to this process.
        sys.exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _measure() -> tuple[int, int]:
    """Peak of the resident memory and size of the address space, in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) if sys.platform == "linux" else 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, pages * resource.getpagesize()


def _import_readers() -> None:
    """Loads what every request needs before the limits hold and before the first clock runs."""
    # What PDFium's wrapper has to say is said once for each document, to nobody.
    logging.getLogger("pypdfium2").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    import pdfocr_core.rendering.image
    import pdfocr_core.rendering.opening
    import pdfocr_core.rendering.pdf  # noqa: F401


def main(arguments: list[str]) -> None:
    """Serves requests until the other end closes the socket."""
    descriptor, parent, memory_bytes, cpu_s = (int(argument) for argument in arguments)
    connection = Connection(descriptor)
    _import_readers()
    _confine(memory_bytes, parent)
    connection.send(("started", _measure()))
    with contextlib.suppress(EOFError, ConnectionError, BrokenPipeError):
        while True:
            operation, operands = connection.recv()
            _allow_cpu(cpu_s)
            for answer in _answers(operation, operands):
                connection.send(answer)
                _allow_cpu(cpu_s)


if __name__ == "__main__":
    main(sys.argv[1:])
