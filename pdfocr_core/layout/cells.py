"""Tables in HTML: how a cell is written, whichever way it was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pdfocr_core.layout.joining import join_lines
from pdfocr_core.layout.model import Line
from pdfocr_core.layout.rows import group_rows

__all__ = ["cell_html", "table_html"]

MOST_HEADINGS = 3  # rows; with more the cells are joined for another reason
_OVER_COLUMNS = re.compile(r"<td[^>]* colspan=")
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"(?!(?:1[5-9]|20)\d\d\Z)[-+\u2212]?[\d.,\s]*\d\s*%?")  # years name columns
_ENTITY = re.compile(r"&(?=#?\w{1,32};)")


def cell_html(lines: Sequence[Line], rows: int = 1, columns: int = 1) -> str:
    """A cell with the text of its lines, over so many rows and columns."""
    text = ""
    for row in group_rows(lines):
        text = join_lines(text, row.text)
    # Only what a reader of HTML would take for markup is escaped.
    text = _ENTITY.sub("&amp;", text).replace("<", "&lt;")
    spans = (f' rowspan="{rows}"' if rows > 1 else "") + (f' colspan="{columns}"' if columns > 1 else "")
    return f"<td{spans}>{text}</td>"


def table_html(rows: Iterable[Iterable[str]]) -> str:
    """A table of cells, row by row; rows of headings over several columns, and the names below them, are written as such."""
    cells = [list(row) for row in rows]
    heads = _heading_rows(cells)
    written = ["<tr>" + "".join(row) + "</tr>" for row in cells]
    written[:heads] = [row.replace("<td", "<th").replace("</td>", "</th>") for row in written[:heads]]
    return "\n".join(["<table>", *written, "</table>"])


def _heading_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many rows at the top are headings, told by cells over several columns; 0 where there are none."""
    spanning = 0
    while spanning < min(len(rows), MOST_HEADINGS) and any(_OVER_COLUMNS.match(cell) for cell in rows[spanning]):
        spanning += 1
    if not 0 < spanning < len(rows) - 1:
        return 0
    return spanning + (not any(_NUMBER.fullmatch(_TAG.sub("", cell)) for cell in rows[spanning]))
