"""Loops at the end of an answer cut down to one round, where a model's makers say to.

Each model has thresholds of its own, found on its own failures; they are not to be merged.
"""

from __future__ import annotations

from pdfocr_core.engines.boxes import Picture
from pdfocr_core.engines.page import REPEATS_TRIMMED, ParsedPage
from pdfocr_core.engines.repetition import find_loop

__all__ = ["trim_repeats_abot", "trim_repeats_hunyuan", "trim_repeats_ovis"]


def trim_repeats_ovis(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """In 8,000 characters or more: at least 5 rounds of at most 200 characters that make up 100 together."""
    return _trim(page, min_text=8000, max_period=200, min_repeats=5, min_length=100)


def trim_repeats_hunyuan(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """In 2,000 characters or more: at least 10 rounds."""
    return _trim(page, min_text=2000, max_period=None, min_repeats=10)


def trim_repeats_abot(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """In 8,000 characters or more: at least 10 rounds."""
    return _trim(page, min_text=8000, max_period=None, min_repeats=10)


def _trim(
    page: ParsedPage, *, min_text: int, max_period: int | None, min_repeats: int, min_length: int = 0
) -> ParsedPage:
    text = page.text.rstrip()
    if len(text) < min_text:
        return page
    loop = find_loop(text, window=len(text))
    if loop is None or loop.repeats < min_repeats or loop.length < min_length:
        return page
    if max_period is not None and loop.period > max_period:
        return page
    kept = text[: len(text) - loop.length + loop.period]
    return page.but(text=kept.rstrip()).flagged(REPEATS_TRIMMED)
