"""pdfocr as a library: one document, without a workspace and without Dagster.

    from pdfocr_core import read_document

    document = read_document("scan.pdf")                # the CPU server, or vLLM where a GPU is found
    print(document.markdown)
    for page in document.pages:
        print(page.page, page.status, page.language, len(page.text))

In async code, `async for page in stream_pages("scan.pdf", engine="cpu"): …` gives each page as soon as it is read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pdfocr_core.errors import ConfigurationError, DocumentError, Reason
from pdfocr_core.flow.group import Stages
from pdfocr_core.outputs.assemble import by_document
from pdfocr_core.outputs.dolma import dolma_document
from pdfocr_core.outputs.markdown import document_markdown
from pdfocr_core.records import DocumentRecord, PageRecord
from pdfocr_core.session import Session, index_sources
from pdfocr_core.settings import EngineKind, IndexSettings, ReadSettings, ServerSettings
from pdfocr_core.workspace import Workspace, open_workspace

__all__ = ["ReadDocument", "read_document", "stream_pages"]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """One document as it was read.

    Attributes:
        document: what opening it found.
        pages: one record per page, in order.
        model: the model that read.
    """

    document: DocumentRecord
    pages: list[PageRecord]
    model: str

    @property
    def dolma(self) -> dict[str, Any]:
        """The Dolma document, as a results file would hold it."""
        return dolma_document(self.document, self.pages, model=self.model, today=datetime.now(UTC).date())

    @property
    def markdown(self) -> str:
        """All pages' text, a blank line between pages."""
        return document_markdown(self.dolma)


def read_document(
    path: str | Path,
    *,
    engine: str = "auto",
    model: str | None = None,
    server_url: str | None = None,
    settings: ReadSettings | None = None,
) -> ReadDocument:
    """Read one PDF or picture; starts the inference server and ends it again.

    Args:
        path: a local file.
        engine: `auto`, `cpu`, `vllm` or `remote`.
        model: a profile's name, a hub id or a local directory; the engine's default when left out.
        server_url: base URL, with `/v1`, of a server that runs already; implies `remote`.
        settings: how pages are drawn and read.

    Raises:
        DocumentError: the document cannot be read; `reason` and `remedy` say why and what to do.
        ConfigurationError: nothing can work as asked.
        ServerUnavailable: the server does not come up or went away for good.
    """
    workspace = open_workspace("memory://")

    async def read() -> Session:
        with _session(engine, model, server_url, settings) as session:
            async with contextlib.aclosing(_stream(session, workspace, path)) as pages:
                async for _page in pages:
                    pass
            return session

    session = asyncio.run(read())
    ((document, pages),) = by_document(workspace.read_pages(workspace.group_keys()[0]) or [])
    return ReadDocument(document, pages, session.engine.model)


async def stream_pages(
    path: str | Path,
    *,
    engine: str = "auto",
    model: str | None = None,
    server_url: str | None = None,
    settings: ReadSettings | None = None,
) -> AsyncIterator[PageRecord]:
    """Yield each page's record as soon as it is read, in the order in which pages are done.

    Arguments and errors are those of `read_document`.
    """
    with _session(engine, model, server_url, settings) as session:
        async with contextlib.aclosing(_stream(session, open_workspace("memory://"), path)) as pages:
            async for page in pages:
                yield page


def _session(engine: str, model: str | None, server_url: str | None, settings: ReadSettings | None) -> Session:
    kind = EngineKind.REMOTE if server_url else EngineKind(engine)
    server = ServerSettings(engine=kind, model=model, server_urls=(server_url,) if server_url else ())
    return Session(settings or ReadSettings(), server)


async def _stream(session: Session, workspace: Workspace, path: str | Path) -> AsyncGenerator[PageRecord, None]:
    index = IndexSettings(count_pages=False)
    report = await asyncio.to_thread(index_sources, workspace, [str(path)], index, session.render_settings)
    if report.documents != 1:
        raise ConfigurationError(
            f"{path} holds {report.documents} documents.", remedy="Use `pdfocr run` for folders and archives."
        )
    pages: asyncio.Queue[PageRecord | None] = asyncio.Queue()

    async def read() -> None:
        try:
            groups = session.read_groups(workspace, workspace.group_keys(), Stages(), on_page=pages.put_nowait)
            async with contextlib.aclosing(groups):
                async for result in groups:
                    row = result.rows[0] if result.rows else None
                    if row is not None and row.reason is not None and row.pages == 0:
                        raise DocumentError(Reason(row.reason), row.detail)
        finally:
            pages.put_nowait(None)

    task = asyncio.create_task(read())
    try:
        while (page := await pages.get()) is not None:
            yield page
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
