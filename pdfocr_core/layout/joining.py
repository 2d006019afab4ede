"""Line ends: which words belong together, told without a dictionary."""

from __future__ import annotations

import re
from dataclasses import replace

from pdfocr_core.layout.model import Line

__all__ = ["join_lines", "part_at_marks", "words_of"]

# U+00AD is the soft hyphen; PDFium puts U+FFFE or U+0002 where a line ends in a hyphen.
_MARKS = "\u00ad\ufffe\x02"
_MARK_INSIDE = re.compile(rf"[{_MARKS}]+(?=\S)")
_AFTER_MARK = re.compile(rf"(?<=[{_MARKS}])(?=[^\s{_MARKS}])")
_MARK_AT_END = re.compile(rf"[{_MARKS}]+\s*\Z")
_HYPHEN_AT_END = re.compile(r"([^\W\d_]+)[-\u2010]\Z")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W_]+(?:[-\u2010'\u2019][^\W_]+)*")
# Scripts that put no space between words.
_UNSPACED = re.compile(r"[\u2e80-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff01-\uffef]")


def words_of(text: str) -> frozenset[str]:
    """Every word of a page, small letters; what it writes elsewhere decides doubtful hyphens."""
    return frozenset(word.casefold() for word in _WORD.findall(text))


def part_at_marks(line: Line, usual_height: float) -> list[Line]:
    """Part a line where hyphenation marks stand inside it, or take the marks out.

    PDFium writes a word that is broken over two lines as one, so both lines come as one with a box around both: too
    high for a line. Such a box is cut into equal strips; the widths of the parts cannot be known.
    """
    text = line.text.strip()
    if not _MARK_INSIDE.search(text):
        return [line if text == line.text else replace(line, text=text)]
    pieces = _AFTER_MARK.split(text)
    if line.height < (len(pieces) - 0.4) * usual_height:
        return [replace(line, text=_MARK_INSIDE.sub("", text))]
    strip = line.height / len(pieces)
    return [
        replace(line, text=piece, y0=line.y0 + number * strip, y1=line.y0 + (number + 1) * strip)
        for number, piece in enumerate(pieces)
    ]


def join_lines(first: str, second: str, known: frozenset[str] = frozenset()) -> str:
    """Join two lines of one paragraph.

    A hyphen at the end goes when small letters come before and after it ("exam-", "ple") and stays otherwise ("1998-",
    "well-" before "Known"). It stays, too, where the page writes the compound with its hyphen elsewhere, or where the
    word already has one ("state-of-the-").
    """
    first, second = first.rstrip(), second.lstrip()
    if not first or not second:
        return first + second
    if _MARK_AT_END.search(first):
        bare = _MARK_AT_END.sub("", first)
        return bare + second if second[0].isalnum() else f"{bare} {second}"
    if first[-1] in "-\u2010" and len(first) > 1 and first[-2].isalnum() and second[0].isalnum():
        return first[:-1] + second if _is_broken_word(first, second, known) else first + second
    if _UNSPACED.match(first[-1]) and _UNSPACED.match(second[0]):
        return first + second
    return f"{first} {second}"


def _is_broken_word(first: str, second: str, known: frozenset[str]) -> bool:
    head, tail = _HYPHEN_AT_END.search(first), _FIRST_WORD.match(second)
    if head is None or tail is None or not tail[0].islower():
        return False
    whole, compound = f"{head[1]}{tail[0]}".casefold(), f"{head[1]}-{tail[0]}".casefold()
    if whole in known:
        return True
    before = first[: head.start()]
    return compound not in known and not before.endswith(("-", "\u2010"))
