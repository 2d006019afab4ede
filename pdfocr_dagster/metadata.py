"""What the Dagster UI shows of a group and of a collection: numbers with steady names, tables, one preview.

The names of numbers are the same on both, so that the UI can plot them over materializations and across assets.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from pdfocr_core.errors import remedy_for
from pdfocr_core.flow.group import GroupResult
from pdfocr_core.outputs.periods import ReadingTime
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.outputs.rates import Rates, rates_of
from pdfocr_core.outputs.report import Books, Report
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.telemetry import Sample
from pdfocr_dagster.chart import status_bars, throughput_image, window_chart
from pdfocr_dagster.tables import table

_WORST = 10
_PREVIEW_CHARACTERS = 600


def group_metadata(
    result: GroupResult, *, prices: Prices | None = None, samples: Sequence[Sample] = ()
) -> dict[str, Any]:
    """Metadata of a group's materializations; `samples` are those of the run while the group was read."""
    rows = result.rows
    pages = sum(row.pages for row in rows)
    statuses = Counter(row.status.value for row in rows)
    by_status = _pages_by_status(rows)
    metadata: dict[str, Any] = {
        "status": dg.MetadataValue.md(status_bars({"documents": statuses, "pages": by_status})),
        "documents": len(rows),
        "pages": pages,
        "pages_ok": by_status["ok"],
        "fallback_pages": by_status["fallback"],
        "blank_pages": by_status["blank"],
        "failed_pages": by_status["failed"],
        **_rates(rates_of(rows)),
        "attempts": result.attempts,
        "tokens_in": sum(row.prompt_tokens for row in rows),
        "tokens_out": sum(row.completion_tokens for row in rows),
        "seconds": round(result.seconds, 3),
        "reused": result.reused,
        "dagster/partition_row_count": len(rows),
    }
    if not result.reused and result.seconds > 0:
        metadata["pages_per_second"] = round(pages / result.seconds, 3)
    if prices is not None and prices.known:
        time = ReadingTime()
        for row in rows:
            time.add(row.periods)
        metadata["cost"] = round(prices.cost(metadata["tokens_in"], metadata["tokens_out"], time.seconds), 6)
    if samples and not result.reused:
        metadata["throughput"] = dg.MetadataValue.md(throughput_image(samples))
        metadata["window"] = dg.MetadataValue.md(window_chart(samples))
        metadata["bound_by"] = Counter(sample.bound_by for sample in samples).most_common(1)[0][0]
    reasons: Counter[str] = sum((Counter(row.page_reasons) for row in rows), Counter())
    if reasons:
        metadata["page_reasons"] = reason_table(reasons)
    worst = [row for row in rows if row.status is not DocumentStatus.OK or row.pages_fallback]
    if worst:
        metadata["worst_documents"] = _worst_table(worst)
    if result.preview is not None:
        metadata["preview"] = dg.MetadataValue.md(fenced(result.preview.text[:_PREVIEW_CHARACTERS]))
        metadata["preview_page"] = f"page {result.preview.page} of {_url_of(rows, result.preview.document_id)}"
    return metadata


def report_metadata(report: Report, prices: Prices) -> dict[str, Any]:
    """Metadata of `collection_report`."""
    books = report.books
    by_status = {"ok": books.pages_ok, "fallback": books.pages_fallback, "blank": books.pages_blank}
    by_status["failed"] = books.pages_failed
    metadata: dict[str, Any] = {
        "status": dg.MetadataValue.md(status_bars({"documents": books.by_status, "pages": by_status})),
        "documents": books.documents,
        "pending_documents": books.pending,
        "documents_not_ok": books.not_ok,
        "documents_filtered": books.filtered,
        "groups": books.groups,
        "groups_done": books.groups_done,
        "pages": books.pages,
        "pages_ok": books.pages_ok,
        "fallback_pages": books.pages_fallback,
        "blank_pages": books.pages_blank,
        "failed_pages": books.pages_failed,
        **_rates(rates_of([books])),
        "attempts": sum(int(asked) * number for asked, number in books.attempts.items()),
        "tokens_in": books.prompt_tokens,
        "tokens_out": books.completion_tokens,
        "long_documents": books.long_documents,
        "seconds": books.reading_seconds,
        "balanced": books.balanced,
        "languages": table([{"language": name, "pages": count} for name, count in books.languages.items()]),
    }
    if books.pages_per_second is not None:
        metadata["pages_per_second"] = round(books.pages_per_second, 3)
    cost = books.cost(prices)
    if cost is not None:
        metadata["cost"] = round(cost, 6)
    return metadata | _tables(books)


def _tables(books: Books) -> dict[str, Any]:
    tables = {}
    if books.by_reason:
        tables["document_reasons"] = reason_table(books.by_reason)
    if books.page_reasons:
        tables["page_reasons"] = reason_table(books.page_reasons)
    for name in ("worst", "slowest", "longest"):
        rows = getattr(books, name)
        if rows:
            shown = ("url", "status", "reason", "pages", "pages_failed", "pages_fallback", "tokens_out", "seconds")
            tables[f"{name}_documents"] = table([{key: row[key] or "" for key in shown} for row in rows])
    return tables


def reason_table(reasons: Mapping[str, int]) -> dg.TableMetadataValue:
    """How often each reason was met, and what to do about it."""
    order = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return table([{"reason": name, "count": count, "what to do": remedy_for(name)} for name, count in order])


def _rates(rates: Rates) -> dict[str, float]:
    return {
        "fallback_rate": round(rates.fallback, 4),
        "empty_text_rate": round(rates.empty_text, 4),
        "repetition_rate": round(rates.repetition, 4),
    }


def _pages_by_status(rows: Sequence[StatusRow]) -> dict[str, int]:
    return {
        "ok": sum(row.pages_ok for row in rows),
        "fallback": sum(row.pages_fallback for row in rows),
        "blank": sum(row.pages_blank for row in rows),
        "failed": sum(row.pages_failed for row in rows),
    }


def _worst_table(rows: Sequence[StatusRow]) -> dg.TableMetadataValue:
    worst = sorted(rows, key=lambda row: (row.status is DocumentStatus.OK, -row.pages_failed, row.url))[:_WORST]
    return table(
        [
            {
                "document": row.url,
                "status": row.status.value,
                "reason": row.reason or ", ".join(row.page_reasons),
                "pages": row.pages,
                "failed": row.pages_failed,
                "fallback": row.pages_fallback,
                "what to do": row.remedy,
            }
            for row in worst
        ]
    )


def fenced(text: str) -> str:
    """Text of a document, as code: whatever it says, it is not interpreted."""
    longest_run = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    return f"{fence}text\n{text}\n{fence}"


def _url_of(rows: Sequence[StatusRow], document_id: str) -> str:
    return next((row.url for row in rows if row.document_id == document_id), document_id)
