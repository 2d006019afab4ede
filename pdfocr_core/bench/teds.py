"""How alike two tables are: TEDS, the tree edit distance of their rows and cells as a share of the larger tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pdfocr_core.bench.grids import markdown_grids
from pdfocr_core.bench.normalise import normalise

if TYPE_CHECKING:
    from bs4 import Tag

__all__ = ["table_similarity", "teds"]

_LARGEST = 250  # nodes of a tree; the distance takes more than quadratic time


@dataclass(slots=True)
class _Node:
    """A table, row or cell."""

    kind: str
    text: str = ""
    children: list[_Node] = field(default_factory=list)

    def size(self) -> int:
        return 1 + sum(child.size() for child in self.children)


class _Costs:
    """What edits cost; the interface that `apted` asks for."""

    valuecls = float

    def delete(self, _node: _Node) -> float:
        return 1.0

    def insert(self, _node: _Node) -> float:
        return 1.0

    def rename(self, one: _Node, other: _Node) -> float:
        """Cells of the same kind and span cost as much as their texts differ."""
        from rapidfuzz.distance import Levenshtein

        if one.kind != other.kind:
            return 1.0
        return float(Levenshtein.normalized_distance(one.text, other.text))

    def children(self, node: _Node) -> list[_Node]:
        return node.children


def teds(first: str, second: str) -> float | None:
    """The likeness of the first table of each text, HTML or Markdown, 0 to 1; None when one has none or is too large."""
    one, other = next(_trees(first), None), next(_trees(second), None)
    return None if one is None or other is None else _likeness(one, other)


def table_similarity(reference: str, text: str) -> float | None:
    """The mean likeness of the tables of two texts, in order; a table that only one has counts as 0."""
    wanted, found = list(_trees(reference)), list(_trees(text))
    if not wanted or not found:
        return None if wanted == found else 0.0
    likenesses = [_likeness(one, other) for one, other in zip(wanted, found, strict=False)]
    known = [likeness for likeness in likenesses if likeness is not None]
    unknown = len(likenesses) - len(known)
    most = max(len(wanted), len(found)) - unknown
    return sum(known) / most if most else None


def _likeness(one: _Node, other: _Node) -> float | None:
    from apted import APTED

    sizes = (one.size(), other.size())
    if max(sizes) > _LARGEST:
        return None
    return max(0.0, 1.0 - float(APTED(one, other, _Costs()).compute_edit_distance()) / max(sizes))


def _trees(text: str) -> Iterator[_Node]:
    from bs4 import BeautifulSoup

    tables = BeautifulSoup(text, "html.parser").find_all("table") if "<table" in text.lower() else []
    for table in tables:
        rows = [
            _Node("row", children=[_cell(cell) for cell in row.find_all(["td", "th"])]) for row in table.find_all("tr")
        ]
        yield _Node("table", children=rows)
    if not tables:
        for grid in markdown_grids(text):
            yield _Node("table", children=[_Node("row", children=_cells(row)) for row in grid.rows])


def _cell(cell: Tag) -> _Node:
    # A heading cell and a plain one are the same here: Markdown knows no other headings than its first row.
    return _Node(f"cell {cell.get('rowspan', '1')} {cell.get('colspan', '1')}", normalise(cell.get_text(" ")).strip())


def _cells(row: Sequence[str]) -> list[_Node]:
    return [_Node("cell 1 1", normalise(cell)) for cell in row]
