"""`pdfocr status` beside a run: it only looks, it is never wrong, and at the end it says what the report says."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pdfocr_core.workspace import open_workspace
from pdfocr_dagster.status import read_status
from tests.counting_server import counting_server
from tests.documents import write_collection
from tests.integration.conftest import Command


def test_status_beside_a_run(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=6, pages=2)
    with counting_server(seconds=1.0) as server:
        process = pdfocr.start(
            "run", sources, "--server", server.url, "--model", "pdfocr-cpu", "--pages-per-group", 4, "--in-flight", 2,
            "--json", "--workspace", pdfocr.workspace,
        )  # fmt: skip
        seen: list[tuple[int, int]] = []
        while process.poll() is None:
            status = read_status(open_workspace(str(pdfocr.workspace)))
            assert status.books.balanced
            seen.append((status.books.pages, sum(status.in_work.values())))
            time.sleep(0.1)
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert [pages for pages, _in_work in seen] == sorted(pages for pages, _in_work in seen)
    assert (
        len({pages for pages, _in_work in seen}) >= 2
    )  # it was looked at while groups ended, two seconds after another

    lines = [json.loads(line) for line in out.splitlines()]
    assert {line["event"] for line in lines} == {"progress", "end"}
    progress = [line for line in lines if line["event"] == "progress"]
    assert (progress[-1]["pages"], progress[-1]["pages_total"], progress[-1]["groups"]) == (12, 12, 3)
    assert all(line["pages"] <= line["pages_total"] for line in progress)
    report = json.loads((pdfocr.workspace / "report" / "summary.json").read_text())
    status_json = pdfocr.books()
    assert status_json.pop("pages_in_work") == {}
    assert report.pop("made_of")
    assert status_json == report
    assert (lines[-1]["pages"], lines[-1]["completion_tokens"], lines[-1]["balanced"]) == (12, 240, True)

    before = _files(pdfocr.workspace)
    assert "6 of 6 ended, 0 not ok" in pdfocr("status", pdfocr.workspace).stdout
    assert _files(pdfocr.workspace) == before


def _files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}
