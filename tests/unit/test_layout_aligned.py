"""Tables without rulings, and what must not be taken for one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest

from pdfocr_core.layout.model import Line
from pdfocr_core.layout.page import to_markdown

PITCH, SIZE, CHARACTER = 12.0, 10.0, 5.0
FRUIT = [("Apples", "12", "3.50"), ("Pears", "7", "4.20"), ("Plums", "120", "1.10"), ("Figs", "9", "11.80")]


def line(text: str, x: float, y: float, score: float = 1.0) -> Line:
    return Line(text, x, y, x + CHARACTER * len(text), y + SIZE, score)


def rows(table: Sequence[Sequence[str]], xs: Sequence[float], y: float, pitch: float = 14.0) -> list[Line]:
    return [
        line(text, x, y + pitch * number)
        for number, cells in enumerate(table)
        for text, x in zip(cells, xs, strict=True)
        if text
    ]


def prose(name: str, x: float, y: float, characters: int, sentences: int) -> list[Line]:
    text = " ".join(f"{name}{index} goes on as any text does, to the end." for index in range(sentences))
    return [line(row, x, y + PITCH * number) for number, row in enumerate(textwrap.wrap(text, characters))]


def markdown_of(lines: Sequence[Line]) -> str:
    return to_markdown(lines, 600, 800).markdown


def cells_of(markdown: str) -> list[list[str]]:
    found = [row for row in markdown.splitlines() if row.startswith("<tr>")]
    return [row.removeprefix("<tr><td>").removesuffix("</td></tr>").split("</td><td>") for row in found]


def test_rows_that_stand_under_each_other_are_a_table() -> None:
    lines = [*prose("before", 60, 60, 95, 4), *rows(FRUIT, (60, 260, 420), 150), *prose("after", 60, 230, 95, 4)]
    before, table, after = markdown_of(lines).split("\n\n")
    assert before.startswith("before0")
    assert cells_of(table) == [list(row) for row in FRUIT]
    assert after.startswith("after0")


def test_columns_may_be_aligned_at_their_right_edge() -> None:
    lines = rows([(name, "", "") for name, _, _ in FRUIT], (60, 0, 0), 150)
    for number, (_, count, price) in enumerate(FRUIT):
        lines += [line(text, x - CHARACTER * len(text), 150 + 14 * number) for text, x in ((count, 300), (price, 450))]
    assert cells_of(markdown_of(lines)) == [list(row) for row in FRUIT]


def test_a_head_over_several_columns_spans_them() -> None:
    wide = [line("Fruit", 60, 136), line("Number of them and what each of them costs", 260, 136)]
    markdown = markdown_of([*wide, *rows(FRUIT, (60, 260, 420), 150)])
    assert '<tr><th>Fruit</th><th colspan="2">Number of them and what each of them costs</th></tr>' in markdown
    assert "<tr><td>Apples</td><td>12</td><td>3.50</td></tr>" in markdown


def test_an_empty_field_stays_one() -> None:
    table = [FRUIT[0], ("Pears", "", "4.20"), *FRUIT[2:]]
    assert cells_of(markdown_of(rows(table, (60, 260, 420), 150))) == [list(row) for row in table]


def test_the_rows_of_one_cell_are_joined() -> None:
    lines = rows([*FRUIT, ("Dates", "3", "from Tunis")], (60, 260, 420), 150, pitch=20)
    lines.append(line("and Tripoli", 420, 241))
    assert cells_of(markdown_of(lines))[-1] == ["Dates", "3", "from Tunis and Tripoli"]


def test_cells_of_many_rows_of_text() -> None:
    remark = [
        "The schoolmaster copied it",
        "with care, and so did the",
        "clerk, before the frost came",
        "and the river froze.",
    ]
    lines = [line(text, x, 100) for text, x in (("Article", 60), ("Remark", 200), ("Weight", 480))]
    for number, (name, count, _) in enumerate(FRUIT):
        lines += [line(name, 60, 120 + 60 * number), line(count, 480, 120 + 60 * number)]
        lines += [line(text, 200, 120 + 60 * number + PITCH * row) for row, text in enumerate(remark)]
    table = cells_of(markdown_of(lines))
    assert table == [["Article", "Remark", "Weight"], *([name, " ".join(remark), count] for name, count, _ in FRUIT)]


def test_white_between_its_rows_does_not_cut_a_table() -> None:
    lines = rows(FRUIT[:2], (60, 260, 420), 150) + rows(FRUIT[2:], (60, 260, 420), 200)
    assert markdown_of(lines).count("<table>") == 1


def test_a_table_above_two_columns_whose_gutter_runs_through_it() -> None:
    lines = rows(FRUIT, (60, 285, 480), 60)
    lines += prose("left", 40, 150, 46, 10) + prose("right", 310, 150, 46, 10)
    markdown = markdown_of(lines)
    assert cells_of(markdown) == [list(row) for row in FRUIT]
    assert markdown.index("left9") < markdown.index("right0")


def test_a_table_close_above_two_columns_takes_up_none_of_them() -> None:
    lines = rows(FRUIT, (60, 285, 480), 60)
    lines += prose("left", 40, 124, 46, 4)[:5] + prose("right", 310, 124, 46, 4)[:5]
    for text, x in (("and so does this line of running text", 40), ("with more of it in the other column", 310)):
        lines += [line(f"{text} {number}", x, 184 + PITCH * number) for number in range(4)]
    markdown = markdown_of(lines)
    assert cells_of(markdown) == [list(row) for row in FRUIT]
    assert markdown.index("left3") < markdown.index("right0")


def test_a_table_within_a_column() -> None:
    lines = prose("left", 40, 60, 46, 24) + rows(FRUIT, (310, 410, 500), 60) + prose("right", 310, 130, 46, 18)
    markdown = markdown_of(lines)
    assert cells_of(markdown) == [list(row) for row in FRUIT]
    assert markdown.index("left23") < markdown.index("Apples") < markdown.index("right0")


def test_columns_of_running_text_are_no_table() -> None:
    for xs, characters in (((40, 310), 46), ((30, 220, 410), 34)):
        lines = [item for n, x in enumerate(xs) for item in prose(f"c{n}x", x, 100, characters, 5)]
        assert "<table>" not in markdown_of(lines)


def test_columns_round_a_picture_are_no_table() -> None:
    left, right = prose("left", 40, 100, 46, 12), prose("right", 310, 100, 46, 12)
    lines = [*left[:4], *right[:4]]
    lines += prose("leftx", 40, 100 + 4 * PITCH, 26, 6) + prose("rightx", 410, 100 + 4 * PITCH, 26, 6)
    markdown = markdown_of(lines)
    assert "<table>" not in markdown
    assert markdown.index("leftx5") < markdown.index("right0")


@pytest.mark.parametrize("marks", ["-•-•-•", "123456", "abcdef"])
def test_a_list_with_its_marks_is_no_table(marks: str) -> None:
    items = [(mark if mark in "-•" else f"{mark}.", f"item number {number}") for number, mark in enumerate(marks)]
    assert "<table>" not in markdown_of(rows(items, (60, 100), 100))


def test_paragraphs_beside_their_marks_or_terms_are_no_table() -> None:
    text = [
        "The name of the one who asks,",
        "with the day of birth and an",
        "address that a letter reaches",
        "within a week.",
    ]
    for terms in (["A1.", "A2.", "A3.", "A4."], ["Name", "Address", "Telephone", "Signature"]):
        lines = [line(term, 60, 100 + 60 * number) for number, term in enumerate(terms)]
        lines += [line(row, 150, 100 + 60 * n + PITCH * number) for n in range(4) for number, row in enumerate(text)]
        assert "<table>" not in markdown_of(lines)


def test_formulas_with_their_numbers_are_no_table() -> None:
    formulas = [(f"f(x) = x + {number}", f"(2.{number})") for number in range(6)]
    assert "<table>" not in markdown_of(rows(formulas, (200, 500), 100))


def test_a_table_of_contents_is_no_table() -> None:
    titles = ["Introduction", "The harbour", "Its ships", "Their masters", "The end"]
    entries = [(f"{title} ............", str(7 * number)) for number, title in enumerate(titles, 1)]
    assert "<table>" not in markdown_of(rows(entries, (60, 500), 100))


def test_words_scattered_over_a_drawing_are_no_table() -> None:
    places = [(60, 100), (300, 101), (140, 114), (420, 113), (90, 128), (350, 127), (200, 141), (480, 142), (50, 155)]
    lines = [line(f"R{number}", x, y) for number, (x, y) in enumerate(places)]
    assert "<table>" not in markdown_of(lines)
