"""Answers of models that think first."""

from __future__ import annotations

import re

from pdfocr_core.engines.boxes import Picture
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.errors import PageError, Reason

__all__ = ["answer", "think"]

_OPEN, _CLOSE = "<think>", "</think>"
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL)


def think(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """Without the thoughts. Where the chat template writes the opening tag, an answer shows the closing one alone.

    Raises:
        PageError: the thoughts do not end, so there is no answer.
    """
    text = page.text
    if text.rfind(_OPEN) > text.rfind(_CLOSE):
        raise PageError(Reason.BAD_FRONT_MATTER, "the answer ends inside <think>: all tokens went into thoughts")
    _, closed, said = text.rpartition(_CLOSE)
    return page.but(text=said.strip()) if closed else page


def answer(page: ParsedPage, picture: Picture) -> ParsedPage:
    """What stands between the answer tags; without any, what follows the thoughts, or all of it, flagged.

    Raises:
        PageError: see `think`.
    """
    match = _ANSWER.search(page.text, max(0, page.text.rfind(_CLOSE)))
    if match is not None:
        return page.but(text=match[1].strip())
    return think(page, picture).flagged("no_answer_tag")
