"""Items of lists: their marks, and how deep they stand in each other."""

from __future__ import annotations

import re

__all__ = ["Nesting", "is_item", "is_mark", "with_plain_mark"]

_SIGNS = "•◦▪■●○‣·∙*\u2013\u2014-"
_COUNT = r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]"
_ITEM = re.compile(rf"(?:[{_SIGNS}]|{_COUNT})\s+\S")
# "2.1 Title", but not "2.1 metres".
_NESTED_COUNT = re.compile(r"\d{1,2}(?:\.\d{1,2})+\.?\s+[^\Wa-z\d_]")
_REFERENCE = re.compile(r"\[\d{1,3}\]\s+\S")
_MARK = re.compile(rf"[{_SIGNS}]|{_COUNT}|\d{{1,2}}(?:\.\d{{1,2}})+\.?|\[\d{{1,3}}\]")
_BULLET = re.compile(r"\A[•◦▪■●○‣·∙]\s*(?=\S)")
# "3The" of a footnote whose raised number was read with its text; "3D" and "2Na" are words.
_GLUED_NUMBER = re.compile(r"(?:(?<=\A\d)|(?<=\A\d\d))(?=[A-Z][a-z]{2})")
STEP = 0.8  # line heights further in, from which an item belongs to the one above


def is_item(text: str, *, after_sentence: bool) -> bool:
    """Whether a row begins an item.

    Args:
        text: of the row.
        after_sentence: whether a sentence or an item stands before it; running text may come to "[7]" or "2.1 MB" in the
            middle of a sentence.
    """
    return bool(_ITEM.match(text) or (after_sentence and (_NESTED_COUNT.match(text) or _REFERENCE.match(text))))


def is_mark(text: str) -> bool:
    """Whether this is the mark of an item and nothing else."""
    return bool(_MARK.fullmatch(text.strip()))


def with_plain_mark(text: str) -> str:
    """The row with its bullet, whatever its form, as Markdown writes it, and a note's number apart from its first word."""
    return _GLUED_NUMBER.sub(" ", _BULLET.sub("- ", text))


class Nesting:
    """How far items of one list are indented, from where they start on the page."""

    def __init__(self) -> None:
        self._open: list[tuple[float, int]] = []

    def end(self) -> None:
        """What comes next is another list."""
        self._open.clear()

    def indent(self, start: float, text: str, height: float) -> str:
        """The white before an item that starts at this x; Markdown wants the width of the marks it stands under."""
        while self._open and start < self._open[-1][0] - STEP * height:
            self._open.pop()
        if self._open and start <= self._open[-1][0] + STEP * height:
            self._open.pop()
        indent = sum(width for _, width in self._open)
        self._open.append((start, len(text.split(maxsplit=1)[0]) + 1))
        return " " * indent
