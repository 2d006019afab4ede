"""Captions of figures and tables: told by how they begin."""

from __future__ import annotations

import re

__all__ = ["is_caption"]

_KIND = (
    r"fig(?:ure)?s?|tab(?:le)?s?|scheme|plate|chart|exhibit|listing|algorithm|box|map|photo"
    r"|abb(?:ildung)?|tabelle|tafel|schaubild|tableau|figura|tabla|tabela|tabella|cuadro|afbeelding"
    r"|\u0440\u0438\u0441(?:\u0443\u043d\u043e\u043a)?|\u0442\u0430\u0431\u043b\u0438\u0446\u0430"
)
# "Figure 3", "Fig. 2a", "Table S1", "Tab. 4.2", "Figure A-1", "TABLE IV"; then a mark or a capital: running text that
# begins with a reference goes on with a small letter ("Figure 3 shows ...").
_CAPTION = re.compile(
    rf"(?:(?i:{_KIND}))\.?\s*(?:[A-Z]{{0,2}}[.-]?\d++(?:[.-]\d++)*+[a-z]?|[IVXL]++)"
    r"(?:\s*[.:|)\u2013\u2014-]\s*\S.*|\s*[.:]|\s+(?:\([a-z]\)\s*)?[^\Wa-z\d_].*)?",
    re.DOTALL,
)
_EASTERN = re.compile(r"[图圖表図]\s*\d+(?:[.-]\d+)*\s*[.:\uff1a\s]\s*\S|(?:그림|표)\s*\d+\s*[.:]?\s*\S")


def is_caption(text: str) -> bool:
    """Whether a row or paragraph begins as a figure's or table's caption does."""
    return bool((text[:1].isupper() and _CAPTION.fullmatch(text)) or _EASTERN.match(text))
