"""What stands in a page's margins rather than in its text: page numbers, running heads and feet, stamps on their side.

Only clear evidence counts, and all of it lies on the page itself: the row is the outermost one, a blank strip parts it
from the text, its print is no larger than the text's, and it stands where margins are. A lone page number may stand further
in and closer to the text than a running head, and a running head must look like one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from pdfocr_core.layout.captions import is_caption
from pdfocr_core.layout.model import Line, is_sideways, text_height

__all__ = ["margin_lines"]

# Shares of the page's height (of its width for stamps) in which such rows are looked for.
NUMBER_ZONE = 0.14
HEAD_ZONE = 0.08
STAMP_ZONE = 0.1
# White between the row and the text, in usual line heights.
NUMBER_GAP = 0.6
HEAD_GAP = 1.2
NUMBERED_GAP = 1.5  # of a running head with its page number apart, which may stand as far in as the number alone
WIDER = 1.5  # that white against the page's usual white between rows
LARGEST = 1.15  # print larger than the usual by this is a title
SMALL = 0.9  # print smaller than the usual by this is no heading
LONGEST = 130  # characters
LEAST_STAMP = 8  # characters; less are the letters round a drawing
LEAST_TEXT = 6  # rows; on a page with fewer nobody can tell its text from its margins
MOST_ROWS = 2  # at either end of the page
CELL_GAP = 1.5  # line heights between the pieces of a running head

_COUNTED = r"(?:page|pages|pag\.?|p\.|seite|s\.|página|pagina|\u0441\u0442\u0440\.|\u0441\.|第)"
_OF = r"(?:\s*(?:/|of|von|de|sur|di|\u0438\u0437|\|)\s*\d{1,5})"
_NUMBER = re.compile(
    rf"[\s(|[\u2013\u2014.-]*(?:{_COUNTED}\s*)?(?:\d{{1,5}}{_OF}?|[ivxlc]{{1,7}}|[a-z]{{1,2}}-?\d{{1,4}}|\d{{1,3}}[-.]\d{{1,3}})"
    r"(?:\s*(?:页|頁|ページ|쪽))?[\s)|\]\u2013\u2014.-]*",
    re.IGNORECASE,
)
# A running head and its page number in one piece.
_NUMBER_AT_END = re.compile(rf"\S.*\s(?:{_COUNTED}\s*\d{{1,5}}{_OF}?|[|\u2013\u2014-]?\s*\d{{1,4}})\Z", re.IGNORECASE)
_NUMBER_AT_START = re.compile(rf"(?:{_COUNTED}\s*\d{{1,5}}|\d{{2,4}})\s+\S", re.IGNORECASE)
_TELLING = re.compile(
    r"https?://|www\.|\bdoi\b|©|\(c\)\s*\d{4}|\bcopyright\b|\bvol\.|\bissn\b|\b(?:1[5-9]|20)\d\d\b", re.IGNORECASE
)
_NOTE = re.compile(
    r"[*\u2020\u2021\u00a7\u00b6\u2217\u00b9\u00b2\u00b3\u2070-\u2079]|\(?\d{1,2}[).\]]?\s*[^\W\d_]|\[\d+\]"
)
_ENDS_A_SENTENCE = re.compile(r"[.!?:;,\u3002]\Z")


@dataclass(slots=True)
class _Band:
    """Lines that overlap each other from top to bottom."""

    y0: float
    y1: float
    lines: list[Line] = field(default_factory=list)


def margin_lines(lines: Sequence[Line], width: float, height: float) -> set[Line]:
    """The lines of a page that are page numbers, running heads, running feet or stamps in a margin."""
    upright = [line for line in lines if not is_sideways(line)]
    stamps = _stamps(lines, upright, width)
    if not upright:
        return stamps
    usual = text_height(upright)
    bands = _bands(upright)
    found: set[Line] = set(stamps)
    usual_gap = median([max(0.0, lower.y0 - upper.y1) for upper, lower in pairwise(bands)] or [0.0])
    for inwards in (bands, [_mirrored(band, height) for band in reversed(bands)]):
        if _rows_of_text(bands) < LEAST_TEXT:
            break
        for band, following in list(pairwise(inwards))[:MOST_ROWS]:
            gap = following.y0 - band.y1
            if gap < WIDER * usual_gap or not _is_margin(band, gap / usual, usual, height):
                break
            found.update(band.lines)
    return found


def _rows_of_text(bands: Sequence[_Band]) -> float:
    """Rows on the page; a band of columns whose lines do not stand side by side holds many."""
    return sum(max(1, len(band.lines) // 2) for band in bands)


def _stamps(lines: Sequence[Line], upright: Sequence[Line], width: float) -> set[Line]:
    """Lines on their side at the left or right edge of the page, outside of all that is upright."""
    if len(upright) < LEAST_TEXT:
        return set()
    left, right = min(line.x0 for line in upright), max(line.x1 for line in upright)
    return {
        line
        for line in lines
        if is_sideways(line)
        and len(line.text) >= LEAST_STAMP
        and (
            (line.x1 <= left and line.x1 < STAMP_ZONE * width)
            or (line.x0 >= right and line.x0 > (1 - STAMP_ZONE) * width)
        )
    }


def _bands(lines: Sequence[Line]) -> list[_Band]:
    bands: list[_Band] = []
    for line in sorted(lines, key=lambda line: (line.y0, line.x0)):
        if bands and line.y0 < bands[-1].y1 - 0.3 * min(line.height, bands[-1].y1 - bands[-1].y0):
            bands[-1].y1 = max(bands[-1].y1, line.y1)
        else:
            bands.append(_Band(line.y0, line.y1))
        bands[-1].lines.append(line)
    return bands


def _mirrored(band: _Band, height: float) -> _Band:
    """The band as it lies seen from the foot of the page."""
    return _Band(height - band.y1, height - band.y0, band.lines)


def _is_margin(band: _Band, gap: float, usual: float, height: float) -> bool:
    """Whether an outermost band, seen from its end of the page, is none of the text; `gap` in line heights."""
    lines = sorted(band.lines, key=lambda line: line.x0)
    text = " ".join(line.text.strip() for line in lines)
    largest = max(line.height for line in lines)
    if band.y1 > NUMBER_ZONE * height or band.y1 - band.y0 > 2 * usual or len(text) > LONGEST:
        return False
    if _NUMBER.fullmatch(text):
        return gap >= NUMBER_GAP and largest <= LARGEST * usual
    if _has_number_apart(lines) and gap >= NUMBERED_GAP:
        return True
    inside = band.y1 <= HEAD_ZONE * height and gap >= HEAD_GAP and largest <= LARGEST * usual
    return inside and not is_caption(text) and _is_head(lines, text, largest < SMALL * usual)


def _has_number_apart(lines: Sequence[Line]) -> bool:
    """Whether a row is a few words and, far from them at one of its ends, a page number."""
    numbers = [line for line in lines if _NUMBER.fullmatch(line.text.strip())]
    if len(numbers) != 1 or not 2 <= len(lines) <= 3 or numbers[0] not in (lines[0], lines[-1]):
        return False
    number, nearest = (lines[0], lines[1]) if numbers[0] is lines[0] else (lines[-1], lines[-2])
    return max(number.x0 - nearest.x1, nearest.x0 - number.x1) > CELL_GAP * number.height


def _is_head(lines: Sequence[Line], text: str, small: bool) -> bool:
    if _has_number_apart(lines):
        return True
    if sum(bool(_NUMBER.fullmatch(line.text.strip())) for line in lines) > 1:
        return False  # a row of a table
    if _NUMBER_AT_END.fullmatch(text) or _NUMBER_AT_START.match(text) or _TELLING.search(text):
        return True
    running_text = _ENDS_A_SENTENCE.search(text) or _NOTE.match(text) or text[:1].islower()
    return small and not running_text
