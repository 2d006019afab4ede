"""Which way up a page lies, told by how well lines read: here by a reader that knows which of them are upright."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pdfocr_core.cpu_engine.orientation import turn_needed, turn_of_hidden
from pdfocr_core.cpu_engine.picture import Pixels
from pdfocr_core.cpu_engine.recogniser import Read, Spot

UPRIGHT, OVER, JOINED = (
    200,
    100,
    50,
)  # the shade of the upper left corner tells how a crop lies; what is joined never reads


def spot(wide: bool, shade: int, length: float = 200.0) -> Spot:
    crop = np.full((20, 100, 3), OVER if shade == UPRIGHT else UPRIGHT if shade == OVER else JOINED, dtype=np.uint8)
    crop[:10] = shade
    width, height = (length, 20.0) if wide else (20.0, length)
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], dtype=np.float32)
    return Spot(corners, crop, width, height)


def read(crops: Sequence[Pixels]) -> list[Read]:
    scores = {UPRIGHT: 0.97, OVER: 0.6, JOINED: 0.72}
    return [Read("a few words", scores[int(crop[0, 0, 0])]) for crop in crops]


@pytest.mark.parametrize(
    ("wide", "shade", "turn"), [(True, UPRIGHT, 0), (True, OVER, 180), (False, UPRIGHT, 90), (False, OVER, 270)]
)
def test_four_ways(wide: bool, shade: int, turn: int) -> None:
    assert turn_needed([spot(wide, shade) for _ in range(12)], read) == turn


@pytest.mark.parametrize(("shade", "turn"), [(UPRIGHT, 90), (OVER, 270)])
def test_cells_that_detection_joined_do_not_outvote_those_that_read(shade: int, turn: int) -> None:
    joined = [spot(True, JOINED, 400.0) for _ in range(20)]
    assert turn_needed([*joined, *(spot(False, shade) for _ in range(8))], read) == turn


def test_a_stamp_in_the_margin_turns_no_page_that_is_hard_to_read() -> None:
    joined = [spot(True, JOINED) for _ in range(20)]
    assert turn_needed([*joined, spot(False, UPRIGHT)], read) == 0


def test_what_reads_badly_is_turned_when_one_way_reads_much_better() -> None:
    def bad(better: float) -> list[int]:
        scores = {UPRIGHT: better, OVER: 0.35}
        spots = [spot(False, UPRIGHT) for _ in range(8)]
        return [turn_needed(spots, lambda crops: [Read("three words here", scores[int(c[0, 0, 0])]) for c in crops])]

    assert bad(0.55) == [90]
    assert bad(0.4) == [0]


def test_a_page_without_lines_stays_as_it_is() -> None:
    assert turn_needed([], read) == 0


def test_stains_among_the_lines_do_not_hide_the_few_that_read() -> None:
    def few(crops: Sequence[Pixels]) -> list[Read]:
        scores = {UPRIGHT: [0.98, 0.99, 0.9, 0.2, 0.1, 0.2], OVER: [0.7, 0.7, 0.4, 0.3, 0.5, 0.2]}
        found = scores[int(crops[0][0, 0, 0])]
        return [Read("three words here", found[number % len(found)]) for number in range(len(crops))]

    assert turn_needed([spot(False, OVER) for _ in range(6)], few) == 270


@pytest.mark.parametrize(("shade", "turn"), [(UPRIGHT, 90), (OVER, 270)])
def test_words_that_are_found_only_on_the_turned_picture_tell_its_turn(shade: int, turn: int) -> None:
    assert turn_of_hidden([spot(True, shade)], read) == turn


def test_what_is_no_word_either_way_turns_nothing() -> None:
    assert turn_of_hidden([spot(True, UPRIGHT)], lambda crops: [Read("D", 0.3) for _ in crops]) == 0
    assert turn_of_hidden([], read) == 0
