"""Boxes across the gutter of two columns are cut; titles and words are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pdfocr_core.cpu_engine.gutters import cut_at_gutters
from pdfocr_core.cpu_engine.picture import Pixels
from pdfocr_core.cpu_engine.recogniser import Spot

LEFT, RIGHT, PITCH, HEIGHT = 40, 420, 26, 24
WORDS = "some words that fill the column here"


def page(rows: Sequence[Sequence[tuple[int, str]]]) -> Pixels:
    image = Image.new("RGB", (820, 400), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(20)
    for number, row in enumerate(rows):
        for x, text in row:
            draw.text((x, 40 + PITCH * number), text, fill="black", font=font)
    return np.asarray(image)


def spot(pixels: Pixels, row: int, x0: int, x1: int) -> Spot:
    y0, y1 = 40 + PITCH * row, 40 + PITCH * row + HEIGHT
    corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], dtype=np.float32)
    return Spot(corners, np.ascontiguousarray(pixels[y0:y1, x0:x1]), float(x1 - x0), float(HEIGHT))


def extents(spots: Sequence[Spot]) -> list[tuple[int, int]]:
    return [(round(float(one.corners[0, 0])), round(float(one.corners[1, 0]))) for one in spots]


def two_columns(middle: Sequence[tuple[int, str]]) -> Pixels:
    columns = [(LEFT, WORDS), (RIGHT, WORDS)]
    return page([columns, columns, middle, columns])


def test_a_box_over_both_columns_is_cut_in_the_gutter() -> None:
    pixels = two_columns([(LEFT, WORDS), (RIGHT, WORDS)])
    spots = [spot(pixels, row, x, x + 345) for row in (0, 1, 3) for x in (LEFT, RIGHT)]
    found = cut_at_gutters([*spots, spot(pixels, 2, LEFT, RIGHT + 345)])
    assert found[:6] == spots
    (first_start, first_end), (second_start, second_end) = extents(found[6:])
    assert (first_start, second_end) == (LEFT, RIGHT + 345)
    assert first_end == second_start
    assert LEFT + 335 < first_end < RIGHT
    assert found[6].crop.shape[1] == first_end - LEFT


def test_rows_that_are_all_one_box_are_cut_one_after_the_other() -> None:
    pixels = page([[(LEFT, WORDS), (RIGHT, WORDS)]] * 8)
    spots = [spot(pixels, row, x, x + 345) for row in (0, 7) for x in (LEFT, RIGHT)]
    spots += [spot(pixels, 1, x, x + 345) for x in (LEFT, RIGHT)]
    spots += [spot(pixels, row, LEFT, RIGHT + 345) for row in range(2, 7)]
    assert len(cut_at_gutters(spots)) == 16


def test_the_end_of_a_box_in_the_other_column_is_taken_off() -> None:
    pixels = two_columns([(LEFT, WORDS), (RIGHT, WORDS)])
    spots = [spot(pixels, row, x, x + 345) for row in (0, 1, 3) for x in (LEFT, RIGHT)]
    found = cut_at_gutters([*spots, spot(pixels, 2, LEFT, RIGHT + 12), spot(pixels, 2, RIGHT, RIGHT + 345)])
    assert len(found) == 8
    assert extents(found)[6][1] < RIGHT


def test_a_line_over_both_columns_stays_whole() -> None:
    pixels = two_columns([(LEFT, "a title that runs over both columns of this page without a wide gap in it")])
    spots = [spot(pixels, row, x, x + 345) for row in (0, 1, 3) for x in (LEFT, RIGHT)]
    spots.append(spot(pixels, 2, LEFT, RIGHT + 345))
    assert cut_at_gutters(spots) == spots


def test_without_rows_around_nothing_tells_of_a_gutter() -> None:
    pixels = page([[(LEFT, WORDS), (RIGHT, WORDS)]])
    spots = [spot(pixels, 0, LEFT, RIGHT + 345)]
    assert cut_at_gutters(spots) == spots
