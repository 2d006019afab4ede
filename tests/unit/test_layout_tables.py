from __future__ import annotations

from collections.abc import Sequence

from pdfocr_core.layout.model import Line, Rulings, Segment
from pdfocr_core.layout.page import to_markdown

WIDTH, HEIGHT = 600.0, 800.0


def grid(xs: Sequence[float], ys: Sequence[float]) -> Rulings:
    return Rulings(
        tuple(Segment(y, xs[0], xs[-1]) for y in ys),
        tuple(Segment(x, ys[0], ys[-1]) for x in xs),
    )


def cell(text: str, x: float, y: float) -> Line:
    """A line of ten points' height, its left upper corner at the given place."""
    return Line(text, x, y, x + 5.0 * len(text), y + 10)


def table_of(lines: Sequence[Line], rulings: Rulings) -> str:
    return to_markdown(lines, WIDTH, HEIGHT, rulings).markdown


def four() -> list[Line]:
    return [cell("name", 110, 110), cell("age", 210, 110), cell("Ada", 110, 140), cell("36", 210, 140)]


def test_a_grid_becomes_a_table() -> None:
    page = to_markdown(four(), WIDTH, HEIGHT, grid((100, 200, 300), (100, 130, 160)))
    assert page.markdown == ("<table>\n<tr><td>name</td><td>age</td></tr>\n<tr><td>Ada</td><td>36</td></tr>\n</table>")
    assert page.is_table


def test_without_strokes_there_is_no_table() -> None:
    page = to_markdown(four(), WIDTH, HEIGHT)
    assert page.markdown.split("\n\n") == ["name age", "Ada 36"]


def test_both_edges_of_a_thick_stroke_are_one() -> None:
    thick = Rulings(
        tuple(Segment(y + edge, 100, 300) for y in (100, 130, 160) for edge in (0, 2)),
        tuple(Segment(x + edge, 100, 160) for x in (100, 200, 300) for edge in (0, 2)),
    )
    assert table_of(four(), thick) == table_of(four(), grid((100, 200, 300), (100, 130, 160)))


def test_a_grid_open_on_its_sides_keeps_its_outer_columns() -> None:
    open_grid = Rulings(tuple(Segment(y, 100, 300) for y in (100, 130, 160)), (Segment(200, 100, 160),) * 2)
    closed_left = Rulings(open_grid.horizontal, (*open_grid.vertical, Segment(100, 100, 160)))
    assert "<td>name</td><td>age</td>" in table_of(four(), closed_left)


def test_missing_strokes_span_cells() -> None:
    rulings = Rulings(
        (Segment(100, 100, 400), Segment(130, 200, 400), Segment(160, 100, 400), Segment(190, 100, 400)),
        (Segment(100, 100, 190), Segment(200, 100, 190), Segment(300, 130, 190), Segment(400, 100, 190)),
    )
    lines = [
        cell("Group", 110, 125),
        cell("Results", 280, 110),
        cell("first", 210, 140),
        cell("second", 310, 140),
        cell("A", 110, 170),
        cell("1", 210, 170),
        cell("2", 310, 170),
    ]
    assert table_of(lines, rulings).splitlines() == [
        "<table>",
        '<tr><th rowspan="2">Group</th><th colspan="2">Results</th></tr>',
        "<tr><th>first</th><th>second</th></tr>",
        "<tr><td>A</td><td>1</td><td>2</td></tr>",
        "</table>",
    ]


def test_an_l_shaped_hole_becomes_a_rectangle_with_all_its_text() -> None:
    rulings = Rulings(
        (Segment(100, 100, 400), Segment(130, 200, 400), Segment(160, 100, 400), Segment(190, 100, 400)),
        (Segment(100, 100, 190), Segment(200, 130, 190), Segment(300, 100, 190), Segment(400, 100, 190)),
    )
    words = ["corner", "top", "under", "right", "below", "a", "b", "c"]
    places = [(110, 140), (210, 110), (210, 140), (310, 110), (310, 140), (110, 170), (210, 170), (310, 170)]
    html = table_of([cell(word, *place) for word, place in zip(words, places, strict=True)], rulings)
    assert 'rowspan="2" colspan="2"' in html
    assert all(word in html for word in words)


def test_lines_of_a_cell_are_joined_and_markup_is_made_harmless() -> None:
    lines = [*four()[:3], cell("if x < y & z then exam-", 205, 131), cell("ple &amp; more", 205, 145)]
    html = table_of(lines, grid((100, 200, 350), (100, 130, 160)))
    assert "<td>if x &lt; y & z then example &amp;amp; more</td>" in html


def test_text_round_a_table_keeps_its_place() -> None:
    lines = [cell("Before the table.", 100, 60), *four(), cell("After the table.", 100, 200)]
    page = to_markdown(lines, WIDTH, HEIGHT, grid((100, 200, 300), (100, 130, 160)))
    before, table, after = page.markdown.split("\n\n")
    assert (before, after) == ("Before the table.", "After the table.")
    assert table.startswith("<table>")


def test_a_frame_is_no_table() -> None:
    assert "<table>" not in table_of(four(), grid((100, 300), (100, 160)))


def test_the_shadow_of_a_page_edge_is_no_stroke() -> None:
    rulings = Rulings(
        (Segment(2, 0, WIDTH), Segment(400, 0, WIDTH), Segment(HEIGHT - 2, 0, WIDTH)),
        (Segment(1, 0, HEIGHT), Segment(300, 0, HEIGHT), Segment(WIDTH - 1, 0, HEIGHT)),
    )
    lines = [cell(word, x, y) for word, x, y in (("a", 50, 50), ("b", 400, 50), ("c", 50, 600), ("d", 400, 600))]
    assert "<table>" not in table_of(lines, rulings)


def test_columns_of_running_text_between_rules_are_no_table() -> None:
    rows = range(30)
    left = [Line(f"left{row} runs on and on", 110, 110 + 12 * row, 290, 120 + 12 * row) for row in rows]
    right = [Line(f"right{row} runs on and on", 310, 110 + 12 * row, 490, 120 + 12 * row) for row in rows]
    title = [cell("The Daily News", 120, 75), cell("Monday", 320, 75)]
    markdown = table_of([*title, *left, *right], grid((100, 300, 500), (70, 90, 480)))
    assert "<table>" not in markdown
    assert markdown.index("left29") < markdown.index("right0")


def test_a_page_full_of_hatching_ends_soon_and_keeps_its_text() -> None:
    strokes = grid([10 + index * 0.5 for index in range(1000)], [10 + index * 0.5 for index in range(1000)])
    markdown = table_of(four(), strokes)
    assert all(line.text in markdown for line in four())


def test_equal_lines_at_one_place_are_all_kept() -> None:
    html = table_of([*four(), four()[3]], grid((100, 200, 300), (100, 130, 160)))
    assert html.count("36") == 2
