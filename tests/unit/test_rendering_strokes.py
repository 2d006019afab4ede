"""Rulings from a PDF's own paths, and tables of text layers by them."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pypdfium2 as pdfium
import pytest
from reportlab.pdfgen.canvas import Canvas

from pdfocr_core.rendering.placing import placer
from pdfocr_core.rendering.strokes import page_rulings
from pdfocr_core.rendering.textlayer import read_text_layer

WIDTH, HEIGHT = 400.0, 500.0
XS, YS = (50.0, 150.0, 250.0, 350.0), (400.0, 370.0, 340.0, 310.0)


def page_of(draw: Callable[[Canvas], Any], rotation: int = 0) -> tuple[pdfium.PdfDocument, pdfium.PdfPage]:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(WIDTH, HEIGHT))
    canvas.setPageRotation(rotation)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    document = pdfium.PdfDocument(data.getvalue())
    return document, document[0]


def drawn_as_lines(canvas: Canvas) -> None:
    canvas.grid(list(XS), list(YS))


def drawn_as_rectangles(canvas: Canvas) -> None:
    for left, right in pairwise(XS):
        for top, bottom in pairwise(YS):
            canvas.rect(left, bottom, right - left, top - bottom)


def drawn_as_thin_filled_boxes(canvas: Canvas) -> None:
    for y in YS:
        canvas.rect(XS[0], y - 0.5, XS[-1] - XS[0], 1, stroke=0, fill=1)
    for x in XS:
        canvas.rect(x - 0.5, YS[-1], 1, YS[0] - YS[-1], stroke=0, fill=1)


def drawn_in_a_moved_form(canvas: Canvas) -> None:
    canvas.beginForm("grid")
    canvas.grid([x - 30 for x in XS], [y - 20 for y in YS])
    canvas.endForm()
    canvas.translate(30, 20)
    canvas.doForm("grid")
    canvas.translate(-30, -20)


def write_cells(canvas: Canvas) -> None:
    for row, y in enumerate(YS[:-1]):
        for column, x in enumerate(XS[:-1]):
            canvas.drawString(x + 10, y - 20, f"cell{row}{column}")


@pytest.mark.parametrize(
    "draw", [drawn_as_lines, drawn_as_rectangles, drawn_as_thin_filled_boxes, drawn_in_a_moved_form]
)
def test_a_grid_is_found_however_it_is_drawn(draw: Callable[[Canvas], Any]) -> None:
    document, page = page_of(draw)
    rulings = page_rulings(page, placer(page))
    assert {round(stroke.at) for stroke in rulings.horizontal} == {round(HEIGHT - y) for y in YS}
    assert {round(stroke.at) for stroke in rulings.vertical} == {round(x) for x in XS}
    document.close()


def test_curves_slanting_lines_and_short_marks_are_no_rulings() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.line(50, 50, 350, 300)
        canvas.circle(200, 200, 80)
        canvas.line(100, 100, 103, 100)
        canvas.rect(60, 60, 100, 80, stroke=0, fill=1)

    document, page = page_of(draw)
    rulings = page_rulings(page, placer(page))
    assert (rulings.horizontal, rulings.vertical) == ((), ())
    document.close()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rulings_lie_where_the_page_is_seen(rotation: int) -> None:
    document, page = page_of(lambda canvas: canvas.line(100, 300, 300, 300), rotation)
    rulings = page_rulings(page, placer(page))
    found = rulings.horizontal if rotation in {0, 180} else rulings.vertical
    # The page that is turned by 270 degrees is 400 points high before.
    place = {0: HEIGHT - 300, 90: 300, 180: 300, 270: 400 - 300}[rotation]
    assert [round(stroke.at) for stroke in found] == [place]
    document.close()


def test_the_text_layer_s_table_is_read_by_its_rulings() -> None:
    def draw(canvas: Canvas) -> None:
        drawn_as_lines(canvas)
        write_cells(canvas)

    document, page = page_of(draw)
    markdown = read_text_layer(document, page).markdown
    assert "<tr><td>cell00</td><td>cell01</td><td>cell02</td></tr>" in markdown
    document.close()


def test_cells_drawn_as_one_piece_with_wide_spaces_are_told_apart() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number in range(5):
            text = canvas.beginText(50, 400 - 14 * number)
            text.setWordSpace(90)
            text.textLine(f"year{number} 20{number}7 {number},505")
            canvas.drawText(text)

    document, page = page_of(draw)
    assert "<td>year3</td><td>2037</td><td>3,505</td>" in read_text_layer(document, page).markdown
    document.close()


def test_page_numbers_of_a_text_layer_go_where_they_are_not_wanted() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number in range(20):
            canvas.drawString(50, 420 - 14 * number, f"Row {number} of the text that this page has.")
        canvas.drawString(195, 25, "17")

    document, page = page_of(draw)
    assert read_text_layer(document, page).markdown.endswith("17")
    assert "17" not in read_text_layer(document, page, keep_margins=False).markdown.replace("Row 17", "")
    document.close()
