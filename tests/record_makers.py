"""Workspaces made of records, without any reading: for tests of what is made of books."""

from __future__ import annotations

from collections.abc import Sequence

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.outputs.status import status_row
from pdfocr_core.records import Attempt, DocumentRecord, Method, PageRecord, PageStatus, StatusRow
from pdfocr_core.workspace import IndexRow, Workspace, line_of

ENGINE = "engine"


def made_page(
    document: Document,
    number: int,
    text: str = "some text",
    status: PageStatus = PageStatus.OK,
    *,
    reason: str | None = None,
    bad: Sequence[str] = (),
    tokens: int = 10,
    language: str | None = "en",
    start: int = 0,
    model: str = "model",
) -> PageRecord:
    """A page that took one second, `start` seconds after noon."""
    methods = {PageStatus.BLANK: Method.BLANK, PageStatus.FAILED: Method.NONE, PageStatus.FALLBACK: Method.TEXT_LAYER}
    attempts = [Attempt(reason=one, temperature=0.1, seconds=0.5) for one in bad]
    if status is PageStatus.OK:
        attempts.append(Attempt(reason=None, temperature=0.1, prompt_tokens=100, completion_tokens=tokens, seconds=0.5))
    return PageRecord(
        document_id=document.document_id,
        content_id=content_id(document),
        page=number,
        status=status,
        reason=reason,
        text=text if status in (PageStatus.OK, PageStatus.FALLBACK) else "",
        language=language,
        method=methods.get(status, Method.MODEL),
        attempts=attempts,
        engine_id=ENGINE,
        model=model,
        started_at=moment(start),
        finished_at=moment(start + 1),
    )


def moment(seconds: int) -> str:
    return f"2026-01-01T{12 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000+00:00"


def content_id(document: Document) -> str:
    """Equal for documents of one name, wherever they are."""
    return f"bytes of {document.url.rpartition('/')[2]}"


def add_group(workspace: Workspace, documents: dict[Document, list[PageRecord] | str | None], batch: str) -> str:
    """Index a group and commit it; a document has its pages, or the reason why it has none.

    With None for the first document, the group is indexed only.
    """
    group = PageGroup(tuple(documents))
    workspace.write_manifest(group)
    workspace.append_index(
        [IndexRow(group.key, one.document_id, one.url, one.version, 0, one.pages, None, None) for one in documents],
        batch,
    )
    if None in documents.values():
        return group.key
    records: list[DocumentRecord | PageRecord] = []
    rows: list[StatusRow] = []
    for document, made in documents.items():
        pages = made if isinstance(made, list) else []
        record = DocumentRecord(
            document_id=document.document_id,
            content_id=content_id(document) if pages else None,
            url=document.url,
            version=document.version,
            kind="pdf" if pages else None,
            pages=len(pages),
            reason=made if isinstance(made, str) else None,
            engine_id=ENGINE,
        )
        records += [record, *pages]
        rows.append(status_row(record, pages, group=group.key, max_page_error_rate=None))
    lines = [line_of(record) for record in records]
    workspace.commit_pages(group.key, lines, sum(map(len, lines)))
    workspace.write_status(group.key, rows)
    return group.key
