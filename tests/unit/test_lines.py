"""Lines with their places: from an answer into a record, and from records into hOCR and PDFs."""

from __future__ import annotations

import asyncio
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pypdfium2 as pdfium
import pytest

from pdfocr_core.documents import Document
from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.profile import load_profile
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.layout.model import Line
from pdfocr_core.layout.order import in_reading_order
from pdfocr_core.layout.placed import for_answer, lines_in, mean_score, placed, turned
from pdfocr_core.outputs.hocr import write_hocr
from pdfocr_core.outputs.searchable import write_searchable_pdfs
from pdfocr_core.records import Method, PageRecord, PageStatus, TextLine
from pdfocr_core.rendering.model import RenderedPage, TextLayerText
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.serving.answers import Answer, read_answer
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.settings import RenderSettings
from pdfocr_core.viewer.catalogue import Catalogue, Query
from pdfocr_core.workspace import Workspace, line_of, open_workspace
from tests.documents import write_pdf
from tests.unit.test_ladder import Script, answer, read
from tests.viewer_workspace import commit, local, page

LINES = (TextLine("first & <second>", 1000, 1000, 6000, 1500, 97), TextLine("שלום", 1000, 2000, 3000, 2400, 81))


def test_a_record_of_before_is_still_read_and_a_new_one_is_compact() -> None:
    record = page(Document("/a.pdf", "1"), 1, "text", lines=list(LINES), confidence=0.89)
    line = line_of(record)
    assert '["first & <second>",1000,1000,6000,1500,97]' in line.decode().replace('", ', '",').replace(", ", ",")
    assert PageRecord.model_validate_json(line) == record
    old = record.model_dump(mode="json", exclude={"lines", "confidence"})
    assert PageRecord.model_validate(old).lines is None


def test_what_an_answer_says_of_its_lines_is_kept_and_never_costs_the_page() -> None:
    good = {"pdfocr_lines": for_answer(LINES)}
    assert lines_in(good) == LINES
    assert mean_score(LINES) == 0.89
    for bad in (None, "x", [1], [{"text": "a"}], [{**for_answer(LINES)[0], "x0": "nan"}], [{}] * 30_000):
        assert lines_in({"pdfocr_lines": bad}) == ()
    [outside] = lines_in({"pdfocr_lines": [{"text": "a\nb", "x0": -3, "y0": 0, "x1": 1e300, "y1": 1, "score": 7}]})
    assert outside == ("a b", 0, 0, 10_000, 10_000, 100)
    [torn] = lines_in({"pdfocr_lines": [{**for_answer(LINES)[0], "text": "half \ud83d"}]})
    assert torn.text == "half \ufffd"
    message: dict[str, Any] = {"content": "text", **good}
    response = httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})
    assert read_answer(Endpoint("http://127.0.0.1:1/v1", model="m"), response, 0.1).lines == LINES


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_lines_turn_with_the_picture(degrees: int) -> None:
    line = TextLine("x", 1000, 2000, 4000, 2500)
    assert turned(turned(line, degrees), 360 - degrees) == line
    # The upper left corner of a picture comes to its lower left one when it is turned counter-clockwise.
    assert turned(TextLine("x", 0, 0, 100, 200), 90) == TextLine("x", 0, 9900, 200, 10_000)


def test_two_columns_are_in_reading_order() -> None:
    columns = [(60.0, "l"), (460.0, "r")]
    lines = [
        Line(f"{name}{row} {'words ' * 6}", x, 60 + 30 * row, x + 340, 80 + 30 * row)
        for row in range(8)
        for x, name in columns
    ]
    assert [line.text.split()[0] for line in in_reading_order(lines)] == [
        f"{name}{row}" for _x, name in columns for row in range(8)
    ]


def cpu_like(**settings: object) -> dict[str, Any]:
    return {"engine": build_engine(load_profile("cpu")), **settings}


def test_lines_of_the_accepted_answer_are_kept_when_asked_for() -> None:
    given = replace(answer(), lines=LINES)
    kept = read(Script([given]), **cpu_like(keep_lines=True))
    assert (kept.lines, kept.confidence) == (list(LINES), 0.89)
    left = read(Script([given]), **cpu_like())
    assert (left.lines, left.confidence) == (None, 0.89)
    assert read(Script([answer()]), **cpu_like(keep_lines=True)).confidence is None


def test_lines_of_a_text_layer_lie_on_the_picture_as_it_was_turned() -> None:
    layer = TextLayerText("words", 12, True, "", 0.0, (Line("words", 0.1, 0.2, 0.4, 0.25),))
    upside_down = Answer(answer("", turn=180).text, "stop", 1, 1, 0.1, "m")
    record = read(Script([upside_down, Answer("no form", "stop", 1, 1, 0.1, "m")]), layer=layer, keep_lines=True)
    assert (record.status, record.rotation_applied) == (PageStatus.FALLBACK, 180)
    assert record.lines == [TextLine("words", 6000, 7500, 9000, 8000)]


def test_a_text_layer_gives_its_lines_where_they_stand(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Words of the page"])
    with RenderPool(RenderSettings(workers=1)) as pool:
        [drawn] = asyncio.run(pool.render(path, "pdf", [1], want_text=True, want_lines=True))
        [bare] = asyncio.run(pool.render(path, "pdf", [1], want_text=True))
    assert isinstance(drawn, RenderedPage)
    assert isinstance(bare, RenderedPage)
    assert drawn.text is not None
    assert bare.text is not None
    assert bare.text.lines == ()
    [line] = placed(drawn.text.lines, 1.0, 1.0)
    assert line.text == "Words of the page"
    # On A5, 420 × 595 points, at (40, 400) from below.
    assert (line.x0, line.y1) == (pytest.approx(40 / 420 * 1e4, abs=60), pytest.approx((595 - 400) / 595 * 1e4, abs=90))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A document of which one page has lines, one has none, one is blank; one that has changed; one without lines."""
    workspace = open_workspace(str(tmp_path / "w"))
    good = local(write_pdf(tmp_path / "in" / "a&b.pdf", [".", ".", ""]))
    changed = local(write_pdf(tmp_path / "in" / "changed.pdf", ["."]))
    bare = local(write_pdf(tmp_path / "in" / "bare.pdf", ["."]))
    content = sha256_of(tmp_path / "in" / "a&b.pdf")
    lined = {"lines": list(LINES), "confidence": 0.89}
    commit(
        workspace,
        [
            (
                good,
                None,
                [
                    page(good, 1, "x", **lined).model_copy(update={"content_id": content}),
                    page(good, 2, "x", confidence=0.95).model_copy(update={"content_id": content}),
                    page(good, 3, "", status=PageStatus.BLANK, method=Method.BLANK),
                ],
            ),
            (changed, None, [page(changed, 1, "x", **lined)]),
            (bare, None, [page(bare, 1, "x", confidence=0.99)]),
        ],
    )
    write_pdf(tmp_path / "in" / "changed.pdf", ["another text that is longer"])
    return workspace


def sha256_of(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_hocr_holds_the_lines_of_the_records(workspace: Workspace, tmp_path: Path) -> None:
    written = write_hocr(workspace, tmp_path / "h")
    assert (written.documents, written.pages, written.without_lines, written.bare_documents) == (2, 2, 2, 1)
    assert sorted(path.name for path in (tmp_path / "h").rglob("*") if path.is_file()) == [
        "a&b.pdf.hocr",
        "changed.pdf.hocr",
    ]
    root = ET.parse(tmp_path / "h" / "in" / "a&b.pdf.hocr").getroot()  # noqa: S314 - our own file
    space = {"x": "http://www.w3.org/1999/xhtml"}
    pages = root.findall(".//x:div[@class='ocr_page']", space)
    assert [one.attrib["id"] for one in pages] == ["page_1", "page_2", "page_3"]
    assert "bbox 0 0 911 1288; ppageno 0" in pages[0].attrib["title"]
    lines = pages[0].findall("x:span[@class='ocr_line']", space)
    assert [line.text for line in lines] == [line.text for line in LINES]
    assert lines[0].attrib["title"] == "bbox 91 129 547 193; x_wconf 97"
    assert lines[1].attrib["dir"] == "rtl"
    assert not pages[1].findall("x:span", space)


def test_a_searchable_pdf_is_the_source_with_its_lines(workspace: Workspace, tmp_path: Path) -> None:
    written = write_searchable_pdfs(workspace, tmp_path / "s")
    assert (written.documents, written.pages, written.without_lines, written.bare_documents) == (1, 1, 2, 1)
    with pdfium.PdfDocument(tmp_path / "s" / "in" / "a&b.pdf") as document:
        assert len(document) == 3
        text = document[0].get_textpage().get_text_range()
        assert "first & <second>" in text
        assert "שלום" in text
        assert "second" not in document[1].get_textpage().get_text_range()
    [failure] = written.failures
    assert failure.reason == "source_changed"
    assert re.search(r"changed\.pdf: source_changed\. .*was indexed as .* `pdfocr run`", str(failure), re.DOTALL)


def test_a_folder_that_holds_something_is_left_alone(workspace: Workspace, tmp_path: Path) -> None:
    before = (tmp_path / "in" / "a&b.pdf").read_bytes()
    for write in (write_hocr, write_searchable_pdfs):
        with pytest.raises(ConfigurationError, match="holds files already"):
            write(workspace, tmp_path)
    assert (tmp_path / "in" / "a&b.pdf").read_bytes() == before


def test_a_workspace_without_lines_is_told_how_to_get_them(tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "w"))
    one = local(write_pdf(tmp_path / "a.pdf", ["."]))
    commit(workspace, [(one, None, [page(one, 1, "x")])])
    with pytest.raises(ConfigurationError, match="1 pages without") as caught:
        write_hocr(workspace, tmp_path / "h")
    assert "--keep-lines --reread" in caught.value.remedy


def test_low_confidence_goes_by_the_score_of_the_worst_page(workspace: Workspace, tmp_path: Path) -> None:
    with Catalogue(workspace, tmp_path / "c.sqlite") as catalogue:
        catalogue.refresh()
        total, rows = catalogue.find(Query(doubtful=True, order="worst"))
    # The mean of the first is 0.92, but one of its pages has 0.89.
    assert (total, [row["url"].rpartition("/")[2] for row in rows]) == (2, ["changed.pdf", "a&b.pdf"])
    assert [row["doubt"] for row in rows] == [pytest.approx(0.11), pytest.approx(0.08)]
