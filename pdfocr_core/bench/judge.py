"""One test on the text of one page: passed or not, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pdfocr_core.bench.cases import (
    BaselineCase,
    Case,
    FootnoteCase,
    FormatCase,
    MathCase,
    OrderCase,
    TableCase,
    TextCase,
)
from pdfocr_core.bench.normalise import normalise
from pdfocr_core.bench.table_rules import judge_table

__all__ = ["Formulas", "Verdict", "judge"]

Formulas = Callable[[str, list[str]], str]
"""Looks for a formula among those of a page; says why it is not there, or nothing when it is."""

_FOREIGN = re.compile(
    "[\u4e00-\u9fff\u3040-\u309f\u30a0-\u30ff"  # ideographs, hiragana, katakana
    "\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e0-\U0001f1ff]"  # emoji, flags
)
_IMAGE = re.compile(r"!\[.*?\]\(.*?\)")
_LONGEST_LOOP = 5
_FORMULA = tuple(re.compile(p, re.DOTALL) for p in (r"\\\((.+?)\\\)", r"\\\[(.+?)\\\]"))
_DOLLAR_FORMULA = tuple(re.compile(p, re.DOTALL) for p in (r"\$\$(.+?)\$\$", r"\$(.+?)\$"))
_MARKED = {
    "heading": (r"(?m)^#{1,6}\s+(.+?)$", r"(?is)<h[1-6][^>]*>(.*?)</h[1-6]>"),
    "bold": (
        *(r"(?s)\*\*(.*?)\*\*", r"(?s)__(.*?)__"),
        *(r"(?is)<b[^>]*>(.*?)</b>", r"(?is)<strong[^>]*>(.*?)</strong>"),
    ),
    "italic": (
        *(r"(?s)(?<!\*)\*(?!\*)(.*?)(?<!\*)\*(?!\*)", r"(?s)(?<!_)_(?!_)(.*?)(?<!_)_(?!_)"),
        *(r"(?is)<i[^>]*>(.*?)</i>", r"(?is)<em[^>]*>(.*?)</em>"),
    ),
}
_NEAR_MARK = 200  # characters around the mark of a footnote
_RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


class Verdict(NamedTuple):
    """What became of one test.

    Attributes:
        passed: None when it could not be run.
        detail: why it failed or was not run; for a passed one what is to be said of it, mostly nothing.
    """

    passed: bool | None
    detail: str = ""


_PASSED = Verdict(True)


def judge(case: Case, text: str, formulas: Formulas | None) -> Verdict:
    """The verdict on the text of a page, as it was written.

    Args:
        case: the test.
        text: Markdown of the page.
        formulas: compares mathematics; without it such tests are not run.
    """
    match case:
        case TextCase():
            return _text(case, text)
        case OrderCase():
            return _order(case, text)
        case TableCase():
            missing = judge_table(case, text)
            return Verdict(False, missing) if missing else _PASSED
        case MathCase():
            return _math(case, text, formulas)
        case BaselineCase():
            return _baseline(case, text)
        case FormatCase():
            return _format(case, text)
        case FootnoteCase():
            return _footnote(case, text)


def _likeness(asked: str, text: str) -> float:
    """How far the best place in the text is the text asked for, 0 to 1."""
    from rapidfuzz import fuzz

    return fuzz.partial_ratio(asked, text) / 100.0


def _needed(asked: str, max_diffs: int) -> float:
    return 1.0 - max_diffs / (len(asked) or 1)


def _text(case: TextCase, text: str) -> Verdict:
    asked, text = case.text, normalise(text)
    if not case.case_sensitive:
        asked, text = asked.lower(), text.lower()
    ends = (text[: case.first_n] if case.first_n else "", text[-case.last_n :] if case.last_n else "")
    if case.first_n or case.last_n:
        text = "".join(ends)
    found, needed = _likeness(asked, text), _needed(asked, case.max_diffs)
    if (found >= needed) is (case.type == "present"):
        return _PASSED
    return Verdict(
        False, f"best match {found:.3f}, {'needed' if case.type == 'present' else 'must be under'} {needed:.3f}"
    )


def _order(case: OrderCase, text: str) -> Verdict:
    from fuzzysearch import find_near_matches

    text = normalise(text)
    starts = []
    for name, asked in (("before", case.before), ("after", case.after)):
        found = [match.start for match in find_near_matches(asked, text, max_l_dist=case.max_diffs)]
        if not found:
            return Verdict(False, f"the text of `{name}` is not there")
        starts.append(found)
    if min(starts[0]) < max(starts[1]):
        return _PASSED
    return Verdict(False, f"`before` starts at {min(starts[0])}, `after` at {max(starts[1])}")


def _math(case: MathCase, text: str, formulas: Formulas | None) -> Verdict:
    found = []
    for pattern in (*_FORMULA, *(() if case.ignore_dollar_delimited else _DOLLAR_FORMULA)):
        found += [formula.strip() for formula in pattern.findall(text)]
        text = pattern.sub("", text)
    if case.math in found:
        return _PASSED
    if not found:
        return Verdict(False, "there is no formula on the page")
    if formulas is None:
        return Verdict(None, "not run: no Chromium")
    missing = formulas(case.math, found)
    return Verdict(False, missing) if missing else _PASSED


def _baseline(case: BaselineCase, text: str) -> Verdict:
    if case.max_length is not None:
        counted = _IMAGE.sub("", text) if case.max_length_skips_image_alt_tags else text
        length = sum(map(str.isalnum, counted))
        fits = length <= case.max_length
        return _PASSED if fits else Verdict(False, f"{length} letters and digits, at most {case.max_length} expected")
    if not any(map(str.isalnum, text)):
        return Verdict(False, "neither letters nor digits")
    for size, repeats in enumerate(_loops(text), start=1):
        if repeats > case.max_repeats:
            return Verdict(False, f"the text ends with {size} characters {repeats} times over")
    if case.check_disallowed_characters and (foreign := _FOREIGN.findall(text)):
        return Verdict(False, f"characters of another script: {''.join(dict.fromkeys(foreign))[:40]}")
    return _PASSED


def _loops(text: str) -> Iterator[int]:
    """How often the text's last character stands at its end, its last two characters, and so on."""
    text = re.sub(r"\s+", " ", text)
    for size in range(1, min(_LONGEST_LOOP, len(text)) + 1):
        last, start = text[-size:], len(text) - size
        while start >= 0 and text[start : start + size] == last:
            start -= size
        yield (len(text) - size - start) // size


def _format(case: FormatCase, text: str) -> Verdict:
    marked = [normalise(found) for pattern in _MARKED[case.format] for found in re.findall(pattern, text)]
    asked = case.text
    if not case.case_sensitive:
        asked, marked = asked.lower(), [found.lower() for found in marked]
    best = max((_likeness(asked, found) for found in marked), default=-1.0)
    if best >= _needed(asked, case.max_diffs):
        return _PASSED
    return Verdict(False, f"{len(marked)} texts are {case.format}, none of them this")


def _footnote(case: FootnoteCase, text: str) -> Verdict:
    mark = re.escape(case.marker)
    patterns = [rf"\[\^{mark}\](?!:)", rf"(?i)<sup[^>]*>{mark}</sup>"]
    if all(character in "0123456789" for character in case.marker):
        patterns.append(case.marker.translate(_RAISED))
    places = [found.span() for pattern in patterns for found in re.finditer(pattern, text)]
    if not places:
        return Verdict(False, f"no mark {case.marker}")
    sides = (
        ("before", case.appears_before_marker, [text[max(0, start - _NEAR_MARK) : start] for start, _end in places]),
        ("after", case.appears_after_marker, [text[end : end + _NEAR_MARK] for _start, end in places]),
    )
    for side, asked, around in sides:
        if asked and not any(_stands(asked, near, side == "before", case.max_diffs) for near in around):
            return Verdict(False, f"the words {side} the mark are others")
    return _PASSED


def _stands(asked: str, near: str, at_end: bool, max_diffs: int) -> bool:
    """Whether the words are at the end, or the start, of what is near the mark; only letters and digits count."""
    words, around = _letters(asked), _letters(near)
    around = around[-2 * len(words) :] if at_end else around[: 2 * len(words)]
    return bool(around) and _likeness(words, around) >= _needed(asked, max_diffs)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalise(text))).lower()
