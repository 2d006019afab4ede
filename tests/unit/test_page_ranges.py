"""Page ranges as people write them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pdfocr_core.page_ranges import check_ranges, pages_in
from pdfocr_core.settings import ReadSettings


@pytest.mark.parametrize(
    ("text", "shortest", "of_ten"),
    [
        ("1-3,7", "1-3,7", [1, 2, 3, 7]),
        (" 7 , 1 - 3 , 2-5 ", "1-5,7", [1, 2, 3, 4, 5, 7]),
        ("9-", "9-", [9, 10]),
        ("3-,5,4-6", "3-", [3, 4, 5, 6, 7, 8, 9, 10]),
        ("2,3", "2-3", [2, 3]),
        ("12-20", "12-20", []),
    ],
)
def test_ranges(text: str, shortest: str, of_ten: list[int]) -> None:
    assert check_ranges(text) == shortest
    assert pages_in(text, 10) == of_ten
    assert pages_in(shortest, 10) == of_ten


@pytest.mark.parametrize("text", ["0", "3-1", "a", "1-3;7", "-3", "1,,2", ""])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no range of pages"):
        check_ranges(text)


def test_all_pages_without_ranges_and_a_clear_word_on_wrong_ones() -> None:
    assert pages_in(None, 3) == range(1, 4)
    with pytest.raises(ValidationError, match="write them like 1-3,7,10-"):
        ReadSettings(page_range="one to three")


def test_a_huge_open_range_takes_no_more_than_the_document_has() -> None:
    assert pages_in("1-999999999999", 4) == [1, 2, 3, 4]
