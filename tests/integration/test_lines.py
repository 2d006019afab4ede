"""Lines with their places through the command: kept on a run, written as hOCR and searchable PDFs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageDraw

from pdfocr_core.records import PageRecord
from pdfocr_core.workspace import open_workspace
from tests.documents import write_pdf
from tests.integration.conftest import Command

WORDS = "These are the words of a page that carries its own text"


def records(pdfocr: Command) -> dict[int, PageRecord]:
    workspace = open_workspace(str(pdfocr.workspace))
    found = [one for key in workspace.group_keys() for one in workspace.read_pages(key) or ()]
    return {one.page: one for one in found if isinstance(one, PageRecord)}


def test_lines_of_text_layers_are_kept_and_exported(pdfocr: Command) -> None:
    write_pdf(pdfocr.folder / "in" / "letter.pdf", [WORDS, f"{WORDS}, too"])
    # No page needs the model, so no server is started.
    pdfocr.run("in", "--engine", "cpu", "--text-layer", "prefer", "--keep-lines", "--quiet")
    lines = {number: [line.text for line in record.lines or ()] for number, record in records(pdfocr).items()}
    assert lines == {1: [WORDS], 2: [f"{WORDS}, too"]}
    done = pdfocr("export", pdfocr.workspace, "--hocr", "hocr", "--searchable-pdf", "pdf")
    assert "1 hOCR files in hocr: 2 pages with lines" in done.stderr
    assert "1 searchable PDFs in pdf: 0 pages with lines; 2 left as they are, with text of their own" in done.stderr
    root = ET.parse(pdfocr.folder / "hocr" / "in" / "letter.pdf.hocr").getroot()  # noqa: S314 - our own file
    spans = root.iter("{http://www.w3.org/1999/xhtml}span")
    assert [span.text for span in spans] == [WORDS, f"{WORDS}, too"]
    again = pdfocr("export", pdfocr.workspace, "--hocr", "hocr", code=2)
    assert "hocr holds files already. Name a folder that is new or empty." in again.stderr
    write_pdf(pdfocr.folder / "in" / "letter.pdf", ["changed since"])
    changed = pdfocr("export", pdfocr.workspace, "--searchable-pdf", "other", code=1)
    assert "letter.pdf: source_changed." in changed.stderr
    assert "0 searchable PDFs in other" in changed.stderr
    assert not list((pdfocr.folder / "other").rglob("*.pdf"))


@pytest.mark.nightly
def test_a_scan_that_lies_on_its_side_becomes_searchable(pdfocr: Command) -> None:
    scan = Image.new("RGB", (1200, 900), "white")
    draw, size = ImageDraw.Draw(scan), 42
    for number, line in enumerate(("The harbour master kept a ledger in which", "every ship was entered with the day")):
        draw.text((90, 120 + 70 * number), line, fill="black", font_size=size)
    start, end = (90 + draw.textlength(f"The harbour master kept a {word}", font_size=size) for word in ("", "ledger"))
    (pdfocr.folder / "in").mkdir()
    scan.rotate(-90, expand=True).save(pdfocr.folder / "in" / "scan.tiff", dpi=(150, 150))
    pdfocr.run("in", "--engine", "cpu", "--keep-lines", "--quiet")
    [record] = records(pdfocr).values()
    assert record.rotation_applied == 90
    assert record.confidence is not None
    assert record.confidence > 0.9
    pdfocr("export", pdfocr.workspace, "--searchable-pdf", "pdf")
    with pdfium.PdfDocument(pdfocr.folder / "pdf" / "in" / "scan.tiff.pdf") as document:
        page = document[0]
        assert page.get_size() == pytest.approx((432, 576), abs=1)
        textpage = page.get_textpage()
        match = textpage.search("ledger").get_next()
        assert match is not None
        assert textpage.count_rects(*match) == 1
        left, bottom, right, top = textpage.get_rect(0)
        # The first line runs down the page near its right edge.
        assert 432 - 180 * 0.48 < left < right < 432 - 110 * 0.48
        assert (top, bottom) == (pytest.approx(576 - start * 0.48, abs=12), pytest.approx(576 - end * 0.48, abs=12))
