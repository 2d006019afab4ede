"""Which way up a page lies, told from a few of its lines before all are read.

Lines of a page on its side make boxes that are higher than wide. Which of two opposite directions is right shows when a
handful of lines is read both ways: upside down, recognition is unsure of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from pdfocr_core.cpu_engine.picture import Pixels
from pdfocr_core.cpu_engine.recogniser import Read, Spot

__all__ = ["flipped", "turn_needed", "turn_of_hidden"]

PROBES = 6
LEAST_FEW = 6  # boxes that lie otherwise than most and yet may be right
SURE = 0.9  # mean score from which the direction is not doubted
MARGIN = 0.12  # by how much the other direction must be better
READABLE = 0.6  # below, neither direction is text that the model knows …
HARDLY_READABLE = 0.45  # … unless one reads so much better: an old newspaper

Reader = Callable[[Sequence[Pixels]], Sequence[Read]]


def turn_needed(spots: Sequence[Spot], read: Reader) -> int:
    """Degrees counter-clockwise, 0, 90, 180 or 270, by which the picture must be turned to read upright."""
    tall = [spot for spot in spots if spot.is_tall]
    wide = [spot for spot in spots if spot.is_wide]
    sideways = sum(spot.length for spot in tall) > sum(spot.length for spot in wide)
    many, few = (tall, wide) if sideways else (wide, tall)
    turn, score = _turn_of(many, read, sideways)
    if score >= SURE or len(few) < LEAST_FEW:
        return turn
    # The cells of a table on its side stand so close that detection joins those of a column; the others tell.
    other, better = _turn_of(few, read, not sideways)
    return other if better >= max(READABLE, score + MARGIN) else turn


def turn_of_hidden(spots: Sequence[Spot], read: Reader) -> int:
    """The same for a page on which no line was found, by the lines that are found on it turned by 90 degrees.

    Detection misses a few large words that lie on their sides. 0 where they are no words either way.
    """
    turn, score = _turn_of([spot for spot in spots if spot.is_wide], read, sideways=False)
    return (90 + turn) % 360 if score >= READABLE else 0


def _turn_of(spots: Sequence[Spot], read: Reader, sideways: bool) -> tuple[int, float]:
    """What lines of one kind say, and how well they read that way."""
    probes = _probes(spots)
    if not probes:
        return 0, 0.0
    one_way = [_score(answer) for answer in read([spot.crop for spot in probes])]
    if not sideways and fmean(one_way) >= SURE:
        return 0, fmean(one_way)
    # The crop of a tall box has been turned by 90 degrees already; turned over, it has been by 270.
    other_way = [_score(answer) for answer in read([flipped(spot.crop) for spot in probes])]
    as_cut, turned_over = _of_the_better_half(one_way), _of_the_better_half(other_way)
    best = max(as_cut, turned_over)
    if sideways:
        # Columns of upright characters (Chinese, Japanese) read badly both ways and are left alone.
        readable = best >= READABLE or (best >= HARDLY_READABLE and abs(as_cut - turned_over) >= MARGIN)
        return (0 if not readable else 90 if as_cut >= turned_over else 270), best
    return (180 if turned_over >= max(READABLE, as_cut + MARGIN) else 0), best


def flipped(crop: Pixels) -> Pixels:
    """The crop upside down."""
    return np.ascontiguousarray(crop[::-1, ::-1])


def _probes(spots: Sequence[Spot]) -> list[Spot]:
    """Lines long enough to tell by; the very longest cost most and tell no more."""
    ordered = sorted(spots, key=lambda spot: spot.length, reverse=True)
    telling = ordered[: max(PROBES, len(ordered) // 2)]
    step = max(1, len(telling) // PROBES)
    return telling[step // 2 :: step][:PROBES]


def _of_the_better_half(scores: Sequence[float]) -> float:
    """Pictures and stains among the lines read badly either way and say nothing."""
    return fmean(sorted(scores, reverse=True)[: (len(scores) + 1) // 2])


def _score(answer: Read) -> float:
    """A reading of one or two characters proves nothing, however sure."""
    return answer.score if len(answer.text.strip()) > 2 else 0.5 * answer.score
