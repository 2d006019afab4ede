"""Checks that warn: where their thresholds are, and that a handful of pages is not judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest

from pdfocr_core.outputs.books import Books
from pdfocr_core.outputs.rates import language_shift, rates_of
from pdfocr_core.outputs.report import Report
from pdfocr_core.settings import QualitySettings
from pdfocr_dagster.quality import COLLECTION_QUALITY, QualityThresholds, collection_quality


def books(**more: Any) -> Books:
    return Books(**{"pages": 100, "pages_ok": 80, "pages_blank": 10, "attempts": {"1": 80, "2": 10}, **more})


def failed(found: Iterator[dict[str, Any]]) -> set[str]:
    results = list(found)
    assert {result["check_name"] for result in results} == set(COLLECTION_QUALITY)
    assert {result["severity"] for result in results} == {dg.AssetCheckSeverity.WARN}
    return {result["check_name"] for result in results if not result["passed"]}


def test_each_check_warns_beyond_its_threshold_only() -> None:
    settings = QualitySettings()
    assert failed(collection_quality(Report(books()), settings)) == set()
    assert failed(collection_quality(Report(books(pages_fallback=9)), settings)) == set()
    assert failed(collection_quality(Report(books(pages_fallback=10)), settings)) == {"fallback_rate"}
    assert failed(collection_quality(Report(books(empty_pages=2)), settings)) == {"empty_text_rate"}
    assert failed(collection_quality(Report(books(retries={"repetition": 6})), settings)) == {"repetition_rate"}
    for status in ("failed", "partial"):
        assert failed(collection_quality(Report(books(by_status={"ok": 95, status: 5})), settings)) == set()
        found = failed(collection_quality(Report(books(by_status={"ok": 94, status: 6})), settings))
        assert found == {"failed_document_rate"}
    shifted = Report(books(languages={"en": 50, "de": 50}), languages_before={"en": 50})
    assert failed(collection_quality(shifted, settings)) == {"language_mix_shift"}
    uncovered = Report(books(), layer_words=100, layer_words_found=69)
    assert failed(collection_quality(uncovered, settings)) == {"text_layer_coverage"}
    assert failed(collection_quality(uncovered, QualitySettings(min_text_layer_coverage=0.5))) == set()


def test_few_pages_are_not_judged() -> None:
    few = Report(Books(pages=19, pages_fallback=19, languages={"de": 19}), languages_before={"en": 50})
    assert failed(collection_quality(few, QualitySettings())) == set()
    assert failed(collection_quality(few, QualitySettings(judged_from_pages=5))) == {
        "fallback_rate",
        "language_mix_shift",
    }


def test_rates() -> None:
    rates = rates_of([books(pages_fallback=9, empty_pages=8, retries={"repetition": 10})])
    assert (rates.pages, rates.fallback, rates.empty_text, rates.repetition) == (90, 0.1, 0.1, 0.1)
    assert rates_of([]).fallback == 0


def test_language_shift() -> None:
    assert language_shift({}, {"en": 5}) == (0.0, 5)
    assert language_shift({"en": 5}, {"en": 5}) == (0.0, 0)
    assert language_shift({"en": 5}, {"en": 10}) == (0.0, 5)
    assert language_shift({"en": 5}, {"en": 5, "de": 5}) == (1.0, 5)
    assert language_shift({"en": 5, "de": 5}, {"en": 10, "de": 5}) == (0.5, 5)


def test_thresholds_come_from_configuration_then_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_MAX_FALLBACK_RATE", "0.5")
    monkeypatch.setenv("PDFOCR_MAX_REPETITION_RATE", "0.6")
    settings = QualityThresholds(max_fallback_rate=0.2).settings()
    assert (settings.max_fallback_rate, settings.max_repetition_rate, settings.max_empty_text_rate) == (0.2, 0.6, 0.02)
