"""The CPU engine's parts that need no model: pictures, rulings, language, the answer's form."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pdfocr_core.cpu_engine.answer import Answer
from pdfocr_core.cpu_engine.failures import BadPicture
from pdfocr_core.cpu_engine.heights import even_heights
from pdfocr_core.cpu_engine.language import guess_language
from pdfocr_core.cpu_engine.picture import LONGEST_SIDE, MAX_ASPECT, decode, fitted
from pdfocr_core.cpu_engine.rulings import find_rulings, is_drawing, straightened
from pdfocr_core.engines.boxes import Picture
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.engines.postprocess.front_matter import front_matter
from pdfocr_core.layout.model import Line


def png(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def header_only_png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [header, b"IDAT" + zlib.compress(b""), b"IEND"]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack("!I", len(chunk) - 4) + chunk + struct.pack("!I", zlib.crc32(chunk)) for chunk in chunks
    )


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_every_kind_of_picture_becomes_three_bytes_a_pixel(mode: str) -> None:
    data = io.BytesIO()
    Image.new(mode, (40, 30)).save(data, "TIFF" if mode in {"CMYK", "I;16"} else "PNG")
    pixels = decode(data.getvalue())
    assert pixels.shape == (30, 40, 3)
    assert pixels.dtype == np.uint8


def test_colours_come_as_blue_green_red() -> None:
    assert decode(png(Image.new("RGB", (2, 2), (250, 20, 10))))[0, 0].tolist() == [10, 20, 250]


def test_what_is_transparent_is_white_paper() -> None:
    assert decode(png(Image.new("RGBA", (4, 4), (0, 0, 0, 0)))).min() == 255


def test_sixteen_bits_of_grey_stay_grey() -> None:
    ramp = np.linspace(0, 65535, 256, dtype=np.uint16)[None, :].repeat(2, axis=0)
    pixels = decode(png(Image.fromarray(ramp)))
    assert pixels[0, 128, 0] == pytest.approx(128, abs=2)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"%PDF-1.7", "no picture"),
        (b"", "no picture"),
        (png(Image.new("RGB", (200, 200), "red"))[:120], "cannot be decoded"),
        (header_only_png(100_000, 100_000), "pixels"),
    ],
)
def test_bad_pictures_are_refused_with_the_reason(data: bytes, says: str) -> None:
    with pytest.raises(BadPicture, match=says):
        decode(data)


@pytest.mark.parametrize("size", [(5000, 4000), (22, 1288), (1288, 22), (1, 1), (3000, 10), (600, 800)])
def test_any_size_is_brought_within_bounds(size: tuple[int, int]) -> None:
    height, width = fitted(np.zeros((size[1], size[0], 3), dtype=np.uint8)).shape[:2]
    assert max(height, width) <= LONGEST_SIDE
    assert max(height, width) <= MAX_ASPECT * min(height, width) + MAX_ASPECT


def test_a_thin_page_is_widened_with_white_and_keeps_its_places() -> None:
    pixels = fitted(np.zeros((1600, 40, 3), dtype=np.uint8))
    scale = pixels.shape[0] / 1600
    inked = np.flatnonzero(pixels.min(axis=(0, 2)) == 0)
    assert inked.min() == 0
    assert inked.max() == pytest.approx(40 * scale, abs=3)
    assert pixels[:, -1].min() == 255


def test_strokes_are_found_and_letters_are_not() -> None:
    page = Image.new("RGB", (600, 400), "white")
    draw = ImageDraw.Draw(page)
    draw.line((50, 200, 550, 200), fill="black", width=2)
    draw.line((300, 60, 300, 380), fill="black", width=2)
    draw.text((60, 80), "Hill till fill", fill="black", font_size=20)
    rulings = find_rulings(straightened(np.asarray(page), 0.0), 20.0)
    assert [round(segment.at) for segment in rulings.horizontal] == pytest.approx([200], abs=2)
    assert [round(segment.at) for segment in rulings.vertical] == pytest.approx([300], abs=2)
    assert rulings.horizontal[0].end - rulings.horizontal[0].start == pytest.approx(500, abs=10)


def test_skew_is_taken_out_before_strokes_are_looked_for() -> None:
    page = Image.new("RGB", (600, 400), "white")
    ImageDraw.Draw(page).line((50, 200, 550, 200), fill="black", width=3)
    tilted = np.asarray(page.rotate(-4, fillcolor="white", resample=Image.Resampling.BICUBIC))  # runs downhill
    assert not find_rulings(straightened(tilted, 0.0), 40.0).horizontal
    assert len(find_rulings(straightened(tilted, 4.0), 40.0).horizontal) == 1


def test_ink_under_the_text_makes_no_drawing() -> None:
    grey = np.full((400, 400), 255, dtype=np.uint8)
    grey[100:200, 50:250] = 0
    assert is_drawing(grey, [])
    assert not is_drawing(grey, [Line("all of it", 50, 100, 250, 200)])


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The ship was entered with the day on which it came and the name of its captain.", "en"),
        ("Der Hafenmeister führte ein Buch, in das jedes Schiff mit dem Tag der Ankunft kam.", "de"),
        ("Le maître du port tenait un registre dans lequel il notait les navires et le jour.", "fr"),
        ("El capitán del puerto llevaba un libro en el que se anotaba cada barco y el día.", "es"),
        ("Il capitano del porto teneva un libro in cui era scritta ogni nave che arrivava.", "it"),
        ("Начальник порта вёл книгу, в которую записывали каждое судно.", "ru"),
        ("港の長は帳面をつけていて、船が着いた日と船長の名前を書いた。", "ja"),
        ("港务长有一本簿子，记着每条船到来的日子和船长的名字。", "zh"),
        ("Начальник порту вів книгу, до якої записували кожне судно та день його прибуття.", "uk"),
        ("1,234.50 17% 2021-03-04", None),
        ("", None),
    ],
)
def test_languages_are_told(text: str, language: str | None) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    "answer",
    [
        Answer("# Title\n\nText with --- in it.", "en", is_table=True),
        Answer(turn=270),
        Answer("", None, is_diagram=True),
    ],
)
def test_the_profile_s_parser_reads_the_answer_back(answer: Answer) -> None:
    page = front_matter(ParsedPage(answer.content), Picture(100, 100))
    assert (page.text, page.language) == (answer.markdown, answer.language)
    assert (page.is_rotation_valid, page.rotation_correction) == (answer.turn == 0, answer.turn)
    assert (page.is_table, page.is_diagram) == (answer.is_table, answer.is_diagram)


def test_a_raised_number_does_not_make_a_line_large_print() -> None:
    body = [Line("a line of the usual print", 0, 30 * y, 250, 30 * y + 20) for y in range(6)]
    swollen = Line("a line with a note to it.52", 0, 172, 270, 200)
    heading = Line("A line of large print", 0, 230, 320, 260)
    evened = even_heights([*body, swollen, heading])
    assert evened[:6] == body
    assert (evened[6].y0, evened[6].y1) == (180, 200)
    assert evened[7] == heading


def test_wide_letters_and_short_lines_keep_their_height() -> None:
    lines = [Line("short", 0, 0, 60, 40), Line("港务长有一本簿子记着每条船到来的日子", 0, 60, 400, 90)]
    assert even_heights([*lines, Line("a line of the usual print", 0, 100, 250, 120)])[:2] == lines
