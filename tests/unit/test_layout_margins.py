"""Page numbers, running heads and stamps: told from the page's own text, and never mistaken for it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest

from pdfocr_core.layout.margins import margin_lines
from pdfocr_core.layout.model import Line, Rulings, Segment
from pdfocr_core.layout.page import to_markdown

WIDTH, HEIGHT = 600.0, 800.0
PITCH, SIZE, CHARACTER = 12.0, 10.0, 5.0


def line(text: str, x: float, y: float, size: float = SIZE) -> Line:
    return Line(text, x, y, x + CHARACTER * size / SIZE * len(text), y + size)


def body(x: float = 60, y: float = 90, characters: int = 95, sentences: int = 40) -> list[Line]:
    text = " ".join(f"Sentence {index} of the body is here to be read." for index in range(sentences))
    return [line(row, x, y + PITCH * number) for number, row in enumerate(textwrap.wrap(text, characters))]


def left_out(extra: Sequence[Line], text: Sequence[Line] | None = None) -> set[str]:
    lines = [*extra, *(body() if text is None else text)]
    return {item.text for item in margin_lines(lines, WIDTH, HEIGHT)}


@pytest.mark.parametrize(
    "number", ["7", "- 12 -", "Page 3", "Page 3 of 20", "3/34", "xiv", "A-42", "Seite 9", "第 5 页"]
)
@pytest.mark.parametrize("y", [40.0, 760.0])
def test_a_lone_page_number_is_no_text(number: str, y: float) -> None:
    assert left_out([line(number, 290, y)]) == {number}


def test_a_running_head_with_its_number() -> None:
    head = [line("THE ORIGIN OF SPECIES", 60, 60), line("117", 520, 60)]
    assert left_out(head) == {"THE ORIGIN OF SPECIES", "117"}
    assert left_out([line("148 G. Wright and B. Smith", 60, 40)]) == {"148 G. Wright and B. Smith"}
    assert left_out([line("Odour variation Smith 149", 320, 40)]) == {"Odour variation Smith 149"}


def test_a_head_without_a_number_must_look_like_one() -> None:
    address = "Downloaded from https://example.org/archive on 3 May"
    assert left_out([line(address, 200, 15)]) == {address}
    assert left_out([line("Journal of Tests, 2015, Vol. 113", 60, 40)]) == {"Journal of Tests, 2015, Vol. 113"}
    assert left_out([line("Proceedings in small print", 60, 770, 8)]) == {"Proceedings in small print"}
    assert left_out([line("Proceedings in the usual print", 60, 40)]) == set()


def test_two_rows_of_heads_go_and_the_text_below_stays() -> None:
    stamp, head = line("Downloaded from https://example.org", 200, 10), line("Some journal 149", 60, 40)
    assert left_out([stamp, head]) == {stamp.text, head.text}


@pytest.mark.parametrize(
    "kept",
    [
        line("The Title of It All", 60, 40, 20),
        line("1 Introduction", 60, 50),
        line("Table 2. Primers used", 60, 50, 8),
        line("the end of a paragraph that began before.", 60, 50, 8),
        line("1 See the appendix", 60, 760, 8),
        line("* Corresponding author", 60, 760, 8),
        line("Sincerely yours", 60, 740),
    ],
)
def test_text_near_the_edge_is_text(kept: Line) -> None:
    assert left_out([kept]) == set()


def test_what_stands_close_to_the_text_belongs_to_it() -> None:
    assert left_out([line("42", 60, 78)]) == set()


def test_the_sums_below_a_table_stay() -> None:
    rows = [
        line(text, x, 660 + 14 * row) for row in range(6) for text, x in (("Virginia", 60), ("12", 300), ("7", 500))
    ]
    sums = [line("Totals", 60, 760), line("72", 300, 760), line("42", 500, 760)]
    assert left_out(sums, [*body(sentences=30), *rows]) == set()


def test_a_page_with_little_on_it_keeps_all() -> None:
    assert left_out([line("7", 290, 760)], [line("Thank you", 250, 400)]) == set()


def test_a_stamp_on_its_side_goes_only_where_the_margin_is() -> None:
    outside = Line("Downloaded from somewhere", 580, 100, 590, 400)
    inside = Line("label of an axis", 300, 100, 310, 400)
    assert left_out([outside, inside]) == {outside.text}


def test_markdown_keeps_margins_or_leaves_out_them_alone() -> None:
    lines = [line("Some journal", 60, 40), line("149", 520, 40), *body()]
    kept = to_markdown(lines, WIDTH, HEIGHT).markdown
    dropped = to_markdown(lines, WIDTH, HEIGHT, keep_margins=False).markdown
    assert "Some journal" in kept
    assert "149" in kept
    assert "Some journal" not in dropped
    assert "149" not in dropped
    assert all(f"Sentence {index} of the body is here to be read." in dropped for index in range(40))


def test_a_number_in_a_ruled_table_is_no_page_number() -> None:
    xs, ys = (60.0, 300.0, 540.0), (650.0, 690.0, 740.0, 790.0)
    rulings = Rulings(tuple(Segment(y, 60, 540) for y in ys), tuple(Segment(x, 650, 790) for x in xs))
    cells = [line(text, x, y) for text, x, y in (("a", 70, 665), ("b", 310, 665), ("c", 70, 710), ("d", 310, 710))]
    lines = [*body(sentences=30), *cells, line("9", 310, 765)]
    assert "<td>9</td>" in to_markdown(lines, WIDTH, HEIGHT, rulings, keep_margins=False).markdown
