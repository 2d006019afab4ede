"""The report's HTML: everything escaped, nothing from outside, pages drawn from the sources or a plain word why not."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pdfocr_core.documents import Document
from pdfocr_core.outputs.books import Books
from pdfocr_core.outputs.pictures import PagePictures
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.outputs.report import write_report
from pdfocr_core.outputs.samples import quality, sample_pages
from pdfocr_core.outputs.svg import bar_chart, stacked_bar
from pdfocr_core.outputs.tables import spreadsheet_cell
from pdfocr_core.records import PageStatus
from pdfocr_core.settings import RenderSettings
from pdfocr_core.sources.opening import Stores
from pdfocr_core.store import open_store
from pdfocr_core.workspace import Workspace, open_workspace
from tests.documents import write_pdf
from tests.record_makers import add_group, made_page

HOSTILE = '</pre></style><script>alert(1)</script><img src=x onerror="alert(2)"> [x](javascript:alert(3)) {{ 7*7 }}'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = open_workspace(str(tmp_path / "w"))
    path = write_pdf(tmp_path / 'a <b> "c" & é.pdf', ["Alpha beta gamma delta", "second page"])
    version = Stores(open_store).version(str(path))
    there, gone = Document(str(path), version, pages=2), Document(f"/gone/{HOSTILE}.pdf", "1", pages=1)
    pages = [made_page(there, 1, "alpha **beta** gamma"), made_page(there, 2, HOSTILE, bad=["length"])]
    failed = [made_page(gone, 1, "", PageStatus.FAILED, reason="refusal", bad=["refusal"])]
    add_group(workspace, {there: pages, gone: failed, Document("/broken.pdf", "1"): "truncated"}, "00000000")
    return workspace


def html_of(workspace: Workspace) -> str:
    return workspace.store.read("report/index.html").decode()


def test_pages_are_shown_beside_their_text_and_hostile_text_is_text(workspace: Workspace) -> None:
    with PagePictures(RenderSettings()) as pictures:
        report = write_report(workspace, Prices(1.0, 2.0, 3.0), pictures=pictures, pages=3)
    html = html_of(workspace)
    assert html.count("<img ") == html.count('<img src="data:image/jpeg;base64,') == 2
    assert "No picture: " in html  # the source of one page is gone
    assert "<script" not in html
    assert "onerror=&#34;" in html
    assert "{{ 7*7 }}" in html
    assert "alpha **beta** gamma" in html
    # The text layer of the pages that the model read, against its text: 3 of 6 words.
    assert (report.layer_words_found, report.layer_words) == (3, 6)


def test_nothing_is_loaded_and_nothing_runs(workspace: Workspace) -> None:
    write_report(workspace)
    html = html_of(workspace)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src &#39;none&#39;; style-src &#39;sha256-")
    assert not re.search(r'(src|href|action)="(?!data:)', html)
    assert "@import" not in html
    assert "url(" not in html
    assert "style=" not in html  # the policy would forbid it
    assert "prefers-color-scheme: dark" in html


def test_failures_name_the_remedy_and_the_command(workspace: Workspace) -> None:
    write_report(workspace)
    html = html_of(workspace)
    assert f"pdfocr retry {workspace.url} --reason truncated" in html
    assert "Download it again." in html
    assert "1 of 3 documents are ok, 2 are not: pages_failed 1, truncated 1." in html


def test_an_unfinished_and_an_empty_collection_have_a_report(tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "w"))
    write_report(workspace)
    assert "Nothing has been indexed yet." in html_of(workspace)
    add_group(workspace, {Document("/a.pdf", "1", pages=7): None}, "00000000")
    write_report(workspace)
    assert "0 of 1 documents have been read so far." in html_of(workspace)
    assert "about 7 pages" in html_of(workspace)


def test_the_table_is_parquet_too(workspace: Workspace, tmp_path: Path) -> None:
    write_report(workspace)
    rows = {row["url"]: row for row in pq.read_table(tmp_path / "w/report/documents.parquet").to_pylist()}
    assert len(rows) == 3
    assert rows["/broken.pdf"]["reason"] == "truncated"
    assert rows[f"/gone/{HOSTILE}.pdf"]["failed_pages"] == [1]
    assert dict(rows[f"/gone/{HOSTILE}.pdf"]["page_reasons"]) == {"refusal": 1}


def test_sampled_pages(workspace: Workspace) -> None:
    with_worst = Books(worst=[{"group": workspace.group_keys()[0]}])
    chosen = sample_pages(workspace, with_worst, workspace.group_keys(), 1)
    assert [chosen[kind][0].page.page for kind in ("worst", "best")] == [1, 1]
    assert chosen["worst"][0].page.status is PageStatus.FAILED
    assert chosen["best"][0].quality == 1.0
    assert chosen == sample_pages(workspace, with_worst, workspace.group_keys(), 1)


def test_quality_follows_the_record() -> None:
    document = Document("/a.pdf", "1")
    marks = [
        quality(made_page(document, 1)),
        quality(made_page(document, 1, bad=["length"])),
        quality(made_page(document, 1, "")),
        quality(made_page(document, 1, "x", PageStatus.FALLBACK)),
        quality(made_page(document, 1, "", PageStatus.FAILED)),
    ]
    assert marks == sorted(marks, reverse=True)
    assert (marks[0], marks[-1]) == (1.0, 0.0)


def test_charts_escape_names_and_stand_empty_counts() -> None:
    assert "<b>" not in bar_chart({"<b>&": 1}, title='"<x>"')
    assert "nan" not in bar_chart({}, title="none") + stacked_bar([("ok", 0, "good")], title="none")
    assert 'class="bar none"' in stacked_bar([], title="none")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\t=1", "\n=1", "\uff1d1"])
def test_no_cell_is_taken_for_a_formula(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"
    assert spreadsheet_cell([text]) == f"'{text}"
    assert spreadsheet_cell({text: 1}) == f"'{text}=1"


def test_numbers_stay_numbers() -> None:
    assert (spreadsheet_cell(-1), spreadsheet_cell([1, 2]), spreadsheet_cell(None)) == (-1, "1 2", None)
