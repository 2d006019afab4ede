from __future__ import annotations

import random
import re
import textwrap
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdfocr_core.layout.model import Line
from pdfocr_core.layout.page import to_markdown

WIDTH, HEIGHT = 600.0, 800.0
PITCH, SIZE, CHARACTER = 12.0, 10.0, 5.0


def line(text: str, x: float, y: float, size: float = SIZE) -> Line:
    return Line(text, x, y, x + CHARACTER * size / SIZE * len(text), y + size)


def column(name: str, x: float, y: float, characters: int = 46, sentences: int = 12) -> list[Line]:
    """A column of running text whose words name their place."""
    text = " ".join(f"{name}{index} goes on as any text does, to the end." for index in range(sentences))
    return [line(row, x, y + PITCH * number) for number, row in enumerate(textwrap.wrap(text, characters))]


def markdown_of(lines: Sequence[Line]) -> str:
    shuffled = list(lines)
    random.Random(5).shuffle(shuffled)
    return to_markdown(shuffled, WIDTH, HEIGHT).markdown


def assert_in_order(markdown: str, *phrases: str) -> None:
    places = [markdown.find(phrase) for phrase in phrases]
    assert -1 not in places, (phrases, places)
    assert places == sorted(places), (phrases, places)


def test_an_empty_page_has_no_text() -> None:
    assert to_markdown([], WIDTH, HEIGHT).markdown == ""
    assert to_markdown([line("  ", 10, 10)], WIDTH, HEIGHT).markdown == ""


def test_two_columns_are_read_one_after_the_other() -> None:
    markdown = markdown_of(column("left", 40, 100) + column("right", 310, 100))
    assert_in_order(markdown, "left0", "left11", "right0", "right11")
    assert "left3 goes on as any text does, to the end. left4 goes on" in markdown


def test_columns_whose_lines_do_not_stand_side_by_side() -> None:
    markdown = markdown_of(column("left", 40, 100) + column("right", 310, 105.5, sentences=7))
    assert_in_order(markdown, "left0", "left11", "right0", "right6")


def test_three_columns() -> None:
    lines = [item for number in range(3) for item in column(f"c{number}x", 30 + 190 * number, 100, 34, 9)]
    assert_in_order(markdown_of(lines), "c0x0", "c0x8", "c1x0", "c1x8", "c2x0", "c2x8")


def test_columns_from_right_to_left_in_scripts_that_run_so() -> None:
    words = "שלום לכל הקוראים של הספר הזה בכל מקום"
    left = [line(f"{words} {number}", 40, 100 + PITCH * number) for number in range(8)]
    right = [line(f"{words} {100 + number}", 310, 100 + PITCH * number) for number in range(8)]
    assert_in_order(markdown_of(left + right), "100", "107", "מקום 0", "מקום 7")


def test_references_below_a_text_are_read_after_all_of_it() -> None:
    text = [column("left", 40, 100, sentences=8)[:12], column("right", 310, 100, sentences=6)]
    text[0][-1] = line("and at the foot of this column the sentence goes on", 40, text[0][-1].y0)
    text[1].insert(0, line("in the next one, as sentences do, without an end", 310, 100 - PITCH))
    notes = [
        line(f"[{number}] A. Author, a title of the year, 19{number:02}.", x, 290 + PITCH * (number % 6))
        for x, numbers in ((40, range(6)), (310, range(6, 12)))
        for number in numbers
    ]
    markdown = markdown_of([*text[0], *text[1], *notes])
    assert_in_order(markdown, "left0", "right5", "[0]", "[5]", "[6]", "[11]")


def test_a_figure_in_each_column_does_not_part_them() -> None:
    lines = column("a", 40, 100, sentences=6) + column("b", 310, 100, sentences=6)
    lines += column("c", 40, 340, sentences=6) + column("d", 310, 340, sentences=6)
    assert_in_order(markdown_of(lines), "a0", "a5", "c0", "c5", "b0", "b5", "d0", "d5")


def test_a_line_across_both_columns_parts_them_into_bands() -> None:
    across = line("A caption that runs across both of the columns and belongs between the two bands of text.", 40, 300)
    lines = column("a", 40, 100, sentences=6) + column("b", 310, 100, sentences=6) + [across]
    lines += column("c", 40, 340, sentences=6) + column("d", 310, 340, sentences=6)
    assert_in_order(markdown_of(lines), "a0", "a5", "b0", "b5", "A caption", "c0", "c5", "d0", "d5")


def test_a_table_without_strokes_keeps_its_rows() -> None:
    names = ["Anna", "Berta", "Carla", "Dora", "Emma", "Frida", "Greta"]
    lines = [
        piece
        for number, name in enumerate(names)
        for piece in (
            line(name, 60, 100 + 14 * number),
            line(str(100 + number), 260, 100 + 14 * number),
            line(f"{number}.5 %", 420, 100 + 14 * number),
        )
    ]
    rows = markdown_of(lines).splitlines()[1:-1]
    assert rows == [f"<tr><td>{name}</td><td>{100 + i}</td><td>{i}.5 %</td></tr>" for i, name in enumerate(names)]


def test_fragments_of_one_row_are_joined_however_they_come() -> None:
    lines = [line("is one", 90, 101), line("line of text.", 125, 99.5), line("This here", 40, 100)]
    assert markdown_of(lines) == "This here is one line of text."


def test_a_blank_line_stands_between_paragraphs_only() -> None:
    first = column("first", 40, 100, 90, 4)
    second = column("second", 40, first[-1].y1 + 14, 90, 4)
    paragraphs = markdown_of(first + second).split("\n\n")
    assert [paragraph.split()[0] for paragraph in paragraphs] == ["first0", "second0"]
    assert all("\n" not in paragraph for paragraph in paragraphs)


def test_a_paragraph_goes_on_in_the_next_column_and_its_word_is_mended() -> None:
    left, right = column("left", 40, 100), column("right", 310, 100)
    left.append(line("and the last line of this column ends in hyphen-", 40, left[-1].y0 + PITCH))
    right.insert(0, line("ation, which the next one goes on with until the", 310, 100 - PITCH))
    assert "this column ends in hyphenation, which the next" in markdown_of(left + right)


def test_list_items_and_addresses_keep_their_lines() -> None:
    address = ["Old Sticky Pancake Company", "25 Main Street", "Springfield"]
    items = ["• flour and a little salt", "• milk", "2) eggs", "- butter"]
    lines = [line(text, 40, 100 + PITCH * number) for number, text in enumerate(address)]
    lines += [line(text, 40, 200 + PITCH * number) for number, text in enumerate(items)]
    lines += column("body", 40, 300, 95)
    markdown = markdown_of(lines)
    assert "Old Sticky Pancake Company\n25 Main Street\nSpringfield" in markdown
    assert "- flour and a little salt\n- milk\n2) eggs\n- butter" in markdown


def test_items_within_items_are_indented() -> None:
    rows = [(40, "• fruit that is"), (60, "◦ red"), (60, "◦ green"), (80, "1. sour"), (40, "• bread")]
    markdown = markdown_of([line(text, x, 100 + PITCH * number) for number, (x, text) in enumerate(rows)])
    assert markdown == "- fruit that is\n  - red\n  - green\n    1. sour\n- bread"


def test_numbers_of_several_parts_begin_items_and_measures_do_not() -> None:
    rows = ["1. The first", "1.1 Part of it", "1.2 Another", "2. The second"]
    assert markdown_of([line(text, 40, 100 + PITCH * n) for n, text in enumerate(rows)]) == "\n".join(rows)
    rows = ["The pipe that they laid from the harbour to the church has a length of", "2.1 Miles and is full of mud."]
    assert markdown_of([line(text, 40, 100 + PITCH * n) for n, text in enumerate(rows)]) == " ".join(rows)


def test_an_item_whose_mark_stands_apart_runs_on() -> None:
    lines = [line("[1]", 40, 100), line("A. Author, a title that is so long that it goes on in the", 75, 100)]
    lines += [line("next row, 1999.", 75, 112), line("[2]", 40, 124), line("B. Author, a title, 2001.", 75, 124)]
    first, second = markdown_of(lines).split("\n")
    assert first == "[1] A. Author, a title that is so long that it goes on in the next row, 1999."
    assert second == "[2] B. Author, a title, 2001."


def test_a_raised_mark_stays_in_its_line() -> None:
    rows = column("body", 40, 100, 60, 6)
    mark = Line("12", rows[1].x1 + 1, rows[1].y0 - 2, rows[1].x1 + 8, rows[1].y0 + 4)
    markdown = markdown_of([*rows, mark])
    assert "\n" not in markdown
    assert f"{rows[1].text} 12 {rows[2].text}" in markdown


def test_the_number_of_a_note_stands_apart_from_its_first_word() -> None:
    assert markdown_of([line("3The bishop's answer is lost.", 40, 700)]) == "3 The bishop's answer is lost."
    assert markdown_of([line("3D and 2Na are words.", 40, 700)]) == "3D and 2Na are words."


def test_headings_by_size() -> None:
    lines = [line("The Title of It All", 40, 40, 20), line("A Section", 40, 80, 14), *column("body", 40, 110, 95)]
    paragraphs = markdown_of(lines).split("\n\n")
    assert paragraphs[:2] == ["# The Title of It All", "## A Section"]
    assert paragraphs[2].startswith("body0")


def test_a_title_on_two_rows_is_one_heading() -> None:
    lines = [line("The Title of It", 40, 40, 20), line("All and More", 40, 64, 20), *column("body", 40, 110, 95)]
    assert markdown_of(lines).startswith("# The Title of It All and More\n\nbody0")


def test_text_of_one_size_has_no_headings() -> None:
    assert "#" not in markdown_of(column("body", 40, 100, 95))


def test_a_stamp_in_the_margin_does_not_disturb_the_rows() -> None:
    stamp = Line("Downloaded from somewhere", 585, 100, 595, 400)
    markdown = markdown_of([*column("body", 40, 100, 95), stamp])
    assert markdown.endswith("\n\nDownloaded from somewhere")


@pytest.mark.parametrize("mark", ["\ufffe", "\x02"])
def test_no_mark_of_the_text_layer_is_left_over(mark: str) -> None:
    lines = [*column("body", 40, 100, 95, 4), line(f"half{mark}", 40, 300), line("of a row", 100, 300)]
    lines.append(line(f"the very last word is left bro{mark}", 40, 400))
    markdown = markdown_of(lines)
    assert mark not in markdown
    assert "half- of a row" in markdown
    assert markdown.endswith("left bro-")


def ink(text: str) -> Counter[str]:
    return Counter(character for character in text if not character.isspace() and character not in "-•#")


coordinates = st.floats(-50, 700, width=32)
words = st.text(st.sampled_from("abcXYZ019.,:;()-•é文ש "), max_size=30)


@given(st.lists(st.builds(Line, words, coordinates, coordinates, coordinates, coordinates), max_size=25))
@settings(max_examples=150, deadline=None)
def test_no_character_is_ever_lost_or_added(lines: list[Line]) -> None:
    """Boxes may lie anywhere and be inside out."""
    markdown = re.sub(r"</?t[^>]*>", "", to_markdown(lines, WIDTH, HEIGHT).markdown)
    assert ink(markdown) == ink("".join(item.text for item in lines))
