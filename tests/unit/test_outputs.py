"""Dolma documents, Markdown paths, status rows and the books."""

from __future__ import annotations

import csv
import io
import itertools
import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfocr_core.documents import Document, PageGroup, document_id_of, group_key_of
from pdfocr_core.outputs.dolma import dolma_document, dolma_line
from pdfocr_core.outputs.markdown import document_markdown, markdown_path
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.outputs.report import books_of, books_of_report, write_report
from pdfocr_core.outputs.status import status_row
from pdfocr_core.records import Attempt, DocumentRecord, DocumentStatus, Method, PageRecord, PageStatus, StatusRow
from pdfocr_core.workspace import IndexRow, open_workspace

ENGINE = "e" * 16


def page(number: int, text: str = "", status: PageStatus = PageStatus.OK, **more: object) -> PageRecord:
    return PageRecord(
        document_id="d",
        content_id="c",
        page=number,
        status=status,
        text=text,
        method=Method.MODEL,
        engine_id=ENGINE,
        **more,
    )


def document(pages: int, **more: object) -> DocumentRecord:
    values = {"document_id": "d", "content_id": "c", "url": "/docs/a.pdf", "version": "1", "pages": pages}
    return DocumentRecord(**{**values, "engine_id": ENGINE, **more})


def dolma(pages: list[PageRecord]) -> dict[str, object]:
    return dolma_document(document(len(pages)), pages, model="m", today=date(2026, 1, 2))


def test_dolma_joins_pages_as_the_peer_does() -> None:
    record = dolma([page(1, "abc"), page(2), page(3, "déf")])
    assert record["text"] == "abc\ndéf"
    assert record["attributes"]["pdf_page_numbers"] == [[0, 4, 1], [4, 4, 2], [4, 7, 3]]


def test_dolma_has_every_key_of_the_peer() -> None:
    record = dolma([page(1, "abc", language="en", is_table=True, rotation_asked=90)])
    assert record.keys() == {"id", "text", "source", "added", "created", "metadata", "attributes"}
    assert record["metadata"].keys() >= {
        "Source-File",
        "olmocr-version",
        "pdf-total-pages",
        "total-input-tokens",
        "total-output-tokens",
        "total-fallback-pages",
    }
    assert record["attributes"] == {
        "pdf_page_numbers": [[0, 3, 1]],
        "primary_language": ["en"],
        "is_rotation_valid": [True],
        "rotation_correction": [90],
        "is_table": [True],
        "is_diagram": [False],
    }


def test_a_failed_page_never_shifts_the_next() -> None:
    record = dolma([page(1, "one"), page(2, "", PageStatus.FAILED, reason="length"), page(3, "three")])
    spans = record["attributes"]["pdf_page_numbers"]
    assert [record["text"][start:end] for start, end, _ in spans] == ["one\n", "", "three"]
    assert record["metadata"]["failed-pages"] == [2]


def test_only_the_accepted_answer_counts_in_dolma() -> None:
    attempts = [
        Attempt(reason="length", temperature=0.1, prompt_tokens=10, completion_tokens=8000),
        Attempt(reason=None, temperature=0.1, prompt_tokens=10, completion_tokens=40),
    ]
    one = page(1, "abc", attempts=attempts)
    assert dolma([one])["metadata"]["total-output-tokens"] == 40
    row = status_row(document(1), [one], group="g", max_page_error_rate=None)
    assert (row.prompt_tokens, row.completion_tokens) == (20, 8040)


def test_a_document_without_text_has_no_dolma_line() -> None:
    assert not dolma_line(dolma_document(document(1), [page(1, "", PageStatus.BLANK)], model="m", today=date.min))


def test_a_document_assembled_again_on_another_day_is_the_same() -> None:
    pages = [
        page(1, "abc", finished_at="2026-03-01T23:59:59.999+00:00"),
        page(2, "d", finished_at="2026-02-03T04:05:06.7"),
    ]
    first, second = (
        dolma_line(dolma_document(document(2), pages, model="m", today=date(2026, 3, day))) for day in (1, 2)
    )
    assert first == second
    assert dolma(pages)["added"] == dolma(pages)["created"] == "2026-03-01"
    assert dolma([page(1, "abc")])["created"] == "2026-01-02"


@given(st.lists(st.text(max_size=20), min_size=1, max_size=8))
def test_spans_always_cover_the_text(texts: list[str]) -> None:
    record = dolma([page(number, text) for number, text in enumerate(texts, start=1)])
    spans = record["attributes"]["pdf_page_numbers"]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(record["text"])
    assert all(before[1] == after[0] for before, after in itertools.pairwise(spans))


def test_markdown_separates_pages_by_a_blank_line() -> None:
    assert document_markdown(dolma([page(1, "one"), page(2), page(3, "two")])) == "one\n\ntwo\n"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/home/u/docs/a.pdf", "docs/a.pdf.md"),
        ("/home/u/docs/a.png", "docs/a.png.md"),
        ("/data/a.pdf", "file/data/a.pdf.md"),
        ("/home/u/s3/a.pdf", "%733/a.pdf.md"),
        ("s3://bucket/x/a.pdf", "s3/bucket/x/a.pdf.md"),
        ("s3://bucket/x/../a.pdf", "s3/bucket/x/%2E%2E/a.pdf.md"),
        ("/home/u/b.tar.gz::in/a.pdf", "b.tar.gz::/in/a.pdf.md"),
        ("/home/u/b.tar.gz::../../../etc/a.pdf", "b.tar.gz::/%2E%2E/%2E%2E/%2E%2E/etc/a.pdf.md"),
        ("/home/u/100%25 a.pdf", "100%2525 a.pdf.md"),
        ("/home/u/a\nb.pdf", "a%0Ab.pdf.md"),
        ("/home/u/a\udcff.pdf", "a%FF.pdf.md"),
    ],
)
def test_markdown_paths(url: str, path: str) -> None:
    assert markdown_path(url, "/home/u/workspace") == path


_NAMES = st.text(alphabet=st.sampled_from("ab.%/2E:\\\n\udcffñ~"), min_size=1, max_size=12)


@given(_NAMES, _NAMES)
def test_markdown_paths_never_collide_nor_escape(one: str, other: str) -> None:
    paths = [markdown_path(f"s3://b/{name}", "/w") for name in (one, other)]
    assert (paths[0] == paths[1]) == (one == other)
    for path in paths:
        assert not {"", ".", ".."} & set(path.split("/"))
        path.encode()


def test_long_names_stay_apart() -> None:
    paths = {markdown_path(f"s3://b/{'x' * 300}{end}.pdf", "/w") for end in "ab"}
    assert len(paths) == 2
    assert all(len(segment.encode()) <= 245 for path in paths for segment in path.split("/"))


def status(*pages: PageRecord, rate: float | None = None, **more: object) -> StatusRow:
    return status_row(document(len(pages), **more), pages, group="g", max_page_error_rate=rate)


def test_statuses() -> None:
    good, bad = page(1, "x"), page(2, "", PageStatus.FAILED, reason="length")
    assert status(good).status is DocumentStatus.OK
    assert (status(good, bad).status, status(good, bad).reason) == (DocumentStatus.PARTIAL, "pages_failed")
    assert status(bad).status is DocumentStatus.FAILED
    assert status(good, bad, rate=0.4).reason == "page_error_rate"
    assert status(good, bad, rate=0.5).status is DocumentStatus.PARTIAL
    assert status(page(1, "", PageStatus.BLANK)).status is DocumentStatus.OK
    rejected = status(reason="password_required", content_id=None)
    assert (rejected.status, rejected.remedy != "") == (DocumentStatus.FAILED, True)
    assert status(reason="unsupported_image").status is DocumentStatus.SKIPPED


def test_group_keys_and_document_ids_are_a_fixed_contract() -> None:
    assert document_id_of("/docs/a.pdf", "1") == "cac85d3ef932ab034580d1318bdc18d5567c313b14c830080aa47a84aa37d35b"
    assert group_key_of(["b", "a"]) == group_key_of(["a", "b"]) == "fcd127ffa1016069006ad91f3f361248f9bdf272"
    assert group_key_of(["a", "bc"]) != group_key_of(["ab", "c"])


def test_the_books_notice_what_is_missing(tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "w"))
    group = PageGroup((Document("/a.pdf", "1", pages=1), Document("=b.pdf", "1", pages=1)))
    workspace.append_index(
        [IndexRow(group.key, one.document_id, one.url, one.version, 0, 1, None, None) for one in group.documents], "1"
    )
    assert books_of(workspace)[0].pending == 2
    rows = [
        status_row(
            DocumentRecord(**{**document(1).model_dump(), "document_id": one.document_id, "url": one.url}),
            [page(1, "x")],
            group=group.key,
            max_page_error_rate=None,
        )
        for one in group.documents
    ]
    workspace.write_status(group.key, rows[:1])
    assert (books_of(workspace)[0].missing, books_of(workspace)[0].balanced) == (1, False)
    workspace.write_status(group.key, rows)
    assert write_report(workspace).books.balanced
    summary = json.loads(workspace.store.read("report/summary.json"))
    assert (summary["documents"], summary["pages_ok"], summary["by_status"]) == (2, 2, {"ok": 2})
    assert books_of_report(workspace, Prices(), 0) == books_of(workspace)[0]
    assert books_of_report(workspace, Prices(gpu_hour=2.0), 0) is None, "the cost would be another"
    assert books_of_report(workspace, Prices(), 3) is None, "pages would be shown"
    workspace.append_index([], workspace.next_batch())
    assert books_of_report(workspace, Prices(), 0) is None, "the index has grown"
    table = list(csv.DictReader(io.StringIO(workspace.store.read("report/documents.csv").decode())))
    assert [row["url"] for row in table] == ["/a.pdf", "'=b.pdf"]
