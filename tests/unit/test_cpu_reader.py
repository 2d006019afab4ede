"""The CPU engine's reading of a page: real models on pictures drawn here and on the samples."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageDraw

from pdfocr_core.cpu_engine.reader import PageReader

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("PDFOCR_CORPUS") or ROOT.parent / "shared" / "corpus")
LETTER = (
    "The harbour master kept a ledger in which",
    "every ship was entered with the day on which",
    "it came and the name of its captain, and",
    "for many years nobody had asked to see it.",
    "Then a letter arrived from the capital.",
)


@pytest.fixture(scope="module")
def reader() -> PageReader:
    return PageReader()


def drawn(columns: list[tuple[int, tuple[str, ...]]], size: tuple[int, int] = (800, 600)) -> Image.Image:
    page = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(page)
    for x, lines in columns:
        for number, line in enumerate(lines):
            draw.text((x, 60 + 44 * number), line, fill="black", font_size=26)
    return page


def encoded(page: Image.Image) -> bytes:
    data = io.BytesIO()
    page.save(data, "PNG")
    return data.getvalue()


def rendered(path: Path, page: int = 1, longest: int = 1288) -> Image.Image:
    with pdfium.PdfDocument(path) as document:
        opened = document[page - 1]
        return opened.render(scale=longest / max(opened.get_size())).to_pil().convert("RGB")


def test_lines_become_one_paragraph_in_a_named_language(reader: PageReader) -> None:
    answer = reader.read(encoded(drawn([(60, LETTER)])))
    assert " ".join(answer.markdown.split()) == " ".join(LETTER)
    assert (answer.turn, answer.language, answer.is_table, answer.is_diagram) == (0, "en", False, False)


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_asks_for_the_turn_that_sets_it_upright(reader: PageReader, turn: int) -> None:
    page = drawn([(60, LETTER)])
    answer = reader.read(encoded(page.rotate(-turn, expand=True)))
    assert (answer.turn, answer.markdown) == (turn, "")
    again = reader.read(encoded(page.rotate(-turn, expand=True).rotate(answer.turn, expand=True)))
    assert again.turn == 0
    assert "harbour master" in again.markdown


@pytest.mark.parametrize(("size", "factor"), [((800, 600), 1), ((2600, 600), 1), ((800, 600), 4)])
def test_lines_lie_where_they_stand_on_the_picture_that_was_sent(
    reader: PageReader, size: tuple[int, int], factor: int
) -> None:
    # Too thin, it is widened with white; too large, it is made smaller; too small, it grows.
    page = drawn([(60, LETTER)], size).resize((factor * size[0], factor * size[1]))
    lines = reader.read(encoded(page)).lines
    assert [line.text for line in lines] == list(LETTER)
    for number, line in enumerate(lines):
        left, middle = 60 / size[0], (60 + 44 * number + 15) / size[1]
        assert line.x0 / 10_000 == pytest.approx(left, abs=8 / size[0])
        assert (line.y0 + line.y1) / 20_000 == pytest.approx(middle, abs=6 / size[1])
        assert line.score > 80


def test_columns_are_read_one_after_the_other(reader: PageReader) -> None:
    left = tuple(f"left column row {word} of it" for word in ("one", "two", "three", "four", "five", "six"))
    right = tuple(line.replace("left", "right") for line in left)
    text = " ".join(reader.read(encoded(drawn([(40, left), (460, right)]))).markdown.split())
    assert text.index("left column row six") < text.index("right column row one")


def test_a_grid_becomes_a_table(reader: PageReader) -> None:
    page = Image.new("RGB", (900, 420), "white")
    draw = ImageDraw.Draw(page)
    cells = [("Name", "Born", "Town"), ("Anna", "1901", "Lisbon"), ("Bruno", "1912", "Vienna")]
    for y in range(4):
        draw.line((60, 60 + 90 * y, 810, 60 + 90 * y), fill="black", width=2)
    for x in range(4):
        draw.line((60 + 250 * x, 60, 60 + 250 * x, 330), fill="black", width=2)
    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            draw.text((90 + 250 * x, 88 + 90 * y), cell, fill="black", font_size=28)
    answer = reader.read(encoded(page))
    assert answer.is_table
    assert "<tr><td>Anna</td><td>1901</td><td>Lisbon</td></tr>" in answer.markdown


def test_a_script_that_the_models_do_not_know_gives_no_text(reader: PageReader) -> None:
    answer = reader.read(encoded(rendered(ROOT / "samples" / "pismo_ru.pdf")))
    assert (answer.markdown, answer.language, answer.turn) == ("", None, 0)


def test_an_empty_page_gives_an_empty_answer(reader: PageReader) -> None:
    answer = reader.read(encoded(Image.new("RGB", (500, 700), "white")))
    assert (answer.markdown, answer.turn, answer.is_diagram) == ("", 0, False)


def test_much_ink_without_text_is_a_diagram(reader: PageReader) -> None:
    page = drawn([(60, ("Figure 1: the plan of the harbour",))])
    draw = ImageDraw.Draw(page)
    for step in range(6):
        draw.ellipse((100 + 90 * step, 200, 260 + 90 * step, 480), outline="black", width=14)
    answer = reader.read(encoded(page))
    assert answer.is_diagram
    assert "plan of the harbour" in answer.markdown


def test_a_page_as_thin_as_a_ruler_is_read(reader: PageReader) -> None:
    page = Image.new("RGB", (2600, 60), "white")
    ImageDraw.Draw(page).text((40, 12), "One long and lonely line of text", fill="black", font_size=30)
    assert reader.read(encoded(page)).markdown == "One long and lonely line of text"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
def test_a_real_table_keeps_its_spans(reader: PageReader) -> None:
    answer = reader.read(encoded(rendered(CORPUS / "tables" / "table-multi-row-column-cells.pdf")))
    assert answer.is_table
    assert '<th rowspan="2">Disability Category</th>' in answer.markdown
    assert "1716 sec, n=3 (1934 sec, n=2)" in answer.markdown


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
def test_a_real_scan_upside_down_is_turned_and_read(reader: PageReader) -> None:
    with Image.open(CORPUS / "rotated" / "phototest-rotated-180.png") as picture:
        page = picture.convert("RGB")
    first = reader.read(encoded(page))
    assert first.turn == 180
    second = reader.read(encoded(page.rotate(first.turn, expand=True)))
    assert second.turn == 0
    assert "This is a lot of 12 point text to test the" in " ".join(second.markdown.split())
