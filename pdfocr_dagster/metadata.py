"""What the Dagster UI shows of a group and of a collection: a few numbers with steady names, tables, one preview."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import dagster as dg

from pdfocr_core.flow.group import GroupResult
from pdfocr_core.outputs.report import Books
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.telemetry import Sample
from pdfocr_dagster.chart import window_chart

_WORST = 10
_PREVIEW_CHARACTERS = 600


def group_metadata(
    result: GroupResult, *, price_in: float, price_out: float, samples: Sequence[Sample] = ()
) -> dict[str, Any]:
    """Metadata of a group's materializations; `samples` are those of the run while the group was read."""
    rows = result.rows
    pages = sum(row.pages for row in rows)
    prompt, completion = sum(row.prompt_tokens for row in rows), sum(row.completion_tokens for row in rows)
    metadata: dict[str, Any] = {
        "documents": len(rows),
        "documents_by_status": dict(sorted(Counter(row.status.value for row in rows).items())),
        "pages": pages,
        "pages_ok": sum(row.pages_ok for row in rows),
        "pages_fallback": sum(row.pages_fallback for row in rows),
        "pages_blank": sum(row.pages_blank for row in rows),
        "pages_failed": sum(row.pages_failed for row in rows),
        "page_reasons": dict(sum((Counter(row.page_reasons) for row in rows), Counter())),
        "attempts": result.attempts,
        "tokens_in": prompt,
        "tokens_out": completion,
        "seconds": round(result.seconds, 3),
        "reused": result.reused,
        "dagster/partition_row_count": len(rows),
    }
    if not result.reused and result.seconds > 0:
        metadata["pages_per_second"] = round(pages / result.seconds, 3)
    if price_in or price_out:
        metadata["cost"] = round((prompt * price_in + completion * price_out) / 1e6, 6)
    if samples and not result.reused:
        metadata["window"] = dg.MetadataValue.md(window_chart(samples))
        metadata["bound_by"] = Counter(sample.bound_by for sample in samples).most_common(1)[0][0]
    worst = [row for row in rows if row.status is not DocumentStatus.OK or row.pages_fallback]
    if worst:
        metadata["worst_documents"] = _worst_table(worst)
    if result.preview is not None:
        metadata["preview"] = dg.MetadataValue.md(_fenced(result.preview.text[:_PREVIEW_CHARACTERS]))
        metadata["preview_page"] = f"page {result.preview.page} of {_url_of(rows, result.preview.document_id)}"
    return metadata


def books_metadata(books: Books) -> dict[str, Any]:
    """Metadata of `collection_report`."""
    metadata = books.to_json()
    return {
        name: dg.MetadataValue.json(value) if isinstance(value, dict) else value for name, value in metadata.items()
    }


def _worst_table(rows: Sequence[StatusRow]) -> dg.TableMetadataValue:
    worst = sorted(rows, key=lambda row: (row.status is DocumentStatus.OK, -row.pages_failed, row.url))[:_WORST]
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "document": row.url,
                    "status": row.status.value,
                    "reason": row.reason or ", ".join(row.page_reasons),
                    "pages": row.pages,
                    "failed": row.pages_failed,
                    "fallback": row.pages_fallback,
                    "remedy": row.remedy,
                }
            )
            for row in worst
        ]
    )


def _fenced(text: str) -> str:
    """Text of a document, as code: whatever it says, it is not interpreted."""
    longest_run = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    return f"{fence}text\n{text}\n{fence}"


def _url_of(rows: Sequence[StatusRow], document_id: str) -> str:
    return next((row.url for row in rows if row.document_id == document_id), document_id)
