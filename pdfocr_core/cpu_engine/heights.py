"""Heights of lines that say how large the print is.

Detection draws a box round all that a line touches: a note's raised number makes it a third higher, and the line would pass
for a heading. How wide its letters are on average tells that it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from pdfocr_core.layout.model import Line, text_height

__all__ = ["even_heights"]

TELLING_LETTERS = 12  # below, a few wide or narrow letters decide
HIGHER = 1.15
WIDER = 1.15
_FIRST_WIDE_SCRIPT = "\u2e80"  # Chinese and its neighbours, whose letters are as wide as they are high


def even_heights(lines: Sequence[Line]) -> list[Line]:
    """The lines, those in the usual print cut to its height from their foot up."""
    widths = [line.width / len(line.text) for line in lines if _is_telling(line)]
    if not widths:
        return list(lines)
    usual_height, usual_width = text_height(lines), median(widths)

    def is_swollen(line: Line) -> bool:
        narrow = line.width < WIDER * usual_width * len(line.text)
        return _is_telling(line) and narrow and line.height > HIGHER * usual_height

    return [replace(line, y0=line.y1 - usual_height) if is_swollen(line) else line for line in lines]


def _is_telling(line: Line) -> bool:
    return len(line.text) >= TELLING_LETTERS and max(line.text) < _FIRST_WIDE_SCRIPT
