"""Tables of a page as grids with their headings, from Markdown and from HTML.

How spans shift cells and how far headings reach is as olmOCR 0.4.27 has it, also where a browser would show otherwise:
a verdict depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4 import Tag

__all__ = ["Grid", "html_grids", "markdown_grids"]

_WIDEST = 1000  # columns that a cell may span; what HTML allows


@dataclass(slots=True)
class Grid:
    """One table.

    Attributes:
        rows: all of the same length.
        heading_rows, heading_columns: places of rows and columns with heading cells.
        above: headings of a column, by its place.
        before: headings of a row, by its place.
    """

    rows: list[list[str]]
    heading_rows: set[int] = field(default_factory=set)
    heading_columns: set[int] = field(default_factory=set)
    above: dict[int, list[str]] = field(default_factory=dict)
    before: dict[int, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        width = max((len(row) for row in self.rows), default=0)
        self.rows = [row + [""] * (width - len(row)) for row in self.rows]


# Markdown.


def markdown_grids(text: str) -> Iterator[Grid]:
    """Every run of two and more lines with a bar is a table; its first row and column are headings."""
    block: list[str] = []
    for line in [*text.strip().split("\n"), ""]:
        if "|" in line:
            block.append(line)
            continue
        rows = _bar_rows(block) if len(block) > 1 else []
        block = []
        if rows:
            grid = Grid(rows, {0}, {0})
            grid.above = {column: [cell] for column, cell in enumerate(grid.rows[0])}
            grid.before = {place: [row[0]] for place, row in enumerate(grid.rows) if place}
            yield grid


def _bar_rows(lines: list[str]) -> list[list[str]]:
    rule = next((place for place, line in enumerate(lines) if _only(line.replace("|", "").strip(), "- :")), None)
    rows = []
    for place, line in enumerate(lines):
        if place == rule or _only(line, "- :|"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if not cells[0]:
            del cells[0]
        if cells and not cells[-1]:
            del cells[-1]
        if cells:
            rows.append(cells)
    return rows


def _only(line: str, characters: str) -> bool:
    return bool(line.strip()) and all(character in characters for character in line)


# HTML.


def html_grids(text: str) -> Iterator[Grid]:
    """Every `table`, also those inside another.

    Raises:
        ValueError: a span is no number, or the markup cannot be read at all.
    """
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        tables = BeautifulSoup(text, "html.parser").find_all("table")
    except ParserRejectedMarkup as error:
        raise ValueError("no HTML") from error
    for table in tables:
        reader = _TableReader(table)
        for place, row in enumerate(reader.source):
            reader.read(place, row)
        if reader.rows:
            yield reader.grid()


class _TableReader:
    """Reads one table row by row, then says which headings reach where."""

    def __init__(self, table: Tag) -> None:
        self.source: list[Tag] = list(table.find_all("tr"))
        self.rows: list[list[str]] = []
        self._covered: dict[tuple[int, int], str] = {}  # what spans from above and from the left put at a place
        self._heading_rows: set[int] = set()
        self._heading_columns: set[int] = set()
        self._above: dict[int, list[str]] = {}
        self._before: dict[int, list[str]] = {}
        self._wide: dict[str, set[int]] = {}  # columns of headings that span several
        self._tall: dict[str, set[int]] = {}  # rows of headings that span several
        head = table.find("thead")
        if head:
            # Found by content: of rows that are the same, the first counts.
            self._heading_rows.update(self.source.index(row) for row in head.find_all("tr"))

    def read(self, place: int, row: Tag) -> None:
        """Take in one row."""
        if row.find("th"):
            self._heading_rows.add(place)
        cells: list[str] = []
        column = 0
        for cell in row.find_all(["th", "td"]):
            while (place, column) in self._covered:
                cells.append(self._covered[place, column])
                column += 1
            for line_break in cell.find_all("br"):
                line_break.replace_with("\n")
            text = cell.get_text().strip()
            height, width = _span(cell, "rowspan"), min(_span(cell, "colspan"), _WIDEST)
            cells.append(text)
            self._cover(place, column, height, width, text)
            if cell.name == "th":
                self._heading(place, column, height, width, text)
            elif height > 1 and column in self._heading_columns:
                for below in range(place + 1, min(place + height, len(self.source))):
                    self._before.setdefault(below, []).append(text)
            column += width
        self.rows.append(cells)

    def _cover(self, place: int, column: int, height: int, width: int, text: str) -> None:
        for down in range(min(height, len(self.source) - place)):
            for right in range(width):
                if down or right:
                    # The text stands in every row that the cell spans, but in its first column only.
                    self._covered[place + down, column + right] = "" if right else text

    def _heading(self, place: int, column: int, height: int, width: int, text: str) -> None:
        columns = range(column, column + width)
        rows = range(place, min(place + height, len(self.source)))
        self._heading_columns.update(columns)
        self._heading_rows.update(rows[1:])
        for spanned in columns:
            self._above.setdefault(spanned, []).append(text)
        if text and width > 1:
            self._wide.setdefault(text, set()).update(columns)
        if text and height > 1:
            self._tall.setdefault(text, set()).update(rows)

    def grid(self) -> Grid:
        """The table as it stands after its last row."""
        for text, columns in self._wide.items():
            # From its first column on a heading reaches to the end of the longest row that is no heading.
            longest = max(
                (len(row) for place, row in enumerate(self.rows) if place not in self._heading_rows), default=0
            )
            for column in range(min(columns), longest):
                _once(self._above.setdefault(column, []), text)
        for text, rows in self._tall.items():
            for place in rows:
                _once(self._before.setdefault(place, []), text)
        for column in self._heading_columns:
            for place, row in enumerate(self.rows):
                if column < len(row) and row[column].strip():
                    _once(self._before.setdefault(place, []), row[column])
        return Grid(self.rows, self._heading_rows, self._heading_columns, self._above, self._before)


def _span(cell: Tag, name: str) -> int:
    return int(str(cell.get(name, "1")))


def _once(headings: list[str], text: str) -> None:
    if text not in headings:
        headings.append(text)
