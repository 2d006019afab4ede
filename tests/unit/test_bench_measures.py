"""Measures without labels."""

from __future__ import annotations

import pytest

from pdfocr_core.bench.measures import character_error_rate, plain_words, reading_order, word_f1
from pdfocr_core.bench.teds import table_similarity, teds

TABLE = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>22</td></tr></table>"


def test_markup_is_no_text_and_broken_words_are_whole() -> None:
    text = "# The **mill**\n\n- one\n\n| a | b |\n|---|---|\n\n![a mill](mill.png) and water-\nwheels <sup>2</sup>"
    assert plain_words(text) == ["The", "mill", "one", "a", "b", "and", "waterwheels", "2"]


def test_error_rates() -> None:
    assert character_error_rate("the mill", "**the**  mill") == 0
    assert character_error_rate("abcd", "abed") == 0.25
    assert character_error_rate("", "abed") is None
    assert word_f1("the old mill", "The mill") == pytest.approx(0.8)
    assert word_f1("the mill", "") == 0
    assert word_f1(" ", "the") is None


def test_reading_order_goes_from_one_to_minus_one() -> None:
    words = "alpha beta gamma delta epsilon zeta"
    assert reading_order(words, words) == 1
    assert reading_order(words, " ".join(reversed(words.split()))) == -1
    assert reading_order(words, "delta epsilon zeta alpha beta gamma") == pytest.approx(1 - 2 * 9 / 15)
    assert reading_order(words, "alpha beta") is None
    assert reading_order("alpha " * 9, "alpha " * 9) is None


def test_tables_are_as_alike_as_few_edits_make_them() -> None:
    assert teds(TABLE, TABLE) == 1
    assert teds(TABLE, "| a | b |\n|---|---|\n| 1 | 22 |") == 1
    assert teds(TABLE, TABLE.replace("22", "23")) == pytest.approx(1 - 0.5 / 7)
    assert teds(TABLE, TABLE.replace("<td>1</td>", "")) == pytest.approx(1 - 1 / 7)
    assert teds(TABLE, "no table") is None
    assert table_similarity(TABLE, TABLE + TABLE) == 0.5
    assert table_similarity(TABLE, "no table") == 0
    assert table_similarity("none", "none") is None
