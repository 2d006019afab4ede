"""Steps on plain text."""

from __future__ import annotations

import re

from pdfocr_core.engines.boxes import Picture
from pdfocr_core.engines.page import ParsedPage

__all__ = ["code_fence", "special_tokens", "strip"]

_FENCED = re.compile(
    r"\A\s*```[ \t]*(?:markdown|md|html|text|plaintext|json)?[ \t]*\r?\n(.*?)\r?\n?```\s*\Z", re.DOTALL
)
# Begin and end marks of a sequence, in the two spellings that tokenizers use.
_EDGE = r"<(?:\|[\w▁ ]{1,30}\||\uff5c[\w▁ ]{1,30}\uff5c)>"
_LEADING = re.compile(rf"\A(?:\s*{_EDGE})+")
_TRAILING = re.compile(rf"(?:{_EDGE}\s*)+\Z")
_PAIRED = ("ref", "/ref", "det", "/det", "grounding")


def strip(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """Without white space around it."""
    return page.but(text=page.text.strip())


def code_fence(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """Without one fence around the whole answer; fences inside a page stay."""
    match = _FENCED.match(page.text)
    if match is None or "\n```" in match[1]:
        return page
    return page.but(text=match[1].strip())


def special_tokens(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """Without the tokens that begin and end a sequence, which show where special tokens are not skipped."""
    text = page.text
    head, tail = _LEADING.match(text), _TRAILING.search(text[-200:])
    if tail is not None and not _marks_region(tail[0]):
        text = text[: len(text) - len(tail[0])]
    if head is not None and not _marks_region(head[0]):
        text = text[head.end() :]
    return page.but(text=text.strip())


def _marks_region(tokens: str) -> bool:
    return any(f"<|{name}|>" in tokens for name in _PAIRED)
