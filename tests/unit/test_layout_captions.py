"""Captions: what begins one, and that they neither swallow running text nor part it."""

from __future__ import annotations

import pytest

from pdfocr_core.layout.captions import is_caption
from pdfocr_core.layout.model import Line
from pdfocr_core.layout.page import to_markdown

PITCH, SIZE, CHARACTER = 12.0, 10.0, 5.0


def line(text: str, x: float, y: float) -> Line:
    return Line(text, x, y, x + CHARACTER * len(text), y + SIZE)


def markdown_of(*columns: tuple[float, list[str]]) -> str:
    lines = [line(row, x, 100 + PITCH * number) for x, rows in columns for number, row in enumerate(rows)]
    return to_markdown(lines, 600, 800).markdown


@pytest.mark.parametrize(
    "text",
    [
        "Figure 3: The harbour",
        "Fig. 2a. The harbour",
        "Table S1 Chemicals and reagents",
        "TABLE IV",
        "Tab. 4.2 – Preise",
        "Abb. 7 Der Hafen",
        "Table A-4. Projected volume",
        "Figure 2 (a) The harbour",
        "表7-1：发行人历史评级情况",
        "Рис. 3. Гавань",
    ],
)
def test_what_begins_a_caption(text: str) -> None:
    assert is_caption(text)


@pytest.mark.parametrize(
    "text",
    [
        "Figure 3 shows the harbour",
        "Table A4-13 summarizes",
        "figure 3. The next",
        "Figures matter",
        "Tables",
        "Map of it",
    ],
)
def test_what_begins_none(text: str) -> None:
    assert not is_caption(text)


def test_a_caption_is_no_part_of_the_paragraph_above_it() -> None:
    rows = [
        "This paragraph runs on to the end of its column and stops here as",
        "paragraphs do when nothing is left that they would have to tell.",
        "Figure 3: The harbour as it was seen from the tower of the church",
        "before the fire.",
    ]
    above, caption = markdown_of((40, rows)).split("\n\n")
    assert above.endswith("have to tell.")
    assert caption == "Figure 3: The harbour as it was seen from the tower of the church before the fire."


def test_a_sentence_that_comes_to_a_figure_goes_on() -> None:
    rows = [
        "The ships of the harbour are counted in every year, as is shown in",
        "Figure 3. The harbour is the largest one of the country and the one",
        "with the longest history.",
    ]
    assert markdown_of((40, rows)) == " ".join(rows)


def test_a_paragraph_goes_on_behind_a_caption_at_the_foot_of_its_column() -> None:
    left = [
        "The first of the columns has a paragraph which",
        "does not come to its end before the column has",
        "come to its own, and so this one goes on in the",
    ]
    right = ["next column, where it is read to the end of it.", *["More of the same text is in this column here."] * 9]
    caption = ["Figure 1. The harbour seen from the church."]
    lines = [line(row, 40, 100 + PITCH * number) for number, row in enumerate(left)]
    lines += [line(row, 40, 160 + PITCH * number) for number, row in enumerate(caption)]
    lines += [line(row, 320, 100 + PITCH * number) for number, row in enumerate(right)]
    markdown = to_markdown(lines, 600, 800).markdown
    assert "this one goes on in the next column, where it is read" in markdown
    assert "\n\nFigure 1. The harbour seen from the church." in markdown
