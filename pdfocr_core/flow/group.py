"""A group in work: what is known of its documents, and its commit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.flow.checkpoint import Checkpoint
from pdfocr_core.outputs.assemble import status_rows, write_documents, write_markdown
from pdfocr_core.records import DocumentRecord, PageRecord, StatusRow
from pdfocr_core.settings import ReadSettings
from pdfocr_core.workspace import Workspace

__all__ = ["GroupResult", "GroupWork", "Stages", "finish_group", "reusable"]


@dataclass(frozen=True, slots=True)
class Stages:
    """Which of the three assets are wanted."""

    pages: bool = True
    dolma: bool = True
    markdown: bool = True


@dataclass(slots=True)
class GroupResult:
    """How one group ended.

    Attributes:
        rows: the group's status rows, when they were made or are there from before.
        reused: the pages were committed before under the same engine.
        preview: one page with text, for people to look at.
        error: why the group did not end well; its neighbours are whole.
    """

    key: str
    rows: list[StatusRow] = field(default_factory=list)
    seconds: float = 0.0
    reused: bool = False
    preview: PageRecord | None = None
    attempts: int = 0
    markdown_files: int = 0
    error: PdfocrError | None = None


class GroupWork:
    """What the flow keeps of one group while its pages are being read.

    Page records live on disk, in checkpoint parts; only which pages are done is kept here.
    """

    def __init__(self, group: PageGroup, checkpoint: Checkpoint) -> None:
        self.group = group
        self.key = group.key
        self.checkpoint = checkpoint
        self.started = time.monotonic()
        self.documents: dict[str, DocumentRecord] = {}
        self.done: dict[str, dict[int, str]] = {}
        self._kept: list[PageRecord] = []

    def resume(self, workspace: Workspace, engine_id: str, retry: Collection[str] = ()) -> None:
        """Take over the pages that an earlier run checkpointed under the same engine.

        With `retry`, the group was committed: its pages are taken over too, but for those with these reasons.
        """
        if retry:
            committed = workspace.read_pages(self.key) or []
            pages = [record for record in committed if isinstance(record, PageRecord)]
            self._kept = [page for page in pages if page.engine_id == engine_id and page.reason not in retry]
        for record in [*self._kept, *workspace.read_parts(self.key)]:
            if record.engine_id == engine_id:
                self.done.setdefault(record.document_id, {}).setdefault(record.page, record.content_id)

    def pages_done(self, document: Document, content_id: str) -> set[int]:
        """Pages of the document that need not be read; a document with other bytes has none."""
        pages = self.done.get(document.document_id, {})
        return {page for page, content in pages.items() if content == content_id}

    @property
    def complete(self) -> bool:
        """Whether every document has ended."""
        return len(self.documents) == len(self.group.documents)

    async def commit(self, workspace: Workspace) -> None:
        """Turn the parts into the group's pages file: whole or not at all, then the parts go."""
        await self.checkpoint.flush()
        await asyncio.to_thread(self._commit, workspace)

    def _commit(self, workspace: Workspace) -> None:
        found: dict[tuple[str, int], PageRecord] = {}
        for record in [*self._kept, *workspace.read_parts(self.key)]:
            document = self.documents.get(record.document_id)
            if document is not None and (record.engine_id, record.content_id) == (
                document.engine_id,
                document.content_id,
            ):
                found.setdefault((record.document_id, record.page), record)
        records: list[DocumentRecord | PageRecord] = []
        for source in self.group.documents:
            document = self.documents[source.document_id]
            records.append(document)
            records += [found[document.document_id, page] for page in range(1, document.pages + 1)]
        workspace.commit_pages(self.key, records)
        workspace.drop_parts(self.key)


def reusable(workspace: Workspace, group: PageGroup, engine_id: str) -> bool:
    """Whether the group's pages are committed already under this engine."""
    records = workspace.read_pages(group.key)
    return records is not None and all(record.engine_id == engine_id for record in records)


def finish_group(workspace: Workspace, key: str, stages: Stages, settings: ReadSettings, model: str) -> GroupResult:
    """Make what is wanted beyond the pages, from what is committed.

    Raises:
        ConfigurationError: what it is made from is not there yet.
    """
    records = workspace.read_pages(key)
    if records is None:
        raise ConfigurationError(
            f"The pages of group {key} have not been read yet.", remedy="Materialize page_groups for it first."
        )
    rows = status_rows(key, records, max_page_error_rate=settings.max_page_error_rate)
    if stages.dolma:
        write_documents(workspace, key, records, rows, model=model)
    pages = [record for record in records if isinstance(record, PageRecord)]
    return GroupResult(
        key,
        rows=rows,
        attempts=sum(len(page.attempts) for page in pages),
        preview=next((page for page in pages if page.text), None),
        markdown_files=len(write_markdown(workspace, key)) if stages.markdown else 0,
    )
