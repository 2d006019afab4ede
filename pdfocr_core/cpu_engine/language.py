"""A page's language, by lingua."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["guess_language"]

MIN_LETTERS = 20
# Two languages that are much alike, or names and numbers in a table, tell none.
_DISTANCE = 0.2
_SAMPLE = 3000  # characters; more would change nothing


def guess_language(text: str) -> str | None:
    """ISO 639-1 code of the page's main language; None where there is too little to tell."""
    letters = sum(sign.isalpha() for sign in text)
    # One sign of Chinese or Korean says as much as a word.
    if letters < MIN_LETTERS and text.isascii():
        return None
    found = _detector().detect_language_of(text[:_SAMPLE])
    return None if found is None else str(found.iso_code_639_1.name).lower()


@cache
def _detector() -> Any:
    """Some 60 MB, loaded with the first page; single languages are as well told apart as with the larger models."""
    from lingua import LanguageDetectorBuilder

    languages = LanguageDetectorBuilder.from_all_languages()
    return languages.with_low_accuracy_mode().with_minimum_relative_distance(_DISTANCE).build()
