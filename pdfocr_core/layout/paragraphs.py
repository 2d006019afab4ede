"""Rows of one block become paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pdfocr_core.layout.captions import is_caption
from pdfocr_core.layout.items import Nesting, is_item, with_plain_mark
from pdfocr_core.layout.joining import join_lines
from pdfocr_core.layout.rows import Row

__all__ = ["Paragraph", "join_across_blocks", "to_paragraphs"]

_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*\Z")
PITCH_SLACK = 1.35  # rows further apart than this many usual pitches are parted
SAME_SIZE = 0.72
MOST_BETWEEN = 3  # tables and captions between the two parts of one paragraph


@dataclass(slots=True)
class Paragraph:
    """Running text, or one line that stands for itself.

    Attributes:
        height: of its usual row, in the page's units.
        rows: how many rows it was made of.
        apart: whether a blank line goes before it.
        full: whether its last row runs to the end of its column, so that it may go on elsewhere.
        in_cells: whether it is a row whose pieces stand apart, as in a table without rulings.
    """

    text: str
    height: float
    rows: int = 1
    apart: bool = True
    full: bool = False
    in_cells: bool = False
    heading: int = 0


def to_paragraphs(rows: Sequence[Row], known: frozenset[str]) -> list[Paragraph]:
    """Join rows that run on; rows that end early stand on lines of their own."""
    if not rows:
        return []
    left, right = min(row.x0 for row in rows), max(row.x1 for row in rows)
    pitches = [lower.middle - upper.middle for upper, lower in pairwise(rows)]
    usual_pitch = min(median(pitches), 2.2 * median(row.height for row in rows)) if pitches else 0.0
    paragraphs: list[Paragraph] = []
    previous: Row | None = None
    item_start: float | None = None
    nesting = Nesting()
    for row in rows:
        text = with_plain_mark(row.text)
        close = previous is not None and _is_close(previous, row, usual_pitch)
        ended = previous is None or item_start is not None or bool(_SENTENCE_END.search(previous.text))
        item = is_item(row.text, after_sentence=ended)
        begins = item or _begins_caption(previous, row, right)
        if previous is not None and close and not begins and _runs_on(previous, row, left, right, item_start):
            last = paragraphs[-1]
            last.text = join_lines(last.text, text, known)
            last.rows += 1
        else:
            apart = not close or (not item and (begins or _starts_paragraph(paragraphs[-1], previous, row)))
            if not item:
                nesting.end()
            indent = nesting.indent(row.x0, text, row.height) if item else ""
            paragraphs.append(Paragraph(indent + text, row.height, apart=apart, in_cells=row.cells > 1))
            item_start = row.x0 if item else None
        paragraphs[-1].full = row.x1 >= right - 2.0 * row.height and row.cells == 1
        previous = row
    return paragraphs


def _is_close(previous: Row, row: Row, usual_pitch: float) -> bool:
    pitch = row.middle - previous.middle
    limit = max(PITCH_SLACK * usual_pitch, 1.45 * min(row.height, previous.height))
    sizes = sorted((previous.height, row.height))
    return pitch <= limit and sizes[0] >= SAME_SIZE * sizes[1]


def _starts_paragraph(last: Paragraph, previous: Row | None, row: Row) -> bool:
    """Whether a row close below another begins a new paragraph of prose rather than a line of a list or an address."""
    indented = previous is not None and row.x0 - previous.x0 > 0.8 * row.height and not last.in_cells
    return (indented or last.rows > 1) and bool(_SENTENCE_END.search(last.text))


def _begins_caption(previous: Row | None, row: Row, right: float) -> bool:
    """Whether a caption begins in this row; a sentence that has just come to "Table 2." goes on instead."""
    if not is_caption(row.text):
        return False
    return previous is None or bool(_SENTENCE_END.search(previous.text)) or previous.x1 < right - 4 * previous.height


def _runs_on(previous: Row, row: Row, left: float, right: float, item_start: float | None) -> bool:
    """Whether a row continues the one before: that one had no room for this one's first word."""
    if previous.cells > 1 or row.cells > 1:
        return False
    first_word = row.text.split(maxsplit=1)[0]
    width_of_word = (row.x1 - row.x0) * len(first_word) / max(1, len(row.text))
    had_room = right - previous.x1 > width_of_word + 1.2 * previous.height
    if had_room and not previous.text.endswith(("-", "\u00ad", "\ufffe", "\x02")):
        # Ragged or centred text: a sentence that clearly goes on is not cut for ending a little early.
        short = previous.x1 - previous.x0 < 0.6 * (right - left)
        return not short and row.text[:1].islower() and not _SENTENCE_END.search(previous.text)
    indent = row.x0 - (previous.x0 if item_start is None else item_start)
    starts_new = item_start is None and indent > 0.8 * row.height and row.text[:1].isupper()
    return not (starts_new and _SENTENCE_END.search(previous.text))


def join_across_blocks(paragraphs: Sequence[Paragraph], known: frozenset[str]) -> list[Paragraph]:
    """Join a paragraph with its rest at the top of the next column, and the lines of a large heading.

    A figure or table with its caption may stand between the two parts.
    """
    joined: list[Paragraph] = []
    for paragraph in paragraphs:
        last = next((item for item in _before(joined) if _goes_on(item, paragraph)), None)
        if last is not None:
            last.text = join_lines(last.text, paragraph.text, known)
            last.rows += paragraph.rows
            last.full = paragraph.full
        else:
            joined.append(paragraph)
    return joined


def _before(joined: Sequence[Paragraph]) -> Iterator[Paragraph]:
    """What a paragraph may go on from: the last one, and the last running text before a table or caption."""
    for item in reversed(joined[-MOST_BETWEEN - 1 :]):
        if item is joined[-1] or not (_is_float(item) or item.heading):
            yield item
        if not _is_float(item):
            return


def _is_float(paragraph: Paragraph) -> bool:
    """Whether it is a table, which has no height, or a caption."""
    return not paragraph.height or is_caption(paragraph.text)


def _goes_on(last: Paragraph, paragraph: Paragraph) -> bool:
    if last.heading and last.heading == paragraph.heading:
        return not paragraph.apart
    if (
        not paragraph.apart
        or last.heading
        or paragraph.heading
        or last.in_cells
        or paragraph.in_cells
        or not last.full
        or last.rows < 2
    ):
        return False
    sizes = sorted((last.height, paragraph.height))
    return (
        sizes[0] >= SAME_SIZE * sizes[1]
        and not _SENTENCE_END.search(last.text)
        and paragraph.text[:1].islower()
        and not is_item(paragraph.text, after_sentence=True)
    )
