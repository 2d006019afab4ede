"""From a group's committed page records to everything that is made of them. No model is asked here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pdfocr_core.documents import is_imported
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.marks import Mark
from pdfocr_core.memory import give_back
from pdfocr_core.outputs.dolma import dolma_document, dolma_line
from pdfocr_core.outputs.figures import FigureCutter
from pdfocr_core.outputs.markdown import document_markdown, markdown_path, markdown_pieces, parse_results
from pdfocr_core.outputs.status import status_row
from pdfocr_core.records import DocumentRecord, DocumentStatus, PageRecord, StatusRow
from pdfocr_core.settings import MarkdownSettings
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.workspace import Workspace

__all__ = ["Assembled", "assemble", "by_document", "rewrite_markdown", "write_documents", "write_markdown"]


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


_NO_NAMES: set[str] = set()
_LONG = 500  # pages


@dataclass(slots=True)
class Assembled:
    """What a group's records make, one document after the other.

    Attributes:
        rows: the status rows, in manifest order.
        lines: the Dolma documents, as JSON Lines.
        attempts: answers asked for, over all pages.
        preview: one page with text, for people to look at.
    """

    rows: list[StatusRow] = field(default_factory=list)
    lines: bytearray = field(default_factory=bytearray)
    attempts: int = 0
    preview: PageRecord | None = None


def assemble(
    key: str, records: Iterable[DocumentRecord | PageRecord], *, max_page_error_rate: float | None, model: str
) -> Assembled:
    """Judge and assemble the documents of a group; no more than one of them is in memory at a time."""
    made = Assembled()
    today = datetime.now(UTC).date()
    for document, pages in by_document(map(_without_raw, records)):
        row = status_row(document, pages, group=key, max_page_error_rate=max_page_error_rate)
        made.rows.append(row)
        made.attempts += sum(len(page.attempts) for page in pages)
        made.preview = made.preview or next((page for page in pages if page.text), None)
        if row.status in (DocumentStatus.OK, DocumentStatus.PARTIAL):
            dolma = dolma_document(document, pages, model=model, today=today)
            _let_go(pages)
            made.lines += dolma_line(dolma)
    return made


def _let_go(pages: list[PageRecord]) -> None:
    """A long document's text is many megabytes, and was there twice."""
    long = len(pages) >= _LONG
    pages.clear()
    if long:
        give_back()


def _without_raw(record: DocumentRecord | PageRecord) -> DocumentRecord | PageRecord:
    """Nothing is made here of the answer as it came and of lines, and they would double what a long document takes."""
    if not isinstance(record, PageRecord):
        return record
    # Built as it is: a copy would bring a set of its fields' names along, of two kilobytes.
    return PageRecord.model_construct(_NO_NAMES, **{**record.__dict__, "raw": None, "lines": None})


def write_documents(workspace: Workspace, key: str, assembled: Assembled) -> None:
    """Write a group's Dolma documents and status rows.

    What was imported stays as the other program wrote it, which says more than our records of it.
    """
    imported = all(is_imported(row.engine_id) for row in assembled.rows)
    if not imported or not workspace.store.exists(f"results/output_{key}.jsonl"):
        workspace.write_results(key, assembled.lines)
    workspace.write_status(key, assembled.rows)


def write_markdown(
    workspace: Workspace,
    key: str,
    settings: MarkdownSettings | None = None,
    cutter: FigureCutter | None = None,
) -> Sequence[str]:
    """Write one Markdown file per Dolma document of the group; returns the paths below `markdown/`.

    With a cutter, each document's figures are written before the file that points at them. The file of a document that
    changed since belongs to its new version, so the old one is passed by.

    Raises:
        ConfigurationError: the group's documents have not been assembled yet.
    """
    if not workspace.has_results(key):
        raise ConfigurationError(
            f"The documents of group {key} have not been assembled yet.",
            remedy="Materialize dolma_documents for it first.",
        )
    standings = standings_of(workspace).rows
    superseded = {row.document_id for row in standings if standings[row] is Standing.SUPERSEDED and row.group == key}
    settings = settings or MarkdownSettings()
    edit_of = cutter.edits(key) if cutter is not None and settings.figures else None
    paths = []
    for record in _parsed(workspace.read_result_lines(key)):
        if record["id"] not in superseded:
            path = markdown_path(record["metadata"]["Source-File"], workspace.url)
            edit = edit_of(record["id"], path) if edit_of is not None else None
            encoded = bytearray()
            for piece in markdown_pieces(record, settings, edit):
                encoded += piece.encode("utf-8", "replace")
            record.clear()
            workspace.write_markdown(path, encoded)
            paths.append(path)
    return paths


def _parsed(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The documents of a results file. A long one is many megabytes of text: nothing holds its line once it is parsed."""
    while line := next(lines, b""):
        text = line.decode()
        del line
        record = json.loads(text)
        del text
        yield record


def rewrite_markdown(workspace: Workspace, returned: Iterable[Mark], settings: MarkdownSettings | None = None) -> int:
    """Give documents that are there again at an old version their Markdown file back; returns how many have it now.

    Where there is no file at the path, Markdown was not asked for.
    """
    by_group: dict[str, set[str]] = {}
    for mark in returned:
        by_group.setdefault(mark.group, set()).add(mark.document_id)
    written = 0
    for key, document_ids in by_group.items():
        try:
            records = parse_results(workspace.read_results(key))
        except FileNotFoundError:
            continue  # not read yet
        for record in records:
            path = markdown_path(record["metadata"]["Source-File"], workspace.url)
            if record["id"] in document_ids and workspace.store.exists(f"markdown/{path}"):
                workspace.write_markdown(path, document_markdown(record, settings or MarkdownSettings()))
                written += 1
    return written
