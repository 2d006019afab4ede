"""Checks of quality: they warn and stop nothing. Their thresholds are configuration of the resource `quality`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
from pydantic import Field

from pdfocr_core.outputs.rates import Rates, language_shift, rates_of
from pdfocr_core.outputs.report import Report
from pdfocr_core.records import DocumentStatus
from pdfocr_core.settings import QualitySettings
from pdfocr_dagster.environment import settings_from

__all__ = ["COLLECTION_QUALITY", "RATES", "QualityThresholds", "collection_quality", "rate_results"]

RATES = {
    "fallback_rate": "Pages for which the model failed and the PDF's own text was taken.",
    "empty_text_rate": "Pages that are ok and have no text.",
    "repetition_rate": "Answers of the model that went round in a circle.",
}
COLLECTION_QUALITY = {
    **RATES,
    "failed_document_rate": "Documents that could not be read, or not all of their pages; the report says why.",
    "language_mix_shift": "How far the languages of new pages are from those read before.",
    "text_layer_coverage": "Words of sound text layers that the model's text has, over the report's pages.",
}


class QualityThresholds(dg.ConfigurableResource["QualityThresholds"]):
    """From where on the checks of quality warn. Every field has a variable PDFOCR_<FIELD>."""

    max_fallback_rate: float | None = Field(default=None, description="Share of pages, 0 to 1. Default: 0.1.")
    max_failed_document_rate: float | None = Field(default=None, description="Share of documents. Default: 0.05.")
    max_empty_text_rate: float | None = Field(default=None, description="Share of pages that are ok. Default: 0.02.")
    max_repetition_rate: float | None = Field(default=None, description="Share of answers. Default: 0.05.")
    max_language_shift: float | None = Field(
        default=None, description="0 (the same mix of languages) to 1 (nothing in common). Default: 0.3."
    )
    min_text_layer_coverage: float | None = Field(default=None, description="Share of words. Default: 0.7.")
    judged_from_pages: int | None = Field(default=None, description="Fewer pages are not judged. Default: 20.")

    def settings(self) -> QualitySettings:
        """The settings with variables and defaults filled in."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return settings_from(QualitySettings, given)


def rate_results(rates: Rates, thresholds: QualitySettings) -> Iterator[dict[str, Any]]:
    """What the checks named in `RATES` found, as arguments for their evaluation."""
    for name, value, most in (
        ("fallback_rate", rates.fallback, thresholds.max_fallback_rate),
        ("empty_text_rate", rates.empty_text, thresholds.max_empty_text_rate),
        ("repetition_rate", rates.repetition, thresholds.max_repetition_rate),
    ):
        enough = rates.pages >= thresholds.judged_from_pages
        yield {
            **_result(name, value <= most or not enough, value, most),
            "description": None if enough else f"Too few pages to judge: {rates.pages}.",
        }


def collection_quality(report: Report, thresholds: QualitySettings) -> Iterator[dict[str, Any]]:
    """The same over the collection, with what only the report can tell."""
    yield from rate_results(rates_of([report.books]), thresholds)
    ended = sum(report.books.by_status.values())
    failed = sum(report.books.by_status.get(status, 0) for status in (DocumentStatus.FAILED, DocumentStatus.PARTIAL))
    share, most = failed / ended if ended else 0.0, thresholds.max_failed_document_rate
    yield _result("failed_document_rate", share <= most, share, most)
    shift, new = language_shift(report.languages_before or {}, report.books.languages)
    yield {
        **_result(
            "language_mix_shift",
            shift <= thresholds.max_language_shift or new < thresholds.judged_from_pages,
            shift,
            thresholds.max_language_shift,
        ),
        "description": None if report.languages_before else "There is no earlier report to compare with.",
    }
    share = report.layer_words_found / report.layer_words if report.layer_words else 1.0
    yield {
        **_result(
            "text_layer_coverage",
            share >= thresholds.min_text_layer_coverage,
            share,
            thresholds.min_text_layer_coverage,
        ),
        "description": None
        if report.layer_words
        else "None of the report's pages has a sound text layer to compare with.",
    }


def _result(name: str, passed: bool, value: float, threshold: float) -> dict[str, Any]:
    return {
        "check_name": name,
        "passed": passed,
        "severity": dg.AssetCheckSeverity.WARN,
        "metadata": {"value": round(value, 4), "threshold": threshold},
    }
