"""Searchable PDFs: each document as it is at its source, with the lines that were read as invisible text on its pages.

The bytes are parsed and written in the isolated renderer. A source that is gone or has changed since it was read is a
failure of that document: text of one version is never put onto another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pdfocr_core.documents import Document
from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.layout.model import Line
from pdfocr_core.outputs.with_lines import Failure, Folder, Written, documents_with_pages, new_folder
from pdfocr_core.records import LINE_SPACE, PageRecord, StatusRow
from pdfocr_core.rendering.model import LinesOfPage, SearchablePdf
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.scratch import scratch_folder
from pdfocr_core.settings import RenderSettings
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.store import StoreOpener, open_store
from pdfocr_core.workspace import Workspace

__all__ = ["write_searchable_pdfs"]


def write_searchable_pdfs(
    workspace: Workspace,
    root: Path,
    *,
    passwords: Sequence[str] = (),
    opener: StoreOpener = open_store,
    on_document: Callable[[int], None] = lambda _done: None,
) -> Written:
    """Write a PDF for each document with lines into a new folder.

    Args:
        workspace: with page records that hold lines.
        root: the folder.
        passwords: tried on encrypted PDFs.
        opener: reaches the stores that the sources are in.
        on_document: told how many documents are done.

    Raises:
        ConfigurationError: the folder is not empty, or no page has lines.
        StoreUnavailable: a store does not answer.
    """
    new_folder(root)
    folder, written = Folder(root, workspace, ".pdf"), Written()
    sources = _Sources(workspace)
    with RenderPool(RenderSettings(workers=1)) as pool, Fetcher(opener=opener) as fetcher, scratch_folder() as scratch:
        maker = _Maker(pool, fetcher, scratch, tuple(passwords))
        for row, pages in documents_with_pages(workspace):
            lined = written.count(pages)
            if not lined:
                continue
            try:
                made = maker.make(sources.of(row), lined)
            except DocumentError as error:
                written.failures.append(Failure(row.url, error.reason.value, error.detail))
                continue
            folder.write(row, made.data)
            written.documents += 1
            written.pages += len(made.written)
            written.own_text += len(made.own_text)
            on_document(written.documents)
    written.check()
    return written


class _Sources:
    """Where documents came from; the last group's manifest is kept."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._key, self._documents = "", dict[str, Document]()

    def of(self, row: StatusRow) -> Document:
        if self._key != row.group:
            try:
                documents = self._workspace.read_manifest(row.group).documents
            except FileNotFoundError:
                documents = ()
            self._key, self._documents = row.group, {document.document_id: document for document in documents}
        if row.document_id not in self._documents:
            raise DocumentError(Reason.SOURCE_MISSING, "The workspace does not say where this document came from.")
        return self._documents[row.document_id]


@dataclass(frozen=True, slots=True)
class _Maker:
    pool: RenderPool
    fetcher: Fetcher
    scratch: Path
    passwords: tuple[str, ...]

    def make(self, source: Document, pages: Sequence[PageRecord]) -> SearchablePdf:
        fetched = self.fetcher.fetch(source, self.scratch)
        try:
            return asyncio.run(self._made(fetched.path, source, pages))
        finally:
            if fetched.temporary:
                fetched.path.unlink(missing_ok=True)

    async def _made(self, path: Path, source: Document, pages: Sequence[PageRecord]) -> SearchablePdf:
        opened = await self.pool.open(path, source.url, self.passwords)
        if opened.content_id != pages[0].content_id:
            raise DocumentError(Reason.SOURCE_CHANGED, "Its bytes are not those that were read.")
        password = None if opened.password_index is None else self.passwords[opened.password_index]
        lines = {page.page: LinesOfPage(_fractions(page), page.rotation_applied) for page in pages}
        return await self.pool.searchable(path, opened.kind, lines, password=password)


def _fractions(page: PageRecord) -> tuple[Line, ...]:
    return tuple(
        Line(line.text, line.x0 / LINE_SPACE, line.y0 / LINE_SPACE, line.x1 / LINE_SPACE, line.y1 / LINE_SPACE)
        for line in page.lines or ()
    )
