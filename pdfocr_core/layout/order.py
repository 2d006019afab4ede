"""Lines in the order in which they are read."""

from __future__ import annotations

from collections.abc import Sequence

from pdfocr_core.layout.columns import cut_into_blocks
from pdfocr_core.layout.model import Line, is_right_to_left
from pdfocr_core.layout.rows import lines_of_rows

__all__ = ["in_reading_order"]


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """The lines column by column, as they stand in the page's Markdown but for its tables."""
    right_to_left = is_right_to_left("".join(line.text for line in lines))
    return [
        line
        for block in cut_into_blocks(list(lines), right_to_left=right_to_left)
        for line in lines_of_rows(block, right_to_left=right_to_left)
    ]
