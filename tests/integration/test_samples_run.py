"""The main job as a newcomer meets it: the samples, read by the bundled CPU server."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.conftest import SAMPLES, Command

EXPECTED: dict[str, dict[str, Any]] = json.loads((SAMPLES / "expected.json").read_text())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """One run over the samples; some of them are broken on purpose, hence code 3."""
    pdfocr = Command(tmp_path_factory.mktemp("samples"))
    pdfocr.run(SAMPLES, "--engine", "cpu", code=3)
    return pdfocr


def plain(text: str) -> str:
    """Letters as a person sees them: without markup, line ends and the like."""
    text = re.sub(r"<[^>]+>|[*#|]", " ", unicodedata.normalize("NFKC", text))
    return re.sub(r"\s+", " ", text.replace("’", "'").replace("“", '"').replace("”", '"')).casefold()


def pages_of(pdfocr: Command) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for record in pdfocr.dolma():
        spans = record["attributes"]["pdf_page_numbers"]
        name = record["metadata"]["Source-File"].rsplit("/samples/", 1)[-1]
        found[name] = {str(page): record["text"][start:end] for start, end, page in spans}
    return found


def test_every_sample_has_exactly_the_status_it_should(finished: Command) -> None:
    rows = finished.status_rows()
    assert {name: row["status"] for name, row in rows.items()} == {
        name: expected["status"] for name, expected in EXPECTED.items()
    }
    for name, expected in EXPECTED.items():
        assert rows[name]["reason"] == expected.get("reason")
        assert rows[name]["pages"] == expected.get("pages", 0)
        assert bool(rows[name]["remedy"]) == (expected["status"] != "ok")
    assert finished.books()["balanced"]


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if expected["status"] == "ok"])
def test_the_text_of_each_sample_can_be_read(finished: Command, name: str) -> None:
    pages = pages_of(finished)[name]
    for page, phrases in EXPECTED[name]["phrases"].items():
        missing = [phrase for phrase in phrases if plain(phrase) not in plain(pages[page])]
        assert not missing, pages[page]


def test_a_blank_page_has_no_text_and_is_never_sent(finished: Command) -> None:
    row = finished.status_rows()["blank_page.pdf"]
    assert (row["pages_ok"], row["pages_blank"]) == (2, 1)
    assert pages_of(finished)["blank_page.pdf"]["2"] == ""


def test_both_members_of_the_same_name_are_there(finished: Command) -> None:
    north = finished.workspace / "markdown"
    texts = [path.read_text() for path in sorted(north.rglob("register.pdf.md"))]
    assert len(texts) == 2
    assert texts[0] != texts[1]


def test_the_turned_page_says_so(finished: Command) -> None:
    from pdfocr_core.records import PageRecord
    from pdfocr_core.workspace import open_workspace

    turned = finished.status_rows()["turned.pdf"]
    records = open_workspace(str(finished.workspace)).read_pages(turned["group"]) or []
    (page,) = [one for one in records if isinstance(one, PageRecord) and one.document_id == turned["document_id"]]
    assert page.rotation_applied in (90, 270)
    assert [attempt.reason for attempt in page.attempts] == ["wrong_rotation", None]


def test_no_process_outlives_the_run(finished: Command) -> None:
    names = [
        " ".join(process.info["cmdline"] or [])
        for process in psutil.process_iter(["cmdline", "cwd"])
        if str(process.info["cwd"] or "").startswith(str(finished.folder))
    ]
    assert names == []


def test_the_report_is_written(finished: Command) -> None:
    summary = json.loads((finished.workspace / "report" / "summary.json").read_text())
    assert summary["documents"] == len(EXPECTED)
    assert Path(finished.workspace / "report" / "documents.csv").read_text().count("\n") == len(EXPECTED) + 1
