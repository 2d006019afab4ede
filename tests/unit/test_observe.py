"""What operators see: counters for Prometheus, a log of JSON lines with the ids of documents and pages."""

from __future__ import annotations

import json
import logging
import urllib.request
from pathlib import Path

import pytest

from pdfocr_core.documents import Document
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.status import status_row
from pdfocr_core.records import DocumentRecord, PageStatus
from pdfocr_core.settings import ObserveSettings
from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster.observe import log_document, log_page, observed
from tests.ports import quiet_port
from tests.record_makers import made_page

DOCUMENT = Document("/a.pdf", "1", pages=2)
GOOD = made_page(DOCUMENT, 1)
BAD = made_page(DOCUMENT, 2, "", PageStatus.FAILED, reason="refusal", bad=["length", "refusal"])


def log_both() -> None:
    for page in (GOOD, BAD):
        log_page(page)
    record = DocumentRecord(document_id=DOCUMENT.document_id, url="/a.pdf", version="1", pages=2, engine_id="e")
    log_document(status_row(record, [GOOD, BAD], group="g", max_page_error_rate=None))


def test_prometheus_reads_the_counters() -> None:
    telemetry, port = Telemetry(phase="reading", price_in=1.0), quiet_port()
    telemetry.plan(1, 1, 2)
    telemetry.count(GOOD)
    telemetry.count(BAD)
    with observed(telemetry, ObserveSettings(metrics_port=port)):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        with (
            pytest.raises(ConfigurationError, match="Name another port"),
            observed(Telemetry(), ObserveSettings(metrics_port=port)),
        ):
            pass
    lines = set(text.splitlines())
    assert {
        'pdfocr_pages_total{status="ok"} 1.0',
        'pdfocr_pages_total{status="failed"} 1.0',
        'pdfocr_retries_total{reason="length"} 1.0',
        'pdfocr_failures_total{reason="refusal"} 1.0',
        "pdfocr_tokens_out_total 10.0",
        "pdfocr_answers_total 3.0",
        "pdfocr_pages_expected 2.0",
        "pdfocr_cost 0.0001",
    } <= lines
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60)


def test_the_log_has_ids(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "run.jsonl"
    with observed(Telemetry(), ObserveSettings(log_file=str(file))):
        log_both()
        try:
            raise ValueError("no")
        except ValueError:
            logging.getLogger("pdfocr_core.flow").exception("odd: %s", "thing", extra={"document_id": "d"})
    log_both()  # nobody listens any more
    page, document, error = (json.loads(line) for line in file.read_text().splitlines())
    assert (page["document_id"], page["page"], page["reason"]) == (DOCUMENT.document_id, 2, "refusal")
    assert (page["level"], page["retries"]) == ("warning", ["length", "refusal"])
    assert (document["url"], document["status"], document["failed_pages"]) == ("/a.pdf", "partial", [2])
    assert (error["message"], error["document_id"], "ValueError: no" in error["trace"]) == ("odd: thing", "d", True)


def test_without_being_asked_nothing_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    with observed(Telemetry(), ObserveSettings()):
        log_both()
    assert capfd.readouterr() == ("", "")


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError, match="Name another file"),
        observed(Telemetry(), ObserveSettings(log_file=str(tmp_path))),
    ):
        pass
