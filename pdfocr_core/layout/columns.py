"""Where the gutters are: a page is cut into blocks, each a single column, in reading order.

A gutter is a vertical white strip with running text on both sides. Lines that cross it (titles, wide figures' captions)
part the page into bands, each read column by column. Cutting at every vertical gap would take tables apart, so both sides
must look like columns of prose: lines that fill their column. One exception: rows of short pieces beside running text are
a side box when they do not stand on the text's own lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from statistics import median

from pdfocr_core.layout.captions import is_caption
from pdfocr_core.layout.model import Line, text_height
from pdfocr_core.layout.rows import Row, group_rows

__all__ = ["cut_into_blocks"]

WIDE_SHARE = 0.6  # a line this wide, of the region, spans columns or is the only one
CROSSING_SHARE = 0.2  # of the narrower lines, at most so many may cross a gutter
EDGE_SHARE = 0.12  # gutters are looked for in the middle of the region only
GUTTER_HEIGHTS = 0.25  # narrowest gutter, in line heights
BOX_MARGIN = 0.2  # detected boxes are larger than their text by about this many line heights on either side
# A line crosses a gutter when it reaches this far beyond the gutter's middle on both sides. Boxes of long lines that were
# recognised often end in the gutter, sometimes in the next column; those of short pieces and of text layers are exact.
OVERHANG_SHARE = 0.05  # of the line's width, …
OVERHANG_HEIGHTS = (0.15, 1.0)  # … within these bounds, in line heights
COLUMN_HEIGHTS = 7.0  # narrowest column of prose, in line heights
FILLED_SHARE = 0.5  # lines of prose fill at least this much of their column in the median
ALIGNED_SHARE = 0.7  # rows beside running text stand on its lines this often only in tables
OVERLAP_SHARE = 0.2  # of its height, from which a line stands beside another
MIN_SIDE = 3
MAX_NESTED = 2  # gutters looked for within the side of a gutter, to tell columns from cells
MAX_TRIES = 6
MAX_DEPTH = 16
BLOCK_GAP_HEIGHTS = 0.8
STOREY_HEIGHTS = 2.0  # white between two storeys of columns, in line heights

_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*\Z")


@dataclass(frozen=True, slots=True)
class _Gutter:
    left: float
    right: float
    crossings: int

    @property
    def at(self) -> float:
        return (self.left + self.right) / 2


@dataclass(slots=True)
class _Band:
    """A stretch of the page between crossing lines; a crossing band holds those."""

    crossing: bool
    left: list[Line]
    right: list[Line]

    def lines(self) -> list[Line]:
        return self.left + self.right


def cut_into_blocks(lines: Sequence[Line], *, right_to_left: bool = False) -> list[list[Line]]:
    """Blocks in reading order; every line is in exactly one."""
    return [list(block) for block in _cut(lines, right_to_left, 0) if block]


def _cut(lines: Sequence[Line], right_to_left: bool, depth: int) -> Iterator[Sequence[Line]]:
    if depth >= MAX_DEPTH or len(lines) < 2 * MIN_SIDE or not _has_neighbours(lines):
        yield lines
        return
    height = text_height(lines)
    bands = _banded(lines, height)
    if bands is not None:
        for band in bands:
            if not band.crossing and len(band.left) >= 2 and len(band.right) >= 2:
                for part in _storeys(band, height, right_to_left):
                    yield from _cut(part, right_to_left, depth + 1)
            else:
                yield from _cut(band.lines(), right_to_left, depth + 1)
        return
    above, below = _split_at_widest_gap(lines, height)
    if not below:
        yield lines
        return
    yield from _cut(above, right_to_left, depth + 1)
    yield from _cut(below, right_to_left, depth + 1)


def _storeys(band: _Band, height: float, right_to_left: bool) -> Iterator[list[Line]]:
    """The columns of a band one after the other; in two storeys where white parts them and the text says so.

    References often stand below a text, both in two columns. The text goes on at the top of the second column then, not
    below the white: a sentence breaks off above it, the second column begins in the middle of one.
    """
    first, second = (band.right, band.left) if right_to_left else (band.left, band.right)
    for bottom in _white(band.lines(), height):
        first_above, first_below = _parted(first, bottom)
        second_above, second_below = _parted(second, bottom)
        if not (first_above and first_below and second_above and second_below):
            continue
        breaks_off = not _ends_a_sentence(first_above[-1]) and _ends_a_sentence(first_below[-1])
        # A figure with its caption below would be white too.
        other_text = not first_below[0].text[:1].islower() and not is_caption(first_below[0].text)
        if breaks_off and other_text and second_above[0].text[:1].islower():
            yield from (first_above, second_above, first_below, second_below)
            return
    yield from (first, second)


def _ends_a_sentence(line: Line) -> bool:
    return bool(_SENTENCE_END.search(line.text.rstrip()))


def _white(lines: Sequence[Line], height: float) -> Iterator[float]:
    """Lower ends of the white strips that run across all the lines, from top to bottom."""
    ordered = sorted(lines, key=attrgetter("y0"))
    covered = ordered[0].y1
    for line in ordered[1:]:
        if line.y0 - covered >= STOREY_HEIGHTS * height:
            yield line.y0
        covered = max(covered, line.y1)


def _parted(lines: Sequence[Line], at: float) -> tuple[list[Line], list[Line]]:
    """What stands above a height and what below, each from top to bottom."""
    ordered = sorted(lines, key=attrgetter("middle"))
    count = sum(line.middle < at for line in ordered)
    return ordered[:count], ordered[count:]


def _has_neighbours(lines: Sequence[Line]) -> bool:
    """Whether at least a few lines have another one beside them; if none has, there is one column."""
    beside = 0
    ordered = sorted(lines, key=attrgetter("y0"))
    bottom, right, left = float("-inf"), float("-inf"), float("inf")
    for line in ordered:
        if line.y0 + OVERLAP_SHARE * line.height < bottom and (line.x0 >= right or line.x1 <= left):
            beside += 1
            if beside >= MIN_SIDE:
                return True
        if line.y1 >= bottom or line.middle >= bottom:
            bottom, left, right = line.y1, line.x0, line.x1
    return False


def _banded(lines: Sequence[Line], height: float, nested: int = MAX_NESTED) -> list[_Band] | None:
    """Bands round the best gutter; None when there is none."""
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    narrow = [line for line in lines if line.width < WIDE_SHARE * (right - left)]
    if len(narrow) < 2 * MIN_SIDE:
        return None
    ordered = sorted(lines, key=lambda line: line.y0 + line.y1)
    for gutter in _candidates(narrow, left, right, height):
        bands = _bands(ordered, gutter.at, height)
        if any(_is_two_columns(band, height, nested) for band in bands if not band.crossing):
            return bands
    return None


def _candidates(narrow: Sequence[Line], left: float, right: float, height: float) -> list[_Gutter]:
    """White strips, or nearly so, best first: fewest crossing lines, then the widest."""
    margin = BOX_MARGIN * height
    events = sorted(
        [(line.x0 + margin, 1) for line in narrow if line.width > 2 * margin]
        + [(line.x1 - margin, -1) for line in narrow if line.width > 2 * margin]
    )
    allowed = CROSSING_SHARE * len(narrow)
    edge = EDGE_SHARE * (right - left)
    found: list[_Gutter] = []
    covering = 0
    for (at, change), (following, _) in pairwise(events):
        covering += change
        wide_enough = following - at >= GUTTER_HEIGHTS * height
        if wide_enough and covering <= allowed and left + edge <= (at + following) / 2 <= right - edge:
            found.append(_Gutter(at, following, covering))
    found.sort(key=lambda gutter: (gutter.crossings, gutter.left - gutter.right))
    return found[:MAX_TRIES]


def _bands(ordered: Sequence[Line], at: float, height: float) -> list[_Band]:
    bands: list[_Band] = []
    band: _Band | None = None
    least, most = (bound * height for bound in OVERHANG_HEIGHTS)
    for line in ordered:
        margin = max(least, min(most, OVERHANG_SHARE * line.width)) if line.score < 1 else least
        crossing = line.x0 < at - margin and line.x1 > at + margin
        if band is None or band.crossing != crossing:
            band = _Band(crossing, [], [])
            bands.append(band)
        (band.left if crossing or line.x0 + line.x1 < 2 * at else band.right).append(line)
    return bands


def _is_two_columns(band: _Band, height: float, nested: int) -> bool:
    left, right = band.left, band.right
    if len(left) < MIN_SIDE or len(right) < MIN_SIDE:
        return False
    shared = min(_bottom(left), _bottom(right)) - max(_top(left), _top(right))
    if shared < 0.3 * min(_bottom(left) - _top(left), _bottom(right) - _top(right)):
        return False
    prose = [_is_prose(side, height, nested) for side in (left, right)]
    if all(prose):
        return True
    if not any(prose):
        return False
    text, box = (left, right) if prose[0] else (right, left)
    rows = group_rows(box, with_raised=False)
    by_chance = ALIGNED_SHARE if len(rows) >= 2 * MIN_SIDE else 0.5 * ALIGNED_SHARE
    return len(rows) >= MIN_SIDE and _aligned_share(rows, text, height) < by_chance


def _is_prose(side: Sequence[Line], height: float, nested: int) -> bool:
    """Whether the lines of one side fill it, or columns of it, as running text does and the cells of a table do not."""
    width = max(line.x1 for line in side) - min(line.x0 for line in side)
    usual = median(line.width for line in side)
    narrowest = COLUMN_HEIGHTS * height
    if width >= narrowest and usual >= FILLED_SHARE * width:
        return True
    return nested > 0 and usual >= narrowest and _banded(side, height, nested - 1) is not None


def _aligned_share(box: Sequence[Row], text: Sequence[Line], height: float) -> float:
    """Share of the rows of a side box that stand on a line of the running text; rows of a table nearly all do."""
    top, bottom = _top(text), _bottom(text)
    rows = [row.middle for row in box if top <= row.middle <= bottom]
    middles = [line.middle for line in text]
    return sum(any(abs(row - middle) < 0.15 * height for middle in middles) for row in rows) / max(1, len(rows))


def _split_at_widest_gap(lines: Sequence[Line], height: float) -> tuple[list[Line], list[Line]]:
    """Split where the widest white strip runs across; the second part is empty where none is wide enough."""
    ordered = sorted(lines, key=attrgetter("y0"))
    bottom = ordered[0].y1
    best, at = BLOCK_GAP_HEIGHTS * height, 0
    for index, line in enumerate(ordered[1:], start=1):
        if line.y0 - bottom > best:
            best, at = line.y0 - bottom, index
        bottom = max(bottom, line.y1)
    return (ordered[:at], ordered[at:]) if at else (ordered, [])


def _top(lines: Sequence[Line]) -> float:
    return min(line.y0 for line in lines)


def _bottom(lines: Sequence[Line]) -> float:
    return max(line.y1 for line in lines)
