"""The rows of a would-be table in columns: whether it is one, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pdfocr_core.layout.cells import cell_html, table_html
from pdfocr_core.layout.joining import UNSPACED
from pdfocr_core.layout.model import Line

__all__ = ["ALIGNED_WITHIN", "LEAST_ROWS", "Field", "fields_html", "is_table", "without_continuations"]

LEAST_ROWS = 3  # with numbers in them; …
LEAST_WORDY_ROWS = 4  # … without
NUMBERS_SHARE = 0.25  # of the cells
FILLED_SHARE = 0.5  # of the fields
ALIGNED_SHARE = 0.7  # of the cells of a column
ALIGNED_WITHIN = 0.7  # line heights
FULL_SHARE = 0.7  # of a column's width; running text fills it so far
SENTENCE_SHARE = 0.4  # of the lines of running text begin with a small letter
STREAK = 3  # lines one after the other that begin in the middle of a sentence
PROSE_WORDS = 4  # in a line of running text, at least; …
PROSE_CHARACTERS = 12  # … of scripts without spaces, these
MARKS_SHARE = 0.5
LEADERS_SHARE = 0.3
CLOSER = 0.25  # line heights by which the rows of one cell stand closer than those of a table

_MARK = re.compile(
    r"[-*•◦▪■●○‣·∙\u2013\u2014§]|[(\[]?(?:[a-zA-Z]?\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)\]]*|\d+(?:\.\d+)+\.?"
)
_FORMULA_NUMBER = re.compile(r"[(\[]\s*\d+(?:[.-]\d+)*[a-z]?\s*[)\]]")
_LEADERS = re.compile(r"(?:[.\u2024\u2025\u2026_]\s?){4,}")


@dataclass(slots=True)
class Field:
    """Pieces of a row that take up the columns from `first` to `last`."""

    first: int
    last: int
    lines: list[Line]

    @property
    def text(self) -> str:
        """All of it on one line."""
        return " ".join(line.text.strip() for line in self.lines)


def is_table(rows: Sequence[Sequence[Field]], columns: int, height: float, across: bool) -> bool:
    """Whether everything speaks for a table.

    Args:
        rows: from top to bottom.
        columns: how many there are.
        height: of the usual line.
        across: whether the rows may be those of columns of running text, beside which no table is claimed then.
    """
    cells = [field for row in rows for field in row]
    numbers = sum(any(map(str.isdigit, field.text)) for field in cells)
    least = LEAST_ROWS if numbers >= NUMBERS_SHARE * len(cells) else LEAST_WORDY_ROWS
    several = [row for row in rows if len(row) > 1]
    covered = sum(field.last - field.first + 1 for row in several for field in row)
    if len(several) < least or covered < FILLED_SHARE * columns * len(several):
        return False
    by_column = [[field for field in cells if field.first == field.last == column] for column in range(columns)]
    if not all(len(column) >= 2 and _is_aligned(column, height) for column in by_column):
        return False
    running = sum(map(_is_running_text, by_column))
    # Beside one column of words, running text is a list of paragraphs with their marks or terms.
    if running >= columns - (columns == 2) or (across and running):
        return False
    if sum(bool(_LEADERS.search(field.text)) for field in cells) >= LEADERS_SHARE * len(rows):
        return False
    return columns > 2 or not (_are(_MARK, by_column[0]) or _are(_FORMULA_NUMBER, by_column[-1]))


def _is_aligned(column: Sequence[Field], height: float) -> bool:
    """Whether most cells share their left or right edge or their middle."""
    lefts = [min(line.x0 for line in field.lines) for field in column]
    rights = [max(line.x1 for line in field.lines) for field in column]
    middles = [(left + right) / 2 for left, right in zip(lefts, rights, strict=True)]
    most = max(
        sum(abs(value - median(values)) <= ALIGNED_WITHIN * height for value in values)
        for values in (lefts, rights, middles)
    )
    return most >= ALIGNED_SHARE * len(column)


def _is_running_text(column: Sequence[Field]) -> bool:
    widths = [max(line.x1 for line in field.lines) - min(line.x0 for line in field.lines) for field in column]
    wordy = [
        len(field.text.split()) >= PROSE_WORDS or len(UNSPACED.findall(field.text)) >= PROSE_CHARACTERS
        for field in column
    ]
    inside = [is_wordy and field.text[:1].islower() for is_wordy, field in zip(wordy, column, strict=True)]
    if any(all(inside[start : start + STREAK]) for start in range(len(column) - STREAK + 1)):
        return True  # rows of a table may stand above it
    if 2 * sum(wordy) <= len(column):
        return False
    # A picture set into the columns makes some lines shorter; most still begin in the middle of a sentence.
    in_a_sentence = sum(field.text[:1].islower() for field in column)
    return median(widths) >= FULL_SHARE * max(widths) or in_a_sentence >= SENTENCE_SHARE * len(column)


def _are(pattern: re.Pattern[str], column: Sequence[Field]) -> bool:
    return sum(bool(pattern.fullmatch(field.text)) for field in column) >= MARKS_SHARE * len(column)


def without_continuations(rows: Sequence[list[Field]], height: float) -> list[list[Field]]:
    """Rows without a first cell that only go on with what stands above them join that row.

    That is so where they stand closer to it than other rows do to theirs, or begin with a small letter.
    """
    gaps = [_top(lower) - _bottom(upper) for upper, lower in pairwise(rows)]
    usual = median([gap for gap, row in zip(gaps, rows[1:], strict=True) if row[0].first == 0] or [0.0])
    whole: list[list[Field]] = []
    for gap, following, row in zip([0.0, *gaps], [*gaps, usual], rows, strict=True):
        above = {(field.first, field.last): field for field in whole[-1]} if whole else {}
        has_place = all((field.first, field.last) in above for field in row)
        close = row[0].first > 0 and gap < min(usual - CLOSER * height, following)
        if has_place and (close or (len(row) == 1 and row[0].text[:1].islower())):
            for field in row:
                above[field.first, field.last].lines += field.lines
        else:
            whole.append(row)
    return whole


def _top(row: Sequence[Field]) -> float:
    return min(line.y0 for field in row for line in field.lines)


def _bottom(row: Sequence[Field]) -> float:
    return max(line.y1 for field in row for line in field.lines)


def fields_html(rows: Sequence[Sequence[Field]], columns: int) -> str:
    """The table in HTML; a field over several columns spans them."""
    return table_html(_cells(row, columns) for row in rows)


def _cells(row: Sequence[Field], columns: int) -> Iterator[str]:
    column = 0
    for field in row:
        yield from (cell_html([]) for _ in range(column, field.first))
        yield cell_html(field.lines, columns=field.last - field.first + 1)
        column = field.last + 1
    yield from (cell_html([]) for _ in range(column, columns))
