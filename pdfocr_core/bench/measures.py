"""Measures that need no labels: one text against another that is known or believed to be right."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["character_error_rate", "plain_words", "reading_order", "word_f1"]

_MARKUP = re.compile(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|</?\w[^<>]*>|[*_#|`$\\\[\]]+|^\s*[-+>]\s|-{3,}", re.MULTILINE)
_HYPHEN = re.compile(r"(?<=\w)[-\u00ad\u2010]\n\s*(?=[a-zà-ÿ])")
_WORD = re.compile(r"\w+(?:['\u2019.,]\w+)*")
_LEAST_WORDS = 5  # shared words under which an order says nothing


def plain_words(text: str) -> list[str]:
    """The words of Markdown or plain text, in order, as written; words broken at a line's end are whole."""
    return _WORD.findall(_MARKUP.sub(" ", _HYPHEN.sub("", text)))


def character_error_rate(reference: str, text: str) -> float | None:
    """Edits that make the reference of the text, for each of the reference's characters; None for an empty reference.

    Over words with single spaces between them, so that markup and line ends count for nothing. More than 1 where much
    was made up.
    """
    from rapidfuzz.distance import Levenshtein

    wanted, found = " ".join(plain_words(reference)), " ".join(plain_words(text))
    return Levenshtein.distance(wanted, found) / len(wanted) if wanted else None


def word_f1(reference: str, text: str) -> float | None:
    """The harmonic mean of the share of words that are right and of those that were found, in any order and case."""
    wanted = Counter(word.casefold() for word in plain_words(reference))
    found = Counter(word.casefold() for word in plain_words(text))
    if not wanted:
        return None
    return 2 * (wanted & found).total() / (wanted.total() + found.total())


def reading_order(reference: str, text: str) -> float | None:
    """Kendall's tau of the order of words that both texts have exactly once: 1 the same order, -1 the reverse."""
    wanted = [word.casefold() for word in plain_words(reference)]
    place = _places([word.casefold() for word in plain_words(text)])
    once = _places(wanted)
    order = [place[word] for word in wanted if word in once and word in place]
    pairs = len(order) * (len(order) - 1) // 2
    return 1 - 2 * _inversions(order) / pairs if len(order) >= _LEAST_WORDS else None


def _places(words: Sequence[str]) -> dict[str, int]:
    counts = Counter(words)
    return {word: place for place, word in enumerate(words) if counts[word] == 1}


def _inversions(order: Sequence[int]) -> int:
    seen: list[int] = []
    count = 0
    for place in order:
        count += len(seen) - bisect.bisect(seen, place)
        bisect.insort(seen, place)
    return count
