"""One spelling for what Markdown can write in several ways, so that a test asks for words and not for marks."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["normalise"]

# In this order: white space first, so that emphasis over two lines is found; two marks before one.
_STEPS = (
    (re.compile(r"<br/?>"), " "),
    (re.compile(r"\s+"), " "),
    (re.compile(r"\*\*(.*?)\*\*"), r"\1"),
    (re.compile(r"__(.*?)__"), r"\1"),
    (re.compile(r"</?[bi]>"), ""),
    (re.compile(r"\*(.*?)\*"), r"\1"),
    (re.compile(r"_(.*?)_"), r"\1"),
)
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a", "'"),
        **dict.fromkeys("\u201c\u201d\u201e", '"'),
        **dict.fromkeys("\u2011\u2012\u2013\u2014\u2212", "-"),
        "\uff3f": "_",
        "\u00b5": "\u03bc",  # the micro sign, which looks like mu
    }
)


@lru_cache(maxsize=512)  # a page has many tests
def normalise(text: str) -> str:
    """The text without emphasis, in NFC, white space as single spaces, quotation marks and dashes as in ASCII."""
    for pattern, put in _STEPS:
        text = pattern.sub(put, text)
    return unicodedata.normalize("NFC", text).translate(_PLAIN)
