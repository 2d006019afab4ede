"""Guards on what comes back: an answer that parses is not yet a page's text."""

from __future__ import annotations

import re

from pdfocr_core.engines.page import PROMPT_ECHO, REPEATS_TRIMMED, ParsedPage
from pdfocr_core.engines.repetition import LOOP_SEEN, repeats
from pdfocr_core.errors import Reason

__all__ = ["echoes", "judge", "says_no_text"]

_REFUSAL_LENGTH = 600
_DECLINES = r"(?:can(?:no|['\u2019]?)t|(?:am\s+|['\u2019]m\s+)?(?:unable|not\s+able)\s+to|won['\u2019]?t|will\s+not)"
_DOES = r"(?:assist|help|process|read|view|see|transcribe|extract|provide|comply|fulfil|identify|access|do|recognize)"
_WITH_IT = r"\b.{0,60}?\b(?:image|picture|page|document|text|request|content|file|that|this)\b"
_REFUSAL = re.compile(
    rf"""\A\W*(?:
        (?:i['\u2019]?\s?a?m\s+(?:very\s+|so\s+)?)?(?:sorry|afraid)\b[^.]{{0,40}}?\b{_DECLINES}\s+{_DOES}{_WITH_IT}
      | i\s+apologi[sz]e\b[^.]{{0,60}}?\b{_DECLINES}\s+{_DOES}{_WITH_IT}
      | i\s*{_DECLINES}\s+{_DOES}{_WITH_IT}
      | as\s+an?\s+(?:ai\s+(?:language\s+)?(?:model|assistant)|(?:large\s+)?language\s+model)\b
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_NO_TEXT_LENGTH = 300
_NO_TEXT = re.compile(
    r"""\A\W*(?:
        (?:non[- ]text|no\s+(?:visible\s+|readable\s+|legible\s+|extractable\s+)?text|blank(?:\s+page)?|empty\s+page)\W*\Z
      | (?:the|this)\s+(?:image|page|picture|document|scan)\s+
        (?:is\s+(?:too\s+blurry|(?:completely\s+|entirely\s+)?(?:blank|empty))|
           (?:does\s+not|doesn['\u2019]t)\s+(?:contain|have|show|include)\s+any\s+(?:\w+\s+){0,3}?(?:text|characters|words|content)|
           (?:contains|has|shows)\s+no\s+(?:\w+\s+){0,3}?(?:text|characters|words|content))
      | there\s+is\s+no\s+(?:\w+\s+){0,3}?(?:text|content)\s+(?:in|on|visible|present|to\b|available)
      | no\s+(?:visible\s+|readable\s+|legible\s+)?text\s+(?:is\s+|was\s+)?(?:found|visible|detected|present|in\s+the\s+image)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ECHO_START = 120
_ECHO_LEAST = 60


def judge(text_raw: str, parsed: ParsedPage, finish_reason: str | None, *, blank: bool = False) -> Reason | None:
    """Why an answer cannot be taken for the page's text; None when it can.

    Args:
        text_raw: the answer as it came.
        parsed: what post-processing made of it.
        finish_reason: why the model stopped, as the server says it.
        blank: whether the page shows nothing; then no text is the right text.
    """
    if finish_reason == LOOP_SEEN:
        return Reason.REPETITION
    if finish_reason == "length":
        return Reason.REPETITION if repeats(text_raw, cut=True) else Reason.LENGTH
    if finish_reason == "content_filter" or _refuses(parsed.text):
        return Reason.REFUSAL
    if PROMPT_ECHO in parsed.flags:
        return Reason.PROMPT_ECHO
    if not parsed.text:
        return None if blank else Reason.EMPTY_ANSWER
    # Where a step has cut off a loop at the end, what is left is judged.
    if repeats(parsed.text if REPEATS_TRIMMED in parsed.flags else text_raw):
        return Reason.REPETITION
    return None


def says_no_text(text: str) -> bool:
    """Whether a text is nothing but the statement that there is none."""
    return len(text) <= _NO_TEXT_LENGTH and _NO_TEXT.match(text) is not None


def echoes(text: str, prompt: str | None) -> bool:
    """Whether an answer gives back its instruction: all of it, or the start of a long one."""
    if not prompt or not text:
        return False
    asked = " ".join(prompt.split()).casefold()
    if len(asked) < 8:
        return False
    # An echo stands at the start; a page that quotes the instruction further down is a page.
    said = " ".join(text[: 2 * len(prompt) + 600].split()).casefold()
    return said == asked or (len(asked) >= _ECHO_LEAST and asked[:_ECHO_START] in said[: _ECHO_START + 200])


def _refuses(text: str) -> bool:
    return len(text) <= _REFUSAL_LENGTH and _REFUSAL.match(text) is not None
