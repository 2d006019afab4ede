"""Whether the end of a text goes round in a circle: the commonest way in which a language model fails at a page."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["LOOP_SEEN", "STREAM_WINDOW", "Loop", "find_loop", "goes_round", "repeats"]

LOOP_SEEN = "repetition"
"""Why a stream ended that was closed because its text went round in a circle; stands for `finish_reason`."""

WINDOW = 4000
STREAM_WINDOW = WINDOW + 200
_NEEDLES = (24, 120)  # the longer one sees a loop whose unit repeats something within itself
_LEAST = 400
_LEAST_IN_STREAM = 2000
# What stands in rows on honest pages: rules, leaders, empty and zero cells.
_FILLER = re.compile(r"<[^<>]*>|&#?\w+;|[\s.·…•_\-\u2013\u2014=*|:#0+~,]")
_TABLE = ("|", "<td", "<th", "<tr")
_ENDING = re.compile(r"(?:</\w{1,20}>|<\|?/?\w{1,20}\|?>)$")


@dataclass(frozen=True, slots=True)
class Loop:
    """A periodic end of a text.

    Attributes:
        period: characters of what is repeated.
        length: characters that the repetition covers, from the end.
    """

    period: int
    length: int

    @property
    def repeats(self) -> float:
        """How often it stands there."""
        return self.length / self.period


def find_loop(text: str, window: int = WINDOW) -> Loop | None:
    """The longest periodic stretch at the very end of a text, looking back at most `window` characters."""
    tail = text[-window:]
    best: Loop | None = None
    for size in _NEEDLES:
        if len(tail) <= size:
            break
        at = tail.rfind(tail[-size:], 0, len(tail) - 1)
        if at < 0:
            break  # a longer needle will not be found either
        period = len(tail) - size - at
        length = period + _common_ending(tail[:-period], tail[period:])
        if best is None or length > best.length:
            best = Loop(period, length)
    return best


def repeats(text: str, *, cut: bool = False) -> bool:
    """Whether a text ends in a loop.

    Rows of zeros, leaders in a table of contents, empty table rows and lines of a form repeat without being one, so what
    carries no words does not count, and table rows count only when they fill all that is looked at.

    Args:
        text: an answer, or the text made of it.
        cut: the answer was cut at its token limit; then nothing needs to speak for it.
    """
    if len(text) < _LEAST:
        return False
    body = _without_endings(text[-STREAM_WINDOW:])
    loop = find_loop(body)
    if loop is None or loop.length < _LEAST:
        return False
    unit = body[-loop.period :]
    if not _FILLER.sub("", unit):
        return cut and loop.length > WINDOW // 2
    if any(mark in unit for mark in _TABLE) and not cut:
        return loop.length >= WINDOW * 0.9 and loop.repeats >= 12
    if loop.period >= 150:
        return loop.repeats >= 4
    return loop.repeats >= (8 if loop.period >= 40 else 15)


def goes_round(tail: str) -> bool:
    """Whether a text that is still being written has got into a loop that it will not leave.

    More is asked than at an end: an honest page may say the same in its middle for a while and go on.

    Args:
        tail: the last `STREAM_WINDOW` characters.
    """
    loop = find_loop(tail)
    return loop is not None and loop.length >= _LEAST_IN_STREAM and repeats(tail)


def _common_ending(one: str, other: str) -> int:
    """Length of the ending that two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.endswith(other[len(other) - middle :]):
            low = middle
        else:
            high = middle - 1
    return low


def _without_endings(text: str) -> str:
    """The text without what a model may still close properly after a loop: tags, fences, brackets."""
    text = text.rstrip(" \t\r\n\"'}]`")
    for _ in range(8):
        match = _ENDING.search(text, len(text) - 30 if len(text) > 30 else 0)
        if match is None:
            break
        text = text[: match.start()].rstrip()
    return text
