"""The books: totals in one pass, lists that stay short, projections, and the three forms of `pdfocr status`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from pdfocr_core.documents import Document
from pdfocr_core.outputs.books import LISTED, LONG_TOKENS, read_books
from pdfocr_core.outputs.periods import ReadingTime, periods
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.outputs.report import write_report
from pdfocr_core.records import PageStatus
from pdfocr_core.workspace import Workspace, open_workspace
from pdfocr_dagster.status import read_status, status_csv, status_tables
from tests.record_makers import add_group, made_page, moment


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """30 documents of two pages in three ended groups, one that failed, and a group of 10 pages that waits."""
    workspace = open_workspace(str(tmp_path / "w"))
    for group in range(3):
        documents = [Document(f"/d/{group}-{number}.pdf", "1", pages=2) for number in range(10)]
        add_group(
            workspace,
            {
                one: [
                    made_page(one, 1, start=600 * group + place, bad=["length"] if place == 0 else []),
                    made_page(one, 2, "", PageStatus.FAILED, reason="refusal", bad=["refusal"], language=None)
                    if place == 1
                    else made_page(one, 2, tokens=20_000 * (place == 2), language="de", start=600 * group + place),
                ]
                for place, one in enumerate(documents)
            },
            f"{group:08}",
        )
    add_group(workspace, {Document("=1+1.pdf", "1", pages=3): "truncated"}, "00000003")
    add_group(workspace, {Document("/d/waits.pdf", "1", pages=10): None}, "00000004")
    return workspace


def test_what_a_filter_left_out_is_neither_ok_nor_not_ok(tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "w"))
    good, left_out = Document("/good.pdf", "1", pages=1), Document("/left-out.pdf", "1", pages=1)
    add_group(workspace, {good: [made_page(good, 1)], left_out: "filtered_language"}, "00000000")
    books = read_books(workspace)
    assert (books.by_status, books.not_ok, books.filtered) == ({"filtered": 1, "ok": 1}, 0, 1)
    assert books.worst == []
    assert "2 of 2 ended, 0 not ok, 1 left out by filters" in _shown(workspace)
    write_report(workspace)
    html = workspace.store.read("report/index.html").decode()
    assert "All 1 documents that no filter left out were read, 1 pages." in html
    add_group(workspace, {Document("/bad.pdf", "1", pages=1): "truncated"}, "00000001")
    write_report(workspace)
    html = workspace.store.read("report/index.html").decode()
    assert "1 of 3 documents are ok, 1 is not: truncated 1; filters left out 1." in html


def _shown(workspace: Workspace) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(status_tables(read_status(workspace)))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_totals(workspace: Workspace) -> None:
    books = read_books(workspace)
    assert (books.groups, books.groups_done, books.documents, books.pending, books.pages_pending) == (5, 4, 32, 1, 10)
    assert books.by_status == {"failed": 1, "ok": 27, "partial": 3}
    assert (books.pages, books.pages_ok, books.pages_failed, books.balanced) == (60, 57, 3, True)
    assert books.by_reason == {"pages_failed": 3, "truncated": 1}
    assert (books.page_reasons, books.retries) == ({"refusal": 3}, {"length": 3, "refusal": 3})
    assert books.attempts == {"1": 57, "2": 3}
    assert books.methods == {"model": 57, "none": 3}
    assert books.languages == {"de": 27, "en": 30}
    assert books.main_languages == {}  # no language has more than half of the pages of any
    assert books.long_documents == 0
    # Three times ten seconds and one, with pauses that are not counted; page 2 of document 1 starts at noon.
    assert books.reading_seconds == pytest.approx(30, abs=3)


def test_documents_that_deserve_a_look_are_few_and_in_order(workspace: Workspace) -> None:
    books = read_books(workspace)
    assert [row["url"] for row in books.worst] == ["=1+1.pdf", *(row["url"] for row in books.worst[1:])]
    assert {row["url"] for row in books.worst[1:]} == {"/d/0-1.pdf", "/d/1-1.pdf", "/d/2-1.pdf"}
    assert len(books.slowest) == LISTED
    assert {row["url"] for row in books.slowest[:3]} == {"/d/0-0.pdf", "/d/1-0.pdf", "/d/2-0.pdf"}


def test_long_documents(tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "w"))
    one, other = Document("/a.pdf", "1", pages=1), Document("/b.pdf", "1", pages=1)
    add_group(
        workspace,
        {one: [made_page(one, 1, tokens=LONG_TOKENS + 1)], other: [made_page(other, 1, tokens=LONG_TOKENS)]},
        "00000000",
    )
    books = read_books(workspace)
    assert (books.long_documents, [row["url"] for row in books.longest]) == (1, ["/a.pdf"])
    assert books.main_languages == {"en": 2}


def test_projection(workspace: Workspace) -> None:
    books = read_books(workspace)
    rest = books.projection(Prices(1.0, 2.0))
    assert rest.pages == 10
    assert rest.tokens_out == round(books.completion_tokens / 6)
    assert rest.seconds == pytest.approx(books.reading_seconds / 6)
    assert rest.cost == pytest.approx((books.prompt_tokens * 1.0 + books.completion_tokens * 2.0) / 1e6 / 6)
    assert books.cost(Prices()) is None
    assert books.cost(Prices(gpu_hour=3600.0, gpus=2)) == pytest.approx(2 * books.reading_seconds)


def test_an_empty_workspace(tmp_path: Path) -> None:
    status = read_status(open_workspace(str(tmp_path / "w")))
    assert status.books.projection(Prices()).tokens_out is None
    console = Console(file=io.StringIO(), width=120)
    console.print(status_tables(status))
    assert "0 of 0" in console.file.getvalue()  # type: ignore[attr-defined]


def test_status_and_report_say_the_same(workspace: Workspace) -> None:
    before = read_status(workspace).to_json()
    write_report(workspace)
    summary = json.loads(workspace.store.read("report/summary.json"))
    after = read_status(workspace).to_json()
    assert before == after
    assert after.pop("pages_in_work") == {}
    assert summary.pop("made_of")
    assert after == summary
    rows = list(csv.DictReader(io.StringIO(workspace.store.read("report/documents.csv").decode())))
    assert len(rows) == summary["documents"] - summary["pending"]
    for column in ("pages", "pages_ok", "pages_failed", "completion_tokens"):
        assert sum(int(row[column]) for row in rows) == summary[column]


def test_pages_of_a_group_in_work_are_told_apart(workspace: Workspace) -> None:
    (waiting,) = [key for key in workspace.group_keys() if workspace.read_status(key) is None]
    document = workspace.read_manifest(waiting).documents[0]
    workspace.write_part(waiting, "0", [made_page(document, number) for number in (1, 2, 3)])
    status = read_status(workspace)
    assert (status.in_work, status.books.pages) == ({waiting: 3}, 60)


def test_tables_and_csv(workspace: Workspace) -> None:
    status = read_status(workspace)
    console = Console(file=io.StringIO(), width=160)
    console.print(status_tables(status))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for words in ("31 of 32 ended, 4 not ok", "about 10 pages", "refusal", "Worst documents", "57", "truncated"):
        assert words in text
    rows = {(row["figure"], row["of"]): row["value"] for row in csv.DictReader(io.StringIO(status_csv(status)))}
    assert rows["pages", ""] == "60"
    assert rows["page_reasons", "refusal"] == "3"
    assert rows["worst status", "'=1+1.pdf"] == "failed"


def test_periods_leave_interruptions_out() -> None:
    spans = [(moment(0), moment(10)), (moment(200), moment(210)), (moment(3000), moment(3001)), (moment(5), moment(8))]
    assert periods(spans) == [(moment(0), moment(210)), (moment(3000), moment(3001))]
    assert periods([("", "")]) == []


def test_reading_time_counts_what_overlaps_once() -> None:
    time = ReadingTime()
    for start, end in ((0, 10), (20, 30), (5, 25), (40, 41), (40, 41), (100, 101)):
        time.add([(moment(start), moment(end))])
    assert time.seconds == 32
