"""Status rows: how each document ended, whatever happened to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pdfocr_core.errors import Reason, is_filtered, remedy_for
from pdfocr_core.outputs.periods import periods
from pdfocr_core.records import DocumentRecord, DocumentStatus, PageRecord, PageStatus, StatusRow

__all__ = ["status_row"]

# Not errors of the document: we do not read such things, by policy.
_SKIPPED = frozenset({Reason.UNSUPPORTED_IMAGE, Reason.NOT_REGULAR, Reason.NESTED_ARCHIVE, Reason.EMPTY_ARCHIVE})


def status_row(
    document: DocumentRecord, pages: Sequence[PageRecord], *, group: str, max_page_error_rate: float | None
) -> StatusRow:
    """Judge one document by its record and its pages, which are complete when it opened."""
    count = Counter(page.status for page in pages)
    confidences = [page.confidence for page in pages if page.confidence is not None]
    status, reason = _judge(document, count, max_page_error_rate)
    return StatusRow(
        document_id=document.document_id,
        content_id=document.content_id,
        url=document.url,
        group=group,
        status=status,
        reason=reason,
        remedy=remedy_for(reason) if reason else "",
        detail=document.detail or _of_first_failed(pages),
        flags=sorted({*document.flags, *(flag for page in pages for flag in page.flags)}),
        pages=document.pages,
        pages_ok=count[PageStatus.OK],
        pages_fallback=count[PageStatus.FALLBACK],
        pages_blank=count[PageStatus.BLANK],
        pages_failed=count[PageStatus.FAILED],
        failed_pages=[page.page for page in pages if page.status is PageStatus.FAILED],
        fallback_pages=[page.page for page in pages if page.status is PageStatus.FALLBACK],
        page_reasons=dict(sorted(Counter(page.reason for page in pages if page.reason).items())),
        languages=dict(sorted(Counter(page.language for page in pages if page.language).items())),
        prompt_tokens=sum(page.prompt_tokens for page in pages),
        completion_tokens=sum(page.completion_tokens for page in pages),
        characters=sum(len(page.text) for page in pages),
        methods=dict(sorted(Counter(page.method.value for page in pages).items())),
        attempts={
            str(asked): number for asked, number in sorted(Counter(len(page.attempts) for page in pages).items())
        },
        retries=dict(sorted(Counter(one.reason for page in pages for one in page.attempts if one.reason).items())),
        empty_pages=sum(page.status is PageStatus.OK and not page.text.strip() for page in pages),
        confidence=_mean(confidences),
        least_confidence=min(confidences, default=None),
        seconds=round(sum(one.seconds for page in pages for one in page.attempts), 3),
        periods=periods((page.started_at, page.finished_at) for page in pages),
        engine_id=document.engine_id,
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _of_first_failed(pages: Sequence[PageRecord]) -> str:
    """What is known of the first failed page, since that is where people look first."""
    return next(
        (f"Page {page.page}: {page.detail}" for page in pages if page.status is PageStatus.FAILED and page.detail), ""
    )


def _judge(
    document: DocumentRecord, count: Counter[PageStatus], max_page_error_rate: float | None
) -> tuple[DocumentStatus, str | None]:
    if is_filtered(document.reason):
        return DocumentStatus.FILTERED, document.reason
    if document.reason is not None:
        return (DocumentStatus.SKIPPED if document.reason in _SKIPPED else DocumentStatus.FAILED), document.reason
    failed, fallback = count[PageStatus.FAILED], count[PageStatus.FALLBACK]
    if max_page_error_rate is not None and failed + fallback > max_page_error_rate * document.pages:
        return DocumentStatus.FAILED, Reason.PAGE_ERROR_RATE
    if failed == document.pages:
        return DocumentStatus.FAILED, Reason.PAGES_FAILED
    if failed:
        return DocumentStatus.PARTIAL, Reason.PAGES_FAILED
    return DocumentStatus.OK, None
