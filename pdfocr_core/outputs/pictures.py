"""Small pictures of pages, drawn again from the sources by the isolated renderer, for reports and previews."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pdfocr_core.documents import Document
from pdfocr_core.errors import DocumentError, PageError, PdfocrError
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.scratch import scratch_folder
from pdfocr_core.settings import RenderSettings, StorageSettings
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.store import store_opener

__all__ = ["DrawnPage", "PagePictures"]

_WORKERS = 1  # pictures are for looking at; the run has the machine


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A picture, or why there is none.

    Attributes:
        data_url: for an `img` element; empty when the page could not be drawn.
        layer: the page's own text where it is sound; None otherwise.
        problem: in plain words; empty when there is a picture.
    """

    data_url: str = ""
    width: int = 0
    height: int = 0
    layer: str | None = None
    problem: str = ""


class PagePictures:
    """A context manager that draws pages in a process of its own, started when the first page is asked for.

    Args:
        render: limits of the drawing process; size and format are ours.
        storage: how the sources' stores are reached.
        passwords: tried on encrypted PDFs.
        max_bytes: larger documents are not fetched for a picture.
    """

    def __init__(
        self,
        render: RenderSettings,
        storage: StorageSettings | None = None,
        *,
        passwords: Sequence[str] = (),
        max_bytes: int = 64 * 1024**2,
    ) -> None:
        small = {"workers": _WORKERS, "image_format": "jpeg", "jpeg_quality": 60}
        self._render = render.model_copy(update=small)
        self._storage, self._passwords, self._max_bytes = storage, tuple(passwords), max_bytes
        self._stack = ExitStack()
        self._parts: tuple[RenderPool, Fetcher, Path] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def draw(self, document: Document, page: int, *, longest_side: int, want_text: bool = False) -> DrawnPage:
        """Draw one page; whatever is wrong with its source is told and never raised."""
        if document.bytes > self._max_bytes:
            return DrawnPage(problem="The document is too large to be fetched again for a picture.")
        try:
            return self._draw(document, page, longest_side, want_text)
        except DocumentError as error:
            return DrawnPage(problem=f"No picture: {error.detail or error.reason.value}")
        except (PdfocrError, OSError) as error:
            return DrawnPage(problem=f"No picture: {error}")

    def _draw(self, document: Document, page: int, longest_side: int, want_text: bool) -> DrawnPage:
        pool, fetcher, folder = self._parts or self._start()
        fetched = fetcher.fetch(document, folder)
        try:
            return asyncio.run(self._drawn(pool, fetched.path, document.url, page, longest_side, want_text))
        finally:
            if fetched.temporary:
                fetched.path.unlink(missing_ok=True)

    def _start(self) -> tuple[RenderPool, Fetcher, Path]:
        folder = self._stack.enter_context(scratch_folder())
        fetcher = self._stack.enter_context(Fetcher(opener=store_opener(self._storage)))
        self._parts = (self._stack.enter_context(RenderPool(self._render)), fetcher, folder)
        return self._parts

    async def _drawn(
        self, pool: RenderPool, path: Path, name: str, page: int, longest_side: int, want_text: bool
    ) -> DrawnPage:
        opened = await pool.open(path, name, self._passwords)
        password = None if opened.password_index is None else self._passwords[opened.password_index]
        (drawn,) = await pool.render(
            path, opened.kind, [page], longest_side=longest_side, want_text=want_text, password=password
        )
        if isinstance(drawn, PageError):
            return DrawnPage(problem=f"No picture: {drawn.detail or drawn.reason.value}")
        sound = drawn.text is not None and drawn.text.sound and not drawn.text.over_image
        return DrawnPage(
            f"data:image/{drawn.format};base64,{drawn.image.decode('ascii')}",
            drawn.width,
            drawn.height,
            drawn.text.markdown if drawn.text is not None and sound else None,
        )
