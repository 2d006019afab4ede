"""The engines that are compared, each in a process of its own, so that time and memory are told apart."""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["FAST", "LOOKING", "NAMES", "OURS", "RAPIDOCR", "TESSERACT", "WHOLE", "Reader", "Reading", "readers"]

OURS, RAPIDOCR, TESSERACT = "pdfocr", "RapidOCR", "tesseract"
FAST = "pdfocr fast"
NAMES = (OURS, FAST, RAPIDOCR, TESSERACT)
WHOLE, LOOKING = "pdfocr with margins", "pdfocr, one look"

Read = Callable[[bytes], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an engine made of a picture.

    Attributes:
        turn: degrees counter-clockwise by which it found the picture to be turned first.
        cpu_s: user and system time of all its threads and programs.
        peak_mb: the most memory its process has had until now.
    """

    text: str
    turn: int
    cpu_s: float
    peak_mb: float


def _ours(model: str = "", *, keep_margins: bool = False) -> Read:
    """Our engine as the run uses it: a page that lies on its side is turned and read again."""
    from PIL import Image

    from pdfocr_core.cpu_engine.models import DEFAULT_MODEL
    from pdfocr_core.cpu_engine.reader import PageReader

    reader = PageReader(model or DEFAULT_MODEL)

    def read(data: bytes) -> tuple[str, int]:
        answer = reader.read(data, keep_margins=keep_margins)
        if not answer.turn:
            return answer.markdown, 0
        turned = io.BytesIO()
        with Image.open(io.BytesIO(data)) as image:
            image.rotate(answer.turn, expand=True).save(turned, "JPEG", quality=95, subsampling=0)
        return reader.read(turned.getvalue(), keep_margins=keep_margins).markdown, answer.turn

    return read


def _ours_whole() -> Read:
    """Our engine told to keep page numbers and running heads, as text layers and the others do."""
    return _ours(keep_margins=True)


def _ours_fast() -> Read:
    """The same with the fast models."""
    return _ours("fast", keep_margins=True)


def _one_look() -> Read:
    """Our engine, which says how a page is to be turned and leaves it at that."""
    from pdfocr_core.cpu_engine.reader import PageReader

    reader = PageReader()

    def read(data: bytes) -> tuple[str, int]:
        answer = reader.read(data)
        return answer.markdown, answer.turn

    return read


def _rapidocr() -> Read:
    """RapidOCR as its constructor makes it; its lines as they come, one below the other."""
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "critical"})

    def read(data: bytes) -> tuple[str, int]:
        return "\n".join(getattr(engine(data), "txts", None) or ()), 0

    return read


def _tesseract() -> Read:
    """Tesseract with orientation and script detection; one thread, as its threads only cost time."""
    program = shutil.which("tesseract")
    if program is None:
        raise SystemExit(
            "tesseract is not installed; it is what the engine is compared with: apt-get install tesseract-ocr"
        )
    environment = os.environ | {"OMP_THREAD_LIMIT": "1"}

    def read(data: bytes) -> tuple[str, int]:
        argv = [program, "stdin", "stdout", "--psm", "1"]
        done = subprocess.run(argv, input=data, env=environment, capture_output=True, check=False)
        # It fails on a picture of a few pixels' height; there is no text then.
        return done.stdout.decode("utf-8", "replace"), 0

    return read


_MAKERS: dict[str, Callable[[], Read]] = {
    OURS: _ours,
    WHOLE: _ours_whole,
    FAST: _ours_fast,
    LOOKING: _one_look,
    RAPIDOCR: _rapidocr,
    TESSERACT: _tesseract,
}


class Reader:
    """One engine, in a process that ends with this object; it has read a page before the first that counts."""

    def __init__(self, name: str) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(name, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.read(_first_page())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join()

    def read(self, picture: bytes) -> Reading:
        """Read a picture."""
        try:
            self._pipe.send_bytes(picture)
            answer = self._pipe.recv()
        except (EOFError, OSError):
            raise SystemExit(f"{self.name} ended while it read a page") from None
        assert isinstance(answer, Reading)  # noqa: S101 - our own process
        return answer


@contextmanager
def readers(**kinds: str) -> Iterator[dict[str, Reader]]:
    """Several at once, each under the name that it has in tables."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Reader(kind)) for name, kind in kinds.items()}


def _serve(name: str, pipe: Connection) -> None:
    read = _MAKERS[name]()
    while True:
        try:
            picture = pipe.recv_bytes()
        except EOFError:
            return
        before = _cpu_s()
        text, turn = read(picture)
        pipe.send(Reading(text, turn, _cpu_s() - before, _peak_mb()))


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def _first_page() -> bytes:
    """A line of text: models are loaded when the first page is read."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (800, 400), "white")
    ImageDraw.Draw(image).text((40, 150), "The first page is not measured.", "black", ImageFont.load_default(40))
    data = io.BytesIO()
    image.save(data, "JPEG")
    return data.getvalue()
