"""Line ends: which words belong together, told without a dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pdfocr_core.layout.model import Line

__all__ = ["UNSPACED", "join_lines", "part_at_marks", "without_marks", "words_of"]

# PDFium puts U+FFFE or U+0002 where a line ends in a hyphen; U+00AD is the soft hyphen, which is never meant to stay.
_SOFT = "\u00ad"
_STAND_INS = "\ufffe\x02"
_MARKS = _SOFT + _STAND_INS
_MARK_INSIDE = re.compile(rf"[{_MARKS}]+(?=\S)")
_AFTER_MARK = re.compile(rf"(?<=[{_MARKS}])(?=[^\s{_MARKS}])")
_SOFT_AT_END = re.compile(rf"{_SOFT}[{_MARKS}]*\Z")
_STAND_IN = re.compile(rf"[{_STAND_INS}]+")
_STAND_IN_AT_END = re.compile(rf"[{_STAND_INS}]+\Z")
_HYPHEN_AT_END = re.compile(r"([^\W\d_]+)[-\u2010]\Z")
_HYPHEN = re.compile(r"[-\u2010]")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W_]+(?:[-\u2010'\u2019][^\W_]+)*")
_BROKEN = re.compile(rf"\b[^\W_]+(?:[-\u2010]\s*\n|[{_MARKS}])\s*[^\W_]+")
SHORT_WORD = 3  # "of", "the", "by": as a middle part they speak for a compound
LONG_WORD = 4  # shorter ones are often parts of words: "in-" before "formation"
_FIRST_PARTS = frozenset({"self", "well", "quasi"})  # compounds with these keep their hyphen nearly always
# Scripts that put no space between words.
UNSPACED = re.compile(r"[\u2e80-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff01-\uffef]")


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """Every word of some lines, small letters, and of each compound also its beginning with the hyphen ("low-").

    What a page writes elsewhere decides doubtful hyphens. Halves of words broken at line ends are no evidence.
    """
    words: set[str] = set()
    text = _BROKEN.sub(" ", "\n".join(texts)).casefold().replace("\u2010", "-")
    for word in _WORD.findall(text):
        words.add(word)
        if "-" in word:
            words.add(word[: word.index("-") + 1])
    return frozenset(words)


def part_at_marks(line: Line, usual_height: float, known: frozenset[str]) -> list[Line]:
    """Part a line where hyphenation marks stand inside it, or settle them there.

    PDFium writes a word that is broken over two lines as one, so both lines come as one with a box around both: too
    high for a line. Such a box is cut into equal strips; the widths of the parts cannot be known.
    """
    text = line.text.strip()
    if not _MARK_INSIDE.search(text):
        return [line if text == line.text else replace(line, text=text)]
    pieces = _AFTER_MARK.split(text)
    if line.height < (len(pieces) - 0.4) * usual_height:
        whole = pieces[0]
        for piece in pieces[1:]:
            whole = join_lines(whole, piece, known)
        return [replace(line, text=whole)]
    strip = line.height / len(pieces)
    return [
        replace(line, text=piece, y0=line.y0 + number * strip, y1=line.y0 + (number + 1) * strip)
        for number, piece in enumerate(pieces)
    ]


def join_lines(first: str, second: str, known: frozenset[str] = frozenset()) -> str:
    """Join two lines of one paragraph.

    A hyphen at the end goes when small letters come before and after it ("exam-", "ple") and stays otherwise ("1998-",
    "well-" before "Known"). It stays, too, within compounds of many parts ("state-of-the-") and where other words of the
    page speak for a compound; see `words_of`.
    """
    first, second = first.rstrip(), second.lstrip()
    if not first or not second:
        return first + second
    if _SOFT_AT_END.search(first):
        bare = _SOFT_AT_END.sub("", first)
        return bare + second if second[0].isalnum() else f"{bare} {second}"
    first = _STAND_IN_AT_END.sub("-", first)
    if first[-1] in "-\u2010" and len(first) > 1 and first[-2].isalnum() and second[0].isalnum():
        return first[:-1] + second if _is_broken_word(first, second, known) else first + second
    if UNSPACED.match(first[-1]) and UNSPACED.match(second[0]):
        return first + second
    return f"{first} {second}"


def without_marks(text: str) -> str:
    """Marks that no other line made whole become plain hyphens; soft ones go."""
    return _STAND_IN.sub("-", text).replace(_SOFT, "")


def _is_broken_word(first: str, second: str, known: frozenset[str]) -> bool:
    head, tail = _HYPHEN_AT_END.search(first), _FIRST_WORD.match(second)
    if head is None or tail is None or not head[1][-1].islower() or not tail[0][0].islower():
        return False
    before, after = head[1].casefold(), tail[0].casefold()
    if before + after in known:
        return True
    if f"{before}-{after}" in known:
        return False
    hyphens = len(_HYPHEN.findall(first.rsplit(maxsplit=1)[-1][:-1]))
    if hyphens > 1 or (hyphens == 1 and len(before) <= SHORT_WORD):
        return False
    if len(after) >= LONG_WORD and (before in _FIRST_PARTS or (len(before) >= LONG_WORD and {before, after} <= known)):
        return False  # "high-" before "resolution" where the page has both words
    # "low-" before "level" where the page has "low", "level" and "low-intensity".
    return not {before, after, f"{before}-"} <= known
