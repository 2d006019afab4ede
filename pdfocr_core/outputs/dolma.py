"""Dolma documents: one JSON object per source document, with every key that olmOCR writes, in its meaning and type.

Added by us, in `metadata`: `content-id`, `engine-id`, `model`, `failed-pages`, `fallback-pages`, `pdfocr-version`.
`id` is the `document_id`, so it does not change when the text does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pdfocr_core
from pdfocr_core.records import DocumentRecord, PageRecord, PageStatus

__all__ = ["dolma_document", "dolma_line"]

SOURCE = "pdfocr"


def dolma_line(record: dict[str, Any]) -> bytes:
    """One line of a results file; none for a document without any text (its status row stands for it).

    The record is emptied on the way.
    """
    if not record["text"]:
        return b""
    line = json.dumps(record)
    record.clear()  # a long document's text is many megabytes, of which one copy less is here now
    line += "\n"
    return line.encode()


def dolma_document(document: DocumentRecord, pages: Sequence[PageRecord], *, model: str, today: date) -> dict[str, Any]:
    """Assemble one document from its page records, which must be complete and in page order.

    Spans in `pdf_page_numbers` are code points into `text`; a page's span includes its closing newline. A page without
    text, blank or failed, has an empty span, so later pages never move. The document's day is the one on which its last
    page was read, or `today` where the records do not say.
    """
    text, spans = _join(pages)
    # Not the day of writing: made again from the same records, after a kill or on request, a file has the same bytes.
    day = max((page.finished_at for page in pages), default="")[:10] or today.isoformat()
    return {
        "id": document.document_id,
        "text": text,
        "source": SOURCE,
        "added": day,
        "created": day,
        "metadata": {
            "Source-File": document.url,
            "olmocr-version": f"{SOURCE}-{pdfocr_core.__version__}",
            "pdf-total-pages": document.pages,
            "total-input-tokens": sum(_accepted(page)[0] for page in pages),
            "total-output-tokens": sum(_accepted(page)[1] for page in pages),
            "total-fallback-pages": sum(page.status is PageStatus.FALLBACK for page in pages),
            "pdfocr-version": pdfocr_core.__version__,
            "content-id": document.content_id,
            "engine-id": document.engine_id,
            "model": model,
            "failed-pages": [page.page for page in pages if page.status is PageStatus.FAILED],
            "fallback-pages": [page.page for page in pages if page.status is PageStatus.FALLBACK],
        },
        "attributes": {
            "pdf_page_numbers": spans,
            "primary_language": [page.language for page in pages],
            "is_rotation_valid": [page.is_rotation_valid for page in pages],
            "rotation_correction": [page.rotation_asked for page in pages],
            "is_table": [page.is_table for page in pages],
            "is_diagram": [page.is_diagram for page in pages],
        },
    }


def _join(pages: Sequence[PageRecord]) -> tuple[str, list[list[int]]]:
    parts: list[str] = []
    spans: list[list[int]] = []
    position = 0
    for number, page in enumerate(pages, start=1):
        start = position
        if page.text:
            parts.append(page.text)  # as it is: a page's text with its newline would be a copy of it
            position += len(page.text)
            if number < len(pages):
                parts.append("\n")
                position += 1
        spans.append([start, position, page.page])
    return "".join(parts), spans


def _accepted(page: PageRecord) -> tuple[int, int]:
    """Tokens in and out of the accepted answer; the peer counts no others here."""
    for attempt in reversed(page.attempts):
        if attempt.reason is None:
            return attempt.prompt_tokens, attempt.completion_tokens
    return 0, 0
