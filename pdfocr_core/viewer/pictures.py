"""Pictures of pages, drawn from the source when somebody looks at them."""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pdfocr_core.documents import Document
from pdfocr_core.errors import PageError, PdfocrError, Reason, remedy_for
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import RenderSettings
from pdfocr_core.sources.fetch import FetchedDocument, Fetcher
from pdfocr_core.store import StoreOpener, open_store
from pdfocr_core.workspace import Workspace

__all__ = ["NoPicture", "Pictures"]

_OPEN_DOCUMENTS = 4
_CACHE_BYTES = 64 * 1024**2
_QUALITY = 82


class NoPicture(Exception):
    """The page cannot be shown; the message is for people."""

    def __init__(self, reason: str, detail: str, remedy: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail
        self.remedy = remedy or remedy_for(reason)


@dataclass(frozen=True, slots=True)
class _Open:
    fetched: FetchedDocument
    kind: str
    password: str | None


class Pictures:
    """Draws pages in processes of their own; the last documents stay at hand in `folder`, the last pictures in memory.

    Use as a context manager, within one event loop.
    """

    def __init__(
        self,
        workspace: Workspace,
        folder: Path,
        *,
        longest_side: int = 1400,
        workers: int = 1,
        passwords: Sequence[str] = (),
        opener: StoreOpener = open_store,
    ) -> None:
        self._workspace = workspace
        self._passwords = tuple(passwords)
        self._folder = folder
        self._fetcher = Fetcher(opener=opener)
        settings = RenderSettings(workers=workers, longest_side_px=longest_side, jpeg_quality=_QUALITY)
        self._pool = RenderPool(settings)
        self._documents: OrderedDict[str, _Open] = OrderedDict()
        self._drawn: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._drawn_bytes = 0
        # One at a time: a document that is in use is never dropped, and a click never starts many downloads.
        self._turn = asyncio.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()
        self._fetcher.close()

    async def draw(self, group: str, document_id: str, page: int, rotation: int = 0) -> bytes:
        """One page as a JPEG, turned as the accepted picture was.

        Raises:
            NoPicture: the source is gone, is another one now, or cannot be drawn.
        """
        wanted = (document_id, page, rotation)
        if wanted not in self._drawn:
            [drawn] = await self.draw_some(group, document_id, [(page, rotation)])
            if isinstance(drawn, NoPicture):
                raise drawn
            self._remember(wanted, drawn)
            return drawn
        self._drawn.move_to_end(wanted)
        return self._drawn[wanted]

    async def draw_some(
        self, group: str, document_id: str, pages: Sequence[tuple[int, int]]
    ) -> list[bytes | NoPicture]:
        """Pages of one document, each with its turn, drawn side by side: for each the picture or why there is none."""
        async with self._turn:
            try:
                document = await self._open(group, document_id)
            except NoPicture as error:
                return [error] * len(pages)
            except (PdfocrError, OSError) as error:
                return [_no_picture(error)] * len(pages)
            return list(await asyncio.gather(*(self._render(document, *page) for page in pages)))

    async def _render(self, document: _Open, page: int, rotation: int) -> bytes | NoPicture:
        [drawn] = await self._pool.render(
            document.fetched.path, document.kind, [page], rotation=rotation, password=document.password
        )
        return _no_picture(drawn) if isinstance(drawn, PageError) else base64.b64decode(drawn.image)

    async def _open(self, group: str, document_id: str) -> _Open:
        if document_id in self._documents:
            self._documents.move_to_end(document_id)
            return self._documents[document_id]
        fetched = await asyncio.to_thread(self._fetch, group, document_id)
        try:
            found = await self._pool.open(fetched.path, document_id, self._passwords)
        except BaseException:
            _drop(fetched)
            raise
        password = None if found.password_index is None else self._passwords[found.password_index]
        self._documents[document_id] = _Open(fetched, found.kind, password)
        if len(self._documents) > _OPEN_DOCUMENTS:
            _drop(self._documents.popitem(last=False)[1].fetched)
        return self._documents[document_id]

    def _fetch(self, group: str, document_id: str) -> FetchedDocument:
        return self._fetcher.fetch(self._manifest_entry(group, document_id), self._folder)

    def _manifest_entry(self, group: str, document_id: str) -> Document:
        try:
            documents = self._workspace.read_manifest(group).documents
        except FileNotFoundError:
            documents = ()
        for document in documents:
            if document.document_id == document_id:
                return document
        raise NoPicture(Reason.SOURCE_MISSING, "The workspace does not say where this document came from.")

    def _remember(self, wanted: tuple[str, int, int], picture: bytes) -> None:
        self._drawn_bytes += len(picture) - len(self._drawn.get(wanted, b""))
        self._drawn[wanted] = picture
        while self._drawn_bytes > _CACHE_BYTES and len(self._drawn) > 1:
            self._drawn_bytes -= len(self._drawn.popitem(last=False)[1])


def _no_picture(error: PdfocrError | OSError) -> NoPicture:
    if isinstance(error, PdfocrError):
        return NoPicture(str(error.code), str(error.args[0] if error.args else ""), error.remedy)
    return NoPicture(Reason.SOURCE_UNREADABLE, str(error))


def _drop(fetched: FetchedDocument) -> None:
    if fetched.temporary:
        fetched.path.unlink(missing_ok=True)
