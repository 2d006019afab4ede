"""What an answer means: the page as the post-processing steps hand it on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from pdfocr_core.records import Box

__all__ = ["PROMPT_ECHO", "REPEATS_TRIMMED", "SAYS_NO_TEXT", "ParsedPage"]

# Flags that steps set and the judge reads.
PROMPT_ECHO = "prompt_echo"
REPEATS_TRIMMED = "repeats_trimmed"
SAYS_NO_TEXT = "says_no_text"


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A page's text and what the model said about it.

    Attributes:
        text: Markdown; empty when the model saw no text.
        language: as the model said it.
        is_rotation_valid: whether the page stands upright, as far as the model says.
        rotation_correction: degrees counter-clockwise by which it asks to turn the picture: 0, 90, 180 or 270.
        is_table: whether most of the page is a table.
        is_diagram: whether most of the page is a diagram.
        boxes: regions in the order in which the model named them; see `pdfocr_core.records.Box`.
        flags: remarks for the page record.
    """

    text: str
    language: str | None = None
    is_rotation_valid: bool = True
    rotation_correction: int = 0
    is_table: bool = False
    is_diagram: bool = False
    boxes: tuple[Box, ...] = ()
    flags: tuple[str, ...] = ()

    def but(self, **changes: Any) -> Self:
        """The same page with other values."""
        return replace(self, **changes)

    def flagged(self, flag: str) -> Self:
        """The same page with one more flag."""
        return replace(self, flags=(*self.flags, flag))
