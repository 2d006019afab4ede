"""From a group's committed page records to everything that is made of them. No model is asked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.dolma import dolma_line
from pdfocr_core.outputs.markdown import document_markdown, markdown_path, parse_results
from pdfocr_core.outputs.status import status_row
from pdfocr_core.records import DocumentRecord, DocumentStatus, PageRecord, StatusRow
from pdfocr_core.workspace import Workspace

__all__ = ["by_document", "status_rows", "write_documents", "write_markdown"]


def by_document(
    records: Iterable[DocumentRecord | PageRecord],
) -> Iterator[tuple[DocumentRecord, list[PageRecord]]]:
    """The records of a pages file, one document with its pages at a time."""
    document: DocumentRecord | None = None
    pages: list[PageRecord] = []
    for record in records:
        if isinstance(record, DocumentRecord):
            if document is not None:
                yield document, pages
            document, pages = record, []
        else:
            pages.append(record)
    if document is not None:
        yield document, pages


def status_rows(
    key: str, records: Iterable[DocumentRecord | PageRecord], *, max_page_error_rate: float | None
) -> list[StatusRow]:
    """The status rows of a group, in manifest order."""
    return [
        status_row(document, pages, group=key, max_page_error_rate=max_page_error_rate)
        for document, pages in by_document(records)
    ]


def write_documents(
    workspace: Workspace,
    key: str,
    records: Sequence[DocumentRecord | PageRecord],
    rows: Sequence[StatusRow],
    *,
    model: str,
) -> None:
    """Write a group's Dolma documents and status rows."""
    today = datetime.now(UTC).date()
    kept = {row.document_id for row in rows if row.status in (DocumentStatus.OK, DocumentStatus.PARTIAL)}
    lines = [
        dolma_line(document, pages, model=model, today=today)
        for document, pages in by_document(records)
        if document.document_id in kept
    ]
    workspace.write_results(key, b"".join(line for line in lines if line is not None))
    workspace.write_status(key, rows)


def write_markdown(workspace: Workspace, key: str) -> Sequence[str]:
    """Write one Markdown file per Dolma document of the group; returns the paths below `markdown/`.

    Raises:
        ConfigurationError: the group's documents have not been assembled yet.
    """
    try:
        results = workspace.read_results(key)
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"The documents of group {key} have not been assembled yet.",
            remedy="Materialize dolma_documents for it first.",
        ) from error
    paths = []
    for record in parse_results(results):
        path = markdown_path(record["metadata"]["Source-File"], workspace.url)
        workspace.write_markdown(path, document_markdown(record))
        paths.append(path)
    return paths
