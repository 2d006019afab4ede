"""Whether a text layer can be what the page says: no garbage, and letters as often as languages use them.

A font with a wrong table of characters gives a layer that looks like text and reads like nothing ("Zkkdm" for
"Allen"). Such layers shift or shuffle letters, so the letters' frequencies give them away.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter

__all__ = ["LINE_END_HYPHENS", "letters_in", "why_unsound"]

# What PDFium writes for a hyphen at a line's end.
LINE_END_HYPHENS = "\ufffe\u0002\u00ad"

# Fewer may be a page number beside a drawing of the text; a letter of Chinese, Japanese or Korean counts for three.
_LEAST_LETTERS = 8
# A stamp or a caption does not stand for a page that is mostly pictures.
_LETTERS_BESIDE_IMAGES = 100
_MANY_IMAGES = 0.3
# Characters without a meaning: all kinds, and control codes, which only a broken table of characters gives.
_MOST_GARBAGE = 0.02
_MOST_CONTROLS = 0.003
# A layer of nothing but symbols is a drawing or a broken font. Dot leaders and ruled blanks are neither.
_LEAST_ALPHANUMERIC = 0.35
_LEADERS = frozenset("._-\u2013\u2014\u2026\u00b7|")
# Letters wanted before their frequencies mean something, and how like a language's they must be.
_LETTERS_FOR_PROFILE = 60
_LETTERS_FOR_STRICT = 300
_SOUND_COSINE = 0.74
_SHORT_COSINE = 0.55
# English shows itself by these words; a text of this length must have all its common letters.
_ENGLISH = frozenset(("the", "and", "for", "that", "with", "of", "to", "in"))
_ENGLISH_SHARE = 0.12
_LETTERS_FOR_EACH = 1000
_COMMON_LETTERS = "etaoinsrhldcum"
_LEAST_OF_EXPECTED = 0.3

# Letters per thousand, averaged over running text in English, German, French, Spanish, Italian, Portuguese, Dutch,
# Polish and the Nordic languages, accents taken off.
_PROFILE = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        (82, 16, 30, 43, 142, 13, 21, 29, 76, 6, 13, 44, 28, 77, 68, 24, 6, 68, 68, 67, 38, 14, 12, 3, 12, 9),
        strict=True,
    )
)


def letters_in(text: str) -> int:
    """Letters and digits of any script."""
    return sum(map(str.isalnum, text))


def why_unsound(text: str, image_share: float = 0.0) -> str:
    """Why a layer cannot stand for its page, in a few words; empty when it can."""
    letters = letters_in(text)
    wide = sum(1 for character in text if ord(character) > 0x2E7F and character.isalnum())
    if letters + 2 * wide < _LEAST_LETTERS:
        return "too few letters"
    if image_share > _MANY_IMAGES and letters + 2 * wide < _LETTERS_BESIDE_IMAGES:
        return "few letters beside pictures"
    return _why_garbage(text, letters) or _why_implausible(text)


def _why_garbage(text: str, letters: int) -> str:
    visible = [character for character in text if not character.isspace() and character not in LINE_END_HYPHENS]
    controls = sum(1 for character in visible if character < " ")
    garbage = sum(map(_is_garbage, visible))
    if garbage > _MOST_GARBAGE * len(visible) or controls > _MOST_CONTROLS * len(visible):
        return f"{garbage} of {len(visible)} characters have no meaning"
    meant = sum(1 for character in visible if character not in _LEADERS)
    return "mostly symbols" if letters < _LEAST_ALPHANUMERIC * meant else ""


def _is_garbage(character: str) -> bool:
    if character == "\ufffd":
        return True
    category = unicodedata.category(character)
    # Private use, control, unassigned, lone surrogates. Formatting marks (Cf) belong to Arabic and Indic text.
    return category in ("Co", "Cc", "Cn", "Cs")


def _why_implausible(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).lower()
    counts = Counter(character for character in folded if "a" <= character <= "z")
    latin = counts.total()
    others = sum(1 for character in folded if character.isalpha() and not "a" <= character <= "z")
    if latin < _LETTERS_FOR_PROFILE or latin < others:
        return ""
    cosine = _cosine(counts)
    if cosine < (_SOUND_COSINE if latin >= _LETTERS_FOR_STRICT else _SHORT_COSINE):
        return f"letters are distributed as in no language (likeness {cosine:.2f})"
    if latin >= _LETTERS_FOR_EACH and _is_english(folded):
        for letter in _COMMON_LETTERS:
            if counts[letter] * 1000 < _LEAST_OF_EXPECTED * _PROFILE[letter] * latin:
                return f"the letter {letter} is missing from most words"
    return ""


def _is_english(folded: str) -> bool:
    words = folded.split()
    return sum(1 for word in words if word in _ENGLISH) >= _ENGLISH_SHARE * len(words)


def _cosine(counts: Counter[str]) -> float:
    product = sum(counts[letter] * weight for letter, weight in _PROFILE.items())
    return product / (math.hypot(*counts.values()) * math.hypot(*_PROFILE.values()))
