"""From one document as olmOCR wrote it to our records: nothing is made up that olmOCR did not write down."""

from __future__ import annotations

import json
from typing import Any

import pdfocr_core
from pdfocr_core.documents import Document, imported_engine, shown_url
from pdfocr_core.migration.olmocr import OlmocrResult
from pdfocr_core.records import DocumentRecord, Method, PageRecord, PageStatus

__all__ = ["document_record", "dolma_line", "page_records"]

_FLAG = "imported"


def engine_of(result: OlmocrResult) -> str:
    """What stands for the engine: olmOCR notes its own version, and neither model nor prompt."""
    return imported_engine(f"olmocr-{result.record['metadata'].get('olmocr-version', 'unknown')}")


def document_record(document: Document, result: OlmocrResult) -> DocumentRecord:
    """What stands before the document's pages. Its bytes were not looked at, so there is no `content_id`."""
    fallback = _fallback_pages(result)
    unknown = _number(result, "total-fallback-pages") if fallback is None else 0
    return DocumentRecord(
        document_id=document.document_id,
        url=shown_url(document.url),
        version=document.version,
        bytes=document.bytes,
        pages=len(result.pages),
        flags=[_FLAG, *([f"{unknown}_fallback_pages_unknown"] if unknown else [])],
        engine_id=engine_of(result),
    )


def page_records(document: Document, result: OlmocrResult) -> list[PageRecord]:
    """One record per page; which pages olmOCR took from the text layer is known only where it can be told."""
    fallback = _fallback_pages(result) or set()
    records = []
    for number, text in enumerate(result.pages, start=1):
        status, method = PageStatus.OK, Method.MODEL
        if text is None:
            status = PageStatus.BLANK
        elif number in fallback:
            status, method = PageStatus.FALLBACK, Method.TEXT_LAYER
        records.append(
            PageRecord(
                document_id=document.document_id,
                content_id="",
                page=number,
                status=status,
                text=text or "",
                language=_of_page(result, "primary_language", number, str, None),
                is_rotation_valid=_of_page(result, "is_rotation_valid", number, bool, True),
                rotation_asked=_of_page(result, "rotation_correction", number, int, 0),
                is_table=_of_page(result, "is_table", number, bool, False),
                is_diagram=_of_page(result, "is_diagram", number, bool, False),
                method=method,
                engine_id=engine_of(result),
            )
        )
    return records


def dolma_line(document: Document, result: OlmocrResult) -> bytes:
    """The line that olmOCR wrote, with our identity and the full path, and what we add to every document."""
    record = result.record
    engine = engine_of(result)
    metadata = {
        **record["metadata"],
        "Source-File": shown_url(document.url),
        "pdfocr-version": pdfocr_core.__version__,
        "content-id": None,
        "engine-id": engine,
        "model": engine,
        "failed-pages": [],
        "fallback-pages": sorted(_fallback_pages(result) or ()),
        "imported-id": record.get("id"),
    }
    return json.dumps({**record, "id": document.document_id, "metadata": metadata}).encode() + b"\n"


def _fallback_pages(result: OlmocrResult) -> set[int] | None:
    """The pages that olmOCR took from the text layer. It counts them and does not say which, but they have no language.

    None when other pages have no language either, so that it cannot be told.
    """
    pages = range(1, len(result.pages) + 1)
    silent = {
        number
        for number in pages
        if result.pages[number - 1] is not None and _of_page(result, "primary_language", number, str, None) is None
    }
    number = _number(result, "total-fallback-pages")
    return silent if number == len(silent) else None if number else set()


def _number(result: OlmocrResult, name: str) -> int:
    value = result.record["metadata"].get(name, 0)
    return value if isinstance(value, int) else 0


def _of_page(result: OlmocrResult, name: str, page: int, kind: type, otherwise: Any) -> Any:
    """An attribute of one page; the default where it is missing or of another kind."""
    values = result.record["attributes"].get(name)
    value = values[page - 1] if isinstance(values, list) and len(values) >= page else None
    return value if isinstance(value, kind) else otherwise
