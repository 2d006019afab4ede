"""OTSL, the table form of the Docling models, to HTML.

Each row ends with `nl`. A cell begins with its kind; three kinds only widen another cell: `lcel` the one to the left,
`ucel` the one above, `xcel` both.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["CELLS", "table_html"]

_HEADS = {"ched", "rhed"}
_ORIGINS = {"fcel", "ecel", "srow"} | _HEADS
_WIDENING = {"lcel", "ucel", "xcel"}
CELLS = _ORIGINS | _WIDENING | {"nl"}

Cell = tuple[str, str]


def table_html(cells: Iterable[Cell]) -> str:
    """The table of (kind, text) pairs; empty where there is no cell."""
    rows = _rows(cells)
    lines = []
    for number, row in enumerate(rows):
        out = [_cell(rows, number, column) for column, (kind, _) in enumerate(row) if kind in _ORIGINS]
        lines.append(f"<tr>{''.join(out)}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>" if lines else ""


def _rows(cells: Iterable[Cell]) -> list[list[Cell]]:
    rows: list[list[Cell]] = [[]]
    for kind, text in cells:
        if kind == "nl":
            rows.append([])
        elif kind in _WIDENING and text.strip():
            # Such a cell has no text of its own; what stands there all the same is not thrown away.
            rows[-1].append(("fcel", text))
        else:
            rows[-1].append((kind, text))
    return [row for row in rows if row]


def _cell(rows: list[list[Cell]], number: int, column: int) -> str:
    kind, text = rows[number][column]
    across = 1
    while column + across < len(rows[number]) and rows[number][column + across][0] == "lcel":
        across += 1
    down = 1
    while number + down < len(rows) and _kind_at(rows[number + down], column) == "ucel":
        down += 1
    spans = (f' colspan="{across}"' if across > 1 else "") + (f' rowspan="{down}"' if down > 1 else "")
    tag = "th" if kind in _HEADS else "td"
    return f"<{tag}{spans}>{escape(' '.join(text.split()), quote=False)}</{tag}>"


def _kind_at(row: list[Cell], column: int) -> str:
    return row[column][0] if column < len(row) else ""
