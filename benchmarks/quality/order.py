"""Whether lines come in the order in which they are read, and which pages have columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.quality.corpus import LayerPage, normal
from pdfocr_core.bench.measures import plain_words
from pdfocr_core.layout.model import Line

__all__ = ["columns_of", "line_order"]

_LEAST_FOUND = 5  # lines, under which an order says nothing
_LEAST_LINES = 8  # in each column
_FULL = 0.6  # of a column's width: shorter lines are labels, cells, numbers and ends of paragraphs
_SLACK = 0.06  # of a column's width that a line may reach beyond it


def line_order(page: LayerPage, text: str) -> float | None:
    """Kendall's tau of the layer's lines by the places where their words stand in `text`.

    On a page with columns only the lines that fill a column count, and of those only the flow of the text: layers have
    heads, figures, tables and notes at their ends, wherever they stand on the page. A line's place is the median of
    those of its words that both texts have exactly once. 1 is the same order, -1 the reverse; None where too few lines
    are found again.
    """
    wanted = Counter(word.casefold() for word in plain_words(page.text))
    found = [word.casefold() for word in plain_words(text)]
    once = {word for word, count in Counter(found).items() if count == 1 and wanted[word] == 1}
    place = {word: number for number, word in enumerate(found) if word in once}
    order: list[float] = []
    for line in _body(page)[1] or page.lines:
        places = [place[word] for word in map(str.casefold, plain_words(normal(line.text))) if word in place]
        if places:
            order.append(median(places))
    return _tau(order) if len(order) >= _LEAST_FOUND else None


def _tau(order: Sequence[float]) -> float | None:
    """Pairs in order less pairs out of order, among those that are not in one place."""
    signs = [
        (later > earlier) - (later < earlier)
        for number, earlier in enumerate(order)
        for later in order[number + 1 :]
        if later != earlier
    ]
    return sum(signs) / len(signs) if signs else None


def columns_of(page: LayerPage) -> int:
    """1, 2 or 3: how many columns the page's running text stands in, as the boxes of its lines say."""
    return _body(page)[0]


def _body(page: LayerPage) -> tuple[int, list[Line]]:
    """The number of columns, and the lines that fill one of them, in the layer's order; none where it is one column."""
    if not page.lines:
        return 1, []
    left, right = min(line.x0 for line in page.lines), max(line.x1 for line in page.lines)
    wide = [line for line in page.lines if line.width > _FULL * (right - left) / 3]
    left = min((line.x0 for line in wide), default=left)
    right = max((line.x1 for line in wide), default=right)
    for count in (3, 2):
        width = (right - left) / count
        columns: list[tuple[int, Line]] = []
        for line in wide:
            column = int((line.centre - left) / width)
            inside = left + (column - _SLACK) * width <= line.x0 and line.x1 <= left + (column + 1 + _SLACK) * width
            if inside and line.width > _FULL * width:
                columns.append((column, line))
        filled = Counter(column for column, _line in columns)
        if all(filled[column] >= _LEAST_LINES for column in range(count)):
            # A layer that begins with another column was not written in the order of reading.
            return (count, list(_flowing(columns))) if columns[0][0] == 0 else (1, [])
    return 1, []


def _flowing(columns: Sequence[tuple[int, Line]]) -> Iterator[Line]:
    """Without the lines that a layer writes late: after one that stands lower in their column, or in a later one."""
    lowest: dict[int, float] = {}
    for column, line in columns:
        if all(line.middle > y for other, y in lowest.items() if other >= column):
            lowest[column] = line.middle
            yield line
