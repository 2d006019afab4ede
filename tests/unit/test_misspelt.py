"""A misspelt variable is told; what is right, or of others, is left alone."""

from __future__ import annotations

from pdfocr_dagster.misspelt import misspelt


def test_a_misspelt_name_comes_with_the_right_one() -> None:
    found = dict(misspelt(["PDFOCR_MAX_IN_FLIGTH", "PDFOCR_WORKSPACE_REGOIN", "PDFOCR_ENGIN"]))
    assert found == {
        "PDFOCR_MAX_IN_FLIGTH": "PDFOCR_MAX_IN_FLIGHT",
        "PDFOCR_WORKSPACE_REGOIN": "PDFOCR_WORKSPACE_REGION",
        "PDFOCR_ENGIN": "PDFOCR_ENGINE",
    }


def test_right_names_and_those_of_others_are_left_alone() -> None:
    right = ["PDFOCR_MAX_IN_FLIGHT", "PDFOCR_FILTER_MAX_PAGES", "PDFOCR_FILTER_MIN_PAGES", "PDFOCR_SOURCES"]
    right += [
        "PDFOCR_SOURCES_REGION",
        "PDFOCR_PRICE_IN",
        "PDFOCR_BENCH_DATA",
        "PDFOCR_METRICS_HOST",
        "PDFOCR_WATCH_INTERVAL_S",
    ]
    assert not list(misspelt([*right, "PDFOCR_CORPUS", "PDFOCR_TEST_OLMOCR", "MAX_IN_FLIGTH", "HOME"]))
