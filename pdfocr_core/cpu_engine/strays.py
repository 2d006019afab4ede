"""Characters of another script that recognition took a symbol for.

The models know Chinese and Japanese. On a page of Latin letters they see an ideograph in a formula's sign, in a speck or in
a piece of a drawing. A page that has such text has more of it than a few characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pdfocr_core.layout.model import Line

__all__ = ["without_strays"]

_IDEOGRAPHS = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3105-\u318e\u31a0-\u31ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
)
MOST_SHARE = 0.02  # of the page's letters
LONGEST = 3  # ideographs in a row; more are words


def without_strays(lines: Sequence[Line]) -> list[Line]:
    """The lines without lone ideographs where nearly all letters are of other scripts; lines of nothing else go."""
    text = "\n".join(line.text for line in lines)
    found = len(_IDEOGRAPHS.findall(text))
    if not found or found > MOST_SHARE * sum(map(str.isalpha, text)) or _has_words(text):
        return list(lines)
    cleaned = (replace(line, text=" ".join(_IDEOGRAPHS.sub(" ", line.text).split())) for line in lines)
    return [line for line in cleaned if line.text]


def _has_words(text: str) -> bool:
    return re.search(f"(?:{_IDEOGRAPHS.pattern}){{{LONGEST + 1}}}", text) is not None
