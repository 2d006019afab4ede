from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from pdfocr_core.rendering.images_on_page import image_share
from pdfocr_core.rendering.model import RenderedPage, RenderOptions, TextLayerText
from pdfocr_core.rendering.pdf import render_pdf_pages
from pdfocr_core.rendering.pdf_document import load_pdf
from pdfocr_core.rendering.placing import placer
from pdfocr_core.rendering.textlayer import page_lines
from tests import bad_pdfs

OPTIONS = RenderOptions(
    longest_side=600,
    min_short_side=28,
    rotation=0,
    image_format="png",
    jpeg_quality=95,
    allow_grey=True,
    want_text=True,
    max_image_pixels=1_000_000,
    max_decoded_bytes=100_000_000,
)


@contextmanager
def written(path: Path) -> Iterator[Canvas]:
    canvas = Canvas(str(path), pagesize=(400, 600))
    canvas.setFont("Helvetica", 12)
    yield canvas
    canvas.save()


def picture() -> ImageReader:
    stored = io.BytesIO()
    Image.new("RGB", (40, 40), (90, 120, 150)).save(stored, "PNG")
    return ImageReader(io.BytesIO(stored.getvalue()))


def page_of(path: Path) -> RenderedPage:
    _, page = render_pdf_pages(path, None, (1,), OPTIONS)
    assert isinstance(page, RenderedPage)
    return page


def text_of(path: Path) -> TextLayerText:
    text = page_of(path).text
    assert text is not None
    return text


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_lines_lie_where_they_are_seen(tmp_path: Path, rotation: int):
    path = tmp_path / "page.pdf"
    content = b"BT /F 12 Tf 60 560 Td (first words here) Tj 0 -450 Td (last words here) Tj ET"
    path.write_bytes(
        bad_pdfs.raw_pdf(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [10 20 410 620] /Rotate %d /Contents 4 0 R"
                b" /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
                % rotation,
                bad_pdfs.stream(content),
            ]
        )
    )
    document = load_pdf(path, None)
    page = document[0]
    lines = {line.text: line for line in page_lines(page.get_textpage(), placer(page))}
    first, last = lines["first words here"], lines["last words here"]
    width, height = page.get_size()
    for line in lines.values():
        assert 0 <= line.x0 < line.x1 <= width
        assert 0 <= line.y0 < line.y1 <= height
    # Where the first line lies as seen from the last one, after the page was turned clockwise.
    beyond = {
        0: first.y1 < last.y0,
        90: first.x0 > last.x1,
        180: first.y0 > last.y1,
        270: first.x1 < last.x0,
    }
    assert beyond[rotation]
    lying = rotation in (90, 270)
    assert (first.x1 - first.x0 > first.y1 - first.y0) is not lying


def test_cells_and_columns_on_one_baseline_are_cut(tmp_path: Path):
    path = tmp_path / "page.pdf"
    with written(path) as canvas:
        canvas.drawString(50, 500, "left column text.")
        canvas.drawString(220, 500, "right column text.")
        canvas.drawString(50, 480, "one line with usual gaps")
    document = load_pdf(path, None)
    page = document[0]
    lines = [line.text for line in page_lines(page.get_textpage(), placer(page))]
    assert lines == ["left column text.", "right column text.", "one line with usual gaps"]


def test_no_character_of_a_cut_line_is_lost(tmp_path: Path):
    path = tmp_path / "page.pdf"
    with written(path) as canvas:
        for column, word in enumerate(["Item", "1,250.00", "(7 %)", "a-b", "Total:"]):
            canvas.drawString(20 + 75 * column, 500, word)
    document = load_pdf(path, None)
    page = document[0]
    textpage = page.get_textpage()
    lines = [line.text for line in page_lines(textpage, placer(page))]
    assert "".join("".join(lines).split()) == "".join(textpage.get_text_range().split())
    assert len(lines) == 5


def test_filled_fields_are_text(tmp_path: Path):
    path = tmp_path / "form.pdf"
    path.write_bytes(bad_pdfs.filled_form())
    assert bad_pdfs.FIELD_VALUE in text_of(path).markdown


def test_a_long_field_gives_what_it_can_show(tmp_path: Path):
    path = tmp_path / "form.pdf"
    with written(path) as canvas:
        canvas.acroForm.textfield(
            x=50, y=100, width=200, height=60, value="many words " * 5000, maxlen=100_000, fieldFlags="multiline"
        )
    text = text_of(path)
    assert text.markdown.count("many words") > 5
    assert text.characters < 2000


def test_the_share_of_pictures_counts_what_is_covered(tmp_path: Path):
    path = tmp_path / "page.pdf"
    with written(path) as canvas:
        canvas.drawImage(picture(), 0, 300, 400, 300)
        canvas.drawImage(picture(), 0, 300, 400, 300)  # the same place again
        canvas.beginForm("inner")
        canvas.drawImage(picture(), 0, 0, 100, 100)
        canvas.endForm()
        canvas.saveState()
        canvas.translate(0, 0)
        canvas.scale(2, 1.5)
        canvas.doForm("inner")  # covers 200 × 150 of 400 × 600
        canvas.restoreState()
    assert image_share(load_pdf(path, None)[0]) == pytest.approx(0.5 + 0.125, abs=0.02)


def test_text_over_a_scan_is_known_as_such(tmp_path: Path):
    path = tmp_path / "page.pdf"
    with written(path) as canvas:
        canvas.drawImage(picture(), 0, 0, 400, 600)
        for row in range(20):
            canvas.drawString(50, 550 - 20 * row, "the old words of the recognition of a scan")
    text = text_of(path)
    assert text.over_image
    assert text.sound


def test_letters_that_leave_no_ink_are_flagged_and_come_unasked(tmp_path: Path):
    path = tmp_path / "page.pdf"
    with written(path) as canvas:
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(50, 500, "nobody sees these letters")
    _, page = render_pdf_pages(path, None, (1,), replace(OPTIONS, want_text=False))
    assert page.blank
    assert "blank_render" in page.flags
    assert "nobody sees these letters" in page.text.markdown


def test_a_blank_scan_with_old_letters_is_just_blank(tmp_path: Path):
    path = tmp_path / "page.pdf"
    white = io.BytesIO()
    Image.new("L", (40, 40), 255).save(white, "PNG")
    with written(path) as canvas:
        canvas.drawImage(ImageReader(io.BytesIO(white.getvalue())), 0, 0, 400, 600)
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(50, 500, "what the old recognition made of dust")
    page = page_of(path)
    assert page.blank
    assert page.flags == ()
