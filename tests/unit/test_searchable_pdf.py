"""Invisible text: where it lies is compared with what PDFium draws, for every way a page can be turned."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.layout.model import Line
from pdfocr_core.rendering.invisible import drawn_order
from pdfocr_core.rendering.model import LinesOfPage, SearchablePdf
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import RenderSettings

WORDS = "Straße needle €5"
SIDE = 1000


Maker = Callable[..., SearchablePdf]


@pytest.fixture(scope="module")
def searchable() -> Iterator[Maker]:
    with RenderPool(RenderSettings(workers=1)) as pool:

        def make(path: Path, pages: dict[int, LinesOfPage], kind: str = "pdf") -> SearchablePdf:
            return asyncio.run(pool.searchable(path, kind, pages))

        yield make


def with_a_bar(path: Path, rotate: int) -> Path:
    """A page that shows one black bar, cropped and turned, with content that leaves its own scale behind."""
    canvas = Canvas(str(path), pagesize=(500, 400), invariant=1, cropBox=(40, 30, 460, 380))
    canvas.setPageRotation(rotate)
    canvas.scale(0.5, 0.5)
    canvas.rect(240, 500, 360, 40, fill=1)
    canvas.showPage()
    canvas.save()
    return path


def drawn(page: pdfium.PdfPage) -> np.ndarray:
    return page.render(scale=SIDE / max(page.get_size())).to_numpy()


def ink(pixels: np.ndarray) -> tuple[float, float, float, float]:
    """Where the ink is, as fractions of the picture."""
    rows, columns = np.nonzero(pixels[:, :, 0] < 128)
    height, width = pixels.shape[:2]
    return columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height


def found(page: pdfium.PdfPage, words: str) -> tuple[float, float, float, float]:
    """Where PDFium finds words on the page as it is seen, as fractions of it."""
    textpage = page.get_textpage()
    match = textpage.search(words).get_next()
    assert match is not None, textpage.get_text_range()
    boxes = [textpage.get_rect(number) for number in range(textpage.count_rects(*match))]
    corners = []
    for left, bottom, right, top in boxes:
        for x, y in ((left, bottom), (right, top)):
            across, down = ctypes.c_int(), ctypes.c_int()
            assert pdfium_c.FPDF_PageToDevice(page.raw, 0, 0, 10000, 10000, 0, x, y, across, down)
            corners.append((across.value / 10000, down.value / 10000))
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_words_are_found_where_the_page_shows_them(searchable: Maker, tmp_path: Path, rotate: int, turn: int) -> None:
    path = with_a_bar(tmp_path / "bar.pdf", rotate)
    with pdfium.PdfDocument(path) as document:
        before = drawn(document[0])
    # The picture that was read was turned, so the line's place is one on the turned picture.
    line = Line(WORDS, *ink(np.rot90(before, turn // 90)))
    made = searchable(path, {1: LinesOfPage((line,), turn)})
    assert made.written == (1,)
    with pdfium.PdfDocument(made.data) as document:
        page = document[0]
        assert np.array_equal(drawn(page), before)
        assert found(page, WORDS) == pytest.approx(ink(before), abs=0.004)
        assert document[0].get_textpage().get_text_range().strip() == WORDS


def test_a_word_inside_a_line_is_found_inside_it(searchable: Maker, tmp_path: Path) -> None:
    path = with_a_bar(tmp_path / "bar.pdf", 90)
    made = searchable(path, {1: LinesOfPage((Line("aaaa needle bbbb", 0.2, 0.4, 0.8, 0.5),))})
    with pdfium.PdfDocument(made.data) as document:
        x0, y0, x1, y1 = found(document[0], "needle")
    assert 0.34 < x0 < 0.42 < 0.58 < x1 < 0.66
    assert (y0, y1) == pytest.approx((0.4, 0.5), abs=0.005)


@pytest.mark.parametrize(
    "text",
    [
        "中文字符測試",
        "日本語のテキスト",
        "한국어",
        "שלום עולם",
        "السعر 123.5 ريال",
        "Ελλάδα и Ґанок",
        "a😀b 𝔄",
        "e\u0301t\u00e9",
    ],
)
def test_any_script_can_be_found_and_copied(searchable: Maker, tmp_path: Path, text: str) -> None:
    path = with_a_bar(tmp_path / "bar.pdf", 0)
    made = searchable(path, {1: LinesOfPage((Line(text, 0.1, 0.6, 0.7, 0.65), Line("after", 0.1, 0.8, 0.3, 0.85)))})
    with pdfium.PdfDocument(made.data) as document:
        assert document[0].get_textpage().get_text_range().split("\r\n")[0] == text
        assert found(document[0], "after")


def test_figures_in_right_to_left_text_keep_their_order() -> None:
    assert drawn_order("אב 12.5% גד") == "דג 12.5% בא"
    assert drawn_order("plain 12") == "plain 12"


def test_a_line_that_stands_on_its_side_fills_its_box(searchable: Maker, tmp_path: Path) -> None:
    path = with_a_bar(tmp_path / "bar.pdf", 0)
    made = searchable(path, {1: LinesOfPage((Line("arXiv:1234", 0.02, 0.2, 0.06, 0.8),))})
    with pdfium.PdfDocument(made.data) as document:
        assert found(document[0], "arXiv:1234") == pytest.approx((0.02, 0.2, 0.06, 0.8), abs=0.01)


def test_a_page_with_text_of_its_own_gets_no_second_one(searchable: Maker, tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "text.pdf"), invariant=1)
    for _ in range(2):
        canvas.drawString(72, 700, "This page can be searched already and so it stays.")
        canvas.showPage()
    canvas.save()
    made = searchable(tmp_path / "text.pdf", {2: LinesOfPage((Line("This page can", 0.1, 0.1, 0.9, 0.2),))})
    assert (made.written, made.own_text) == ((), (2,))
    with pdfium.PdfDocument(made.data) as document:
        assert document[1].get_textpage().get_text_range().count("This page can") == 1


@pytest.mark.parametrize("kind", ["jpeg", "turned jpeg", "png", "grey tiff"])
def test_pictures_become_pages_that_look_the_same(searchable: Maker, tmp_path: Path, kind: str) -> None:
    picture = Image.new("RGB", (600, 400), "white")
    picture.paste((200, 0, 0), (60, 80, 360, 120))
    path = tmp_path / "picture"
    if kind == "grey tiff":
        frames = [picture.convert("L"), picture.convert("1")]
        frames[0].save(path, "TIFF", save_all=True, append_images=frames[1:], dpi=(300, 300))
    elif kind == "turned jpeg":
        exif = Image.Exif()
        exif[0x0112] = 6
        picture.transpose(Image.Transpose.ROTATE_90).save(path, "JPEG", quality=95, exif=exif)
    else:
        picture.save(path, kind.upper(), dpi=(300, 300))
    line = Line("red bar", 0.1, 0.2, 0.6, 0.3)
    made = searchable(path, {1: LinesOfPage((line,))}, "image")
    with pdfium.PdfDocument(made.data) as document:
        assert len(document) == (2 if kind == "grey tiff" else 1)
        page = document[0]
        assert page.get_size() == pytest.approx((288, 192) if kind == "turned jpeg" else (144, 96), abs=0.1)
        shown = np.asarray(page.render(scale=600 / page.get_width()).to_pil().convert("L"), dtype=float)
        assert np.abs(shown - np.asarray(picture.convert("L"), dtype=float)).mean() < 2
        assert found(page, "red bar") == pytest.approx((0.1, 0.2, 0.6, 0.3), abs=0.005)
    if kind == "jpeg":
        # As it was: not packed again.
        assert path.read_bytes()[-500:] in made.data


def test_a_file_that_does_not_open_is_a_plain_error(searchable: Maker, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4\n" + bytes(300))
    with pytest.raises(DocumentError) as caught:
        searchable(tmp_path / "broken.pdf", {1: LinesOfPage((Line("x", 0, 0, 1, 1),))})
    assert caught.value.reason is Reason.TRUNCATED
