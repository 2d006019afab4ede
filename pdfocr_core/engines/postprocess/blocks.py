"""HPD-Parsing's form: `<BLOCK> kind [x0, y0, x1, y1] <CHILD> text`, one after the other."""

from __future__ import annotations

import re

from pdfocr_core.engines.boxes import Picture, box_of, numbers_in
from pdfocr_core.engines.judge import says_no_text
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.errors import PageError, Reason
from pdfocr_core.records import Box

__all__ = ["hpd_blocks"]

_HEADER = re.compile(r"\s*([A-Za-z_]+)\s*(\[[-\d.,\s]*\])?\s*")
_CONTROL = re.compile(r"<(?:FORK|CHILD|BLOCK)>")
# Regions whose text is made up rather than read.
_WITHOUT_TEXT = {"chart", "seal"}
_FORMULAS = {"formula", "equation", "display_formula"}


def hpd_blocks(page: ParsedPage, picture: Picture) -> ParsedPage:
    """Markdown of the blocks in the order given, and their boxes.

    Raises:
        PageError: there is text, but no block.
    """
    head, *segments = page.text.split("<BLOCK>")
    if not segments and head.strip():
        raise PageError(Reason.BAD_FRONT_MATTER, f"no <BLOCK> in the answer: {head[:60]!r}")
    parts: list[str] = []
    boxes: list[Box] = []
    for segment in segments:
        match = _HEADER.match(segment)
        kind = match[1].casefold() if match else "text"
        if match is not None and match[2]:
            box = box_of(kind, numbers_in(match[2]), picture)
            if box is not None:
                boxes.append(box)
        text = "" if kind in _WITHOUT_TEXT else _content(kind, segment)
        if text:
            parts.append(text)
    return page.but(text="\n\n".join(parts), boxes=(*page.boxes, *boxes))


def _content(kind: str, segment: str) -> str:
    _, child, rest = segment.partition("<CHILD>")
    if not child:
        return ""
    text = _CONTROL.split(rest)[0].strip()
    if says_no_text(text):
        return ""
    if kind == "title" and "\n" not in text and not text.startswith("#"):
        return f"# {text}"
    if text.startswith("<table") and not text.endswith("</table>"):
        text += "</table>"  # the block ended before its table did; the page's own end is judged by finish_reason
    if kind in _FORMULAS:
        text = _balanced(text)
    return text


def _balanced(text: str) -> str:
    """A display formula with both its delimiters, and without a number set as a tag."""
    text = re.sub(r"\\tag\s*\{[^{}]*\}", "", text).strip()
    if text.startswith("\\[") and not text.endswith("\\]"):
        text += "\n\\]"
    return text
