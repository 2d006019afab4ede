"""A group in work: what is known of its documents, and its commit."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pdfocr_core.documents import Document, PageGroup, is_imported
from pdfocr_core.errors import ConfigurationError, PdfocrError, is_filtered
from pdfocr_core.flow.checkpoint import Checkpoint
from pdfocr_core.flow.spool import Spool
from pdfocr_core.memory import give_back
from pdfocr_core.outputs.assemble import assemble, write_documents, write_markdown
from pdfocr_core.outputs.figures import FigureCutter
from pdfocr_core.records import DocumentRecord, PageRecord, PageStatus, StatusRow
from pdfocr_core.settings import ReadSettings
from pdfocr_core.workspace import Workspace, line_of

__all__ = ["GroupResult", "GroupWork", "Selection", "Stages", "finish_group", "reusable", "take_up", "taken"]


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


class Selection(NamedTuple):
    """See `DocumentRecord`: identity of filters and page ranges, and the range."""

    identity: str
    page_range: str | None


_MUCH = 4 * 1024**2  # bytes


class GroupWork:
    """What the flow keeps of one group while its pages are being read.

    Page records live on disk, in checkpoint parts; only which pages are done is kept here.

    Attributes:
        replaces: the group was committed before, and is read again all the same.
        before: documents of a group that is only retried, as they were committed.
        inked: documents with a page that is not blank, among the pages that are done.
    """

    def __init__(self, group: PageGroup, checkpoint: Checkpoint) -> None:
        self.group = group
        self.key = group.key
        self.checkpoint = checkpoint
        self.started = time.monotonic()
        self.documents: dict[str, DocumentRecord] = {}
        self.done: dict[str, dict[int, str]] = {}
        self.replaces = False
        self.before: dict[str, DocumentRecord] = {}
        self.inked: set[str] = set()
        self._retry: Collection[str] = ()
        self._resumed = False

    def resume(self, workspace: Workspace, engine_id: str, retry: Collection[str] = ()) -> None:
        """Take over the pages that an earlier run checkpointed or committed under the same engine.

        With `retry`, pages with these reasons are read again, and documents that a filter left out stay out unless
        theirs is among the reasons.
        """
        self._retry, self._resumed = retry, True
        for record, _line in self._durable(workspace):
            if record.engine_id == engine_id:
                # Of one document all pages share the text of their content id.
                pages = self.done.setdefault(record.document_id, {})
                pages.setdefault(record.page, sys.intern(record.content_id))
                if record.status is not PageStatus.BLANK:
                    self.inked.add(record.document_id)
        if retry:
            with contextlib.suppress(FileNotFoundError):
                for before, _line in workspace.read_page_lines(self.key):
                    if isinstance(before, DocumentRecord):
                        self.before[before.document_id] = before

    def kept_out(self, document: Document, engine_id: str) -> DocumentRecord | None:
        """The record of a document that a filter left out before, where that is not to be reconsidered."""
        before = self.before.get(document.document_id)
        if before is None or not is_filtered(before.reason) or before.reason in self._retry:
            return None
        if before.pages and before.engine_id != engine_id:
            return None
        return before.model_copy(update={"engine_id": engine_id})

    def selection_of(self, document: Document, settings: ReadSettings) -> Selection:
        """What is asked for of a document: what the settings say, or what it was when the document is only retried."""
        before = self.before.get(document.document_id)
        if before is None:
            return Selection(settings.selection_id, settings.page_range)
        return Selection(settings.selection_id or before.selection, settings.page_range or before.page_range)

    def _durable(self, workspace: Workspace) -> Iterator[tuple[PageRecord, bytes]]:
        """The pages that need not be read again, with their lines: committed ones that are kept, then the parts'."""
        if self._resumed:
            with contextlib.suppress(FileNotFoundError):
                for record, line in workspace.read_page_lines(self.key):
                    if isinstance(record, PageRecord) and record.reason not in self._retry:
                        yield record, line
        yield from workspace.read_part_lines(self.key)

    def pages_done(self, document: Document, content_id: str) -> set[int]:
        """Pages of the document that need not be read; a document with other bytes has none."""
        pages = self.done.get(document.document_id, {})
        return {page for page, content in pages.items() if content == content_id}

    @property
    def complete(self) -> bool:
        """Whether every document has ended."""
        return len(self.documents) == len(self.group.documents)

    def save(self, workspace: Workspace) -> None:
        """Make the finished pages durable, unless another run has committed the group meanwhile: then none is needed."""
        self.checkpoint.flush_now()
        # Looked at after the part is written: a commit that comes later than this look removes the part itself.
        if not self.replaces and workspace.pages_version(self.key) is not None:
            workspace.drop_parts(self.key)

    async def commit(self, workspace: Workspace) -> bool:
        """Turn the parts into the group's pages file: whole or not at all, then the parts go.

        Returns False when another run has committed the group meanwhile: what it wrote stays.
        """
        await self.checkpoint.flush()
        return await asyncio.to_thread(self._commit, workspace)

    def _commit(self, workspace: Workspace) -> bool:
        numbers = {key: _set_of(document.page_numbers) for key, document in self.documents.items()}
        with Spool() as spool:
            for record, line in self._durable(workspace):
                document = self.documents.get(record.document_id)
                # Not all pages that were read before need be among those that are asked for now.
                if document is None or record.page not in numbers[record.document_id]:
                    continue
                if (record.engine_id, record.content_id) == (document.engine_id, document.content_id):
                    spool.add(record.document_id, record.page, line)
            documents = [self.documents[source.document_id] for source in self.group.documents]
            if any(spool.pages(document.document_id) < document.pages for document in documents):
                return False  # whoever commits a group removes all its parts, ours too
            size = spool.bytes + sum(len(line_of(document)) for document in documents)
            if not workspace.commit_pages(self.key, self._lines(documents, spool), size, replace=self.replaces):
                return False
        workspace.drop_parts(self.key)
        return True

    @staticmethod
    def _lines(documents: Iterable[DocumentRecord], spool: Spool) -> Iterator[bytes]:
        for document in documents:
            yield line_of(document)
            for page in document.page_numbers:
                yield spool.line(document.document_id, page)


def take_up(workspace: Workspace, group: PageGroup, engine_id: str, settings: ReadSettings) -> GroupWork:
    """A group to be read, with what the settings let it keep of what was read before."""
    checkpoint = Checkpoint(
        workspace, group.key, interval_s=settings.checkpoint_interval_s, max_bytes=settings.checkpoint_bytes
    )
    work = GroupWork(group, checkpoint)
    if settings.reuse:
        work.resume(workspace, engine_id, settings.retry)
    else:
        workspace.drop_parts(group.key)
    work.replaces = workspace.pages_version(group.key) is not None
    return work


def _set_of(numbers: Sequence[int]) -> Container[int]:
    return numbers if isinstance(numbers, range) else frozenset(numbers)


def reusable(workspace: Workspace, group: PageGroup, engine_id: str, selection: str = "") -> bool:
    """Whether the group is committed already under this engine and this selection of pages, or was imported."""
    try:
        return all(
            is_imported(record.engine_id)
            or (record.engine_id == engine_id and (isinstance(record, PageRecord) or record.selection == selection))
            for record, _line in workspace.read_page_lines(group.key)
        )
    except FileNotFoundError:
        return False


def taken(key: str) -> PdfocrError:
    """What is told of a group that another run, with another engine, committed while we read it."""
    return PdfocrError(
        f"Another run with another engine has committed group {key} meanwhile; what it wrote stays.",
        code="group_taken",
        remedy="Let runs with different engines write to different workspaces, or run again with --reread.",
    )


def no_manifest(key: str, workspace: str) -> ConfigurationError:
    """What is told of a group that the index and the partitions know, and the workspace does not."""
    return ConfigurationError(
        f"Group {key} has no manifest in {workspace}.",
        code="manifest_missing",
        remedy="Materialize work_index, or remove the partition.",
    )


def finish_group(
    workspace: Workspace,
    key: str,
    stages: Stages,
    settings: ReadSettings,
    model: str,
    cutter: FigureCutter | None = None,
) -> GroupResult:
    """Make what is wanted beyond the pages, from what is committed; a cutter is needed for figures alone.

    Raises:
        ConfigurationError: what it is made from is not there yet.
    """
    while True:
        version = workspace.pages_version(key)
        result = _finish(workspace, key, stages, settings, model, cutter)
        # Two runs may read a group again at the same time. Whoever writes last has then seen the pages that stay.
        if workspace.pages_version(key) == version:
            return result


def _finish(
    workspace: Workspace, key: str, stages: Stages, settings: ReadSettings, model: str, cutter: FigureCutter | None
) -> GroupResult:
    try:
        records = (record for record, _line in workspace.read_page_lines(key))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"The pages of group {key} have not been read yet.", remedy="Materialize page_groups for it first."
        ) from error
    made = assemble(key, records, max_page_error_rate=settings.max_page_error_rate, model=model)
    if stages.dolma:
        write_documents(workspace, key, made)
    if len(made.lines) > _MUCH:  # what follows takes as much memory
        made.lines.clear()
        give_back()
    return GroupResult(
        key,
        rows=made.rows,
        attempts=made.attempts,
        preview=made.preview,
        markdown_files=len(write_markdown(workspace, key, settings.markdown, cutter)) if stages.markdown else 0,
    )
