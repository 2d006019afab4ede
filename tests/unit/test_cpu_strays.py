"""Lone ideographs on pages of Latin letters."""

from __future__ import annotations

from pdfocr_core.cpu_engine.strays import without_strays
from pdfocr_core.layout.model import Line


def page(*texts: str) -> list[Line]:
    return [Line(text, 0, 20.0 * number, 10.0 * len(text), 20.0 * number + 15) for number, text in enumerate(texts)]


def texts_of(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


LATIN = "The ships of the harbour are counted in every year, and their masters are named in a book. " * 2


def test_an_ideograph_in_a_formula_of_a_latin_page_goes() -> None:
    lines = without_strays(page(LATIN, "x 卜 y = z", "兰", LATIN))
    assert texts_of(lines) == [LATIN.strip(), "x y = z", LATIN.strip()]


def test_words_of_another_script_stay() -> None:
    for quoted in ("The word 港の長は is Japanese.", "港务长有一本簿子"):
        assert quoted in texts_of(without_strays(page(LATIN, quoted, LATIN, LATIN, LATIN)))


def test_a_page_of_that_script_is_left_alone() -> None:
    lines = page("港务长有一本簿子", "Harbour 卜", "船")
    assert without_strays(lines) == lines


def test_a_page_with_a_few_letters_is_left_alone() -> None:
    lines = page("No. 7 号", "2024年")
    assert without_strays(lines) == lines
