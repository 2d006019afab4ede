"""Tables without rulings: rows whose pieces stand under each other.

A table is claimed only where everything speaks for one: several rows in a run have pieces apart, white gutters run down
between them, the pieces of a column share an edge or their middle, most fields are filled, and the text is not that of
running columns, of a list with its marks, of a table of contents or of formulas with their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pdfocr_core.layout.fields import ALIGNED_WITHIN, LEAST_ROWS, Field, fields_html, is_table, without_continuations
from pdfocr_core.layout.model import Line, text_height
from pdfocr_core.layout.rows import group_lines
from pdfocr_core.layout.tables import Table

__all__ = ["find_aligned_tables"]

GUTTER_WIDTH = 0.5  # line heights
CROSSING_SHARE = 0.15  # of the rows may cross a gutter: they span columns
PIECE_GAP = 1.0  # line heights of white that part two pieces of a row
ROW_GAP = 3.0  # line heights of white that end a table
HANGING_GAP = 0.5  # line heights of white above a row that goes on with a cell of the last row
MOST_ALONE = 2  # rows of one piece at the left edge, one after the other, within a table
PROSE_WIDTH = 0.5  # of the block; a row this wide in one piece from its left edge is running text
SEVERAL_SHARE = 0.5  # of the rows that begin at the left edge must have more than one piece
LEAST_SHARE = 0.15  # of the rows must have something in a column
WIDE_GAP = 0.4  # line heights more than between the other rows


@dataclass(slots=True)
class _Piece:
    """What stands close together in a row."""

    lines: list[Line]
    x0: float
    x1: float


@dataclass(slots=True)
class _Row:
    pieces: list[_Piece]
    y0: float
    y1: float


def find_aligned_tables(blocks: Sequence[Sequence[Line]], *, across: bool) -> list[Table]:
    """Tables in blocks that come in reading order; white between its rows may have cut one into several blocks.

    Args:
        blocks: with the stand-ins of tables that are known, which have no text.
        across: whether blocks may hold columns of running text, beside which no table is claimed then.
    """
    tables: list[Table] = []
    for lines in _stacks(blocks):
        height = text_height(lines)
        rows = [_row(group, height) for group in group_lines(lines)]
        for first, after in _runs(rows, height):
            tables += _tables(rows[first:after], height, across)
    return tables


def _tables(rows: Sequence[_Row], height: float, across: bool) -> Iterator[Table]:
    """Tables in a run of rows; where it is none as a whole it is cut at its widest white, and so are its parts."""
    waiting = [rows]
    while waiting:
        part = _trimmed(waiting.pop(), height)
        if not part:
            continue
        table = _table(part, height, across)
        if table is not None:
            yield table
            continue
        gaps = [lower.y0 - upper.y1 for upper, lower in pairwise(part)]
        cut = max(range(len(gaps)), key=lambda index: gaps[index]) + 1
        if gaps[cut - 1] > median(gaps) + WIDE_GAP * height:
            waiting += [part[cut:], part[:cut]]


def _trimmed(rows: Sequence[_Row], height: float) -> Sequence[_Row]:
    """The rows from the first to the last with pieces apart, and what hangs on that; none where there are too few."""
    several = [index for index, row in enumerate(rows) if len(row.pieces) > 1]
    if len(several) < LEAST_ROWS:
        return []
    after = several[-1] + 1
    return rows[several[0] : after + _hanging(rows[after:], rows[after - 1], height)]


def _stacks(blocks: Sequence[Sequence[Line]]) -> Iterator[list[Line]]:
    """Lines of blocks that stand below each other."""
    stack: list[Line] = []
    bottom = float("-inf")
    for block in blocks:
        # The stand-in of a table with rulings parts what is above it from what is below.
        if not all(line.text for line in block):
            yield from (part for part in (stack, *_between_stand_ins(block)) if part)
            stack = []
            continue
        if stack and min(line.y0 for line in block) < bottom:
            yield stack
            stack = []
        stack += block
        bottom = max(line.middle for line in block)
    if stack:
        yield stack


def _between_stand_ins(block: Sequence[Line]) -> Iterator[list[Line]]:
    part: list[Line] = []
    for line in sorted(block, key=lambda line: line.middle):
        if line.text:
            part.append(line)
        else:
            yield part
            part = []
    yield part


def _row(group: Sequence[Line], height: float) -> _Row:
    pieces: list[_Piece] = []
    for line in sorted(group, key=lambda line: line.x0):
        if pieces and line.x0 - pieces[-1].x1 < PIECE_GAP * height:
            pieces[-1].lines.append(line)
            pieces[-1].x1 = max(pieces[-1].x1, line.x1)
        else:
            pieces.append(_Piece([line], line.x0, line.x1))
    return _Row(pieces, min(line.y0 for line in group), max(line.y1 for line in group))


def _lines(rows: Sequence[_Row]) -> list[Line]:
    return [line for row in rows for piece in row.pieces for line in piece.lines]


def _runs(rows: Sequence[_Row], height: float) -> Iterator[tuple[int, int]]:
    """Stretches of rows, as first and after the last, that begin and end with pieces apart."""
    if not rows:
        return
    left = min(row.pieces[0].x0 for row in rows)
    width = max(row.pieces[-1].x1 for row in rows) - left
    first: int | None = None
    last = alone = 0
    for index, row in enumerate(rows):
        wide = row.pieces[0].x1 - row.pieces[0].x0 >= PROSE_WIDTH * width
        running = len(row.pieces) == 1 and wide and row.pieces[0].x0 - left < 2 * height
        apart = index > 0 and row.y0 - rows[index - 1].y1 > ROW_GAP * height
        alone += first is not None and len(row.pieces) == 1 and not _is_inside(row, rows[last], height)
        if first is not None and (running or apart or alone > MOST_ALONE):
            yield first, last + 1 + _hanging(rows[last + 1 : index], rows[last], height)
            first = None
        if len(row.pieces) > 1:
            first, last, alone = index if first is None else first, index, 0
    if first is not None:
        yield first, last + 1 + _hanging(rows[last + 1 :], rows[last], height)


def _is_inside(row: _Row, above: _Row, height: float) -> bool:
    """Whether a row begins in another than the first column of a row with pieces apart."""
    return row.pieces[0].x0 >= above.pieces[1].x0 - ALIGNED_WITHIN * height


def _hanging(rows: Sequence[_Row], last: _Row, height: float) -> int:
    """How many rows go on right below the last row of a table, in another than its first column."""
    for index, row in enumerate(rows):
        if len(row.pieces) > 1 or not _is_inside(row, last, height) or row.y0 - last.y1 > HANGING_GAP * height:
            return index
        last = _Row(last.pieces, row.y0, row.y1)
    return len(rows)


def _table(rows: Sequence[_Row], height: float, across: bool) -> Table | None:
    several = [row for row in rows if len(row.pieces) > 1]
    gutters = _gutters(several, height)
    fields = [_in_columns(row, gutters) for row in rows]
    while gutters and (sparse := _sparse_column(fields, len(gutters) + 1)) is not None:
        del gutters[min(sparse, len(gutters) - 1)]
        fields = [_in_columns(row, gutters) for row in rows]
    # Rows of one piece further in go on with a cell of the row above; those at the left edge tell against a table.
    alone = sum(len(row) == 1 and row[0].first == 0 for row in fields)
    if not gutters or alone > (1 - SEVERAL_SHARE) * (len(several) + alone):
        return None
    if not is_table(fields, len(gutters) + 1, height, across):
        return None
    lines = _lines(rows)
    fields = without_continuations(fields, height)
    box = (min(line.x0 for line in lines), rows[0].y0, max(line.x1 for line in lines), rows[-1].y1)
    return Table(fields_html(fields, len(gutters) + 1), *box, tuple(lines))


def _gutters(rows: Sequence[_Row], height: float) -> list[float]:
    """Middles of the white strips that run down between the pieces; few rows may cross them."""
    events = sorted([(piece.x0, 1) for row in rows for piece in row.pieces] + _ends(rows))
    allowed = max(CROSSING_SHARE * len(rows), float(len(rows) > LEAST_ROWS))
    gutters: list[float] = []
    covering, strip, begun = 0, None, False
    for at, change in events:
        covering += change
        begun = begun or covering > allowed
        if begun and covering <= allowed and strip is None:
            strip = at
        elif covering > allowed and strip is not None:
            if at - strip >= GUTTER_WIDTH * height:
                gutters.append((strip + at) / 2)
            strip = None
    return gutters


def _ends(rows: Sequence[_Row]) -> list[tuple[float, int]]:
    return [(piece.x1, -1) for row in rows for piece in row.pieces]


def _sparse_column(rows: Sequence[Sequence[Field]], columns: int) -> int | None:
    """The first column in which hardly a row has anything: a note's mark, a stray piece."""
    filled = [sum(field.first <= column <= field.last for row in rows for field in row) for column in range(columns)]
    least = max(2.0, LEAST_SHARE * len(rows))
    return next((column for column, count in enumerate(filled) if count < least), None)


def _in_columns(row: _Row, gutters: Sequence[float]) -> list[Field]:
    fields: list[Field] = []
    for line in _lines([row]):
        slack = min(0.2 * line.height, 0.3 * line.width)
        first = sum(gutter < line.x0 + slack for gutter in gutters)
        last = max(first, sum(gutter < line.x1 - slack for gutter in gutters))
        if fields and first <= fields[-1].last:
            fields[-1].lines.append(line)
            fields[-1].last = max(last, fields[-1].last)
        else:
            fields.append(Field(first, last, [line]))
    return fields
