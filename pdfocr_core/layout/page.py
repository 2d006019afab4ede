"""A page of lines becomes Markdown: tables set aside, columns cut, paragraphs joined, headings found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from pdfocr_core.layout.aligned import find_aligned_tables
from pdfocr_core.layout.captions import is_caption
from pdfocr_core.layout.columns import cut_into_blocks
from pdfocr_core.layout.joining import part_at_marks, without_marks, words_of
from pdfocr_core.layout.margins import margin_lines
from pdfocr_core.layout.model import Line, PageText, Rulings, Segment, is_right_to_left, is_sideways, text_height
from pdfocr_core.layout.paragraphs import Paragraph, join_across_blocks, to_paragraphs
from pdfocr_core.layout.rows import group_rows
from pdfocr_core.layout.tables import Table, find_tables

__all__ = ["to_markdown"]

HEADING_SIZES = ((1.7, 1), (1.3, 2))
HEADING_ROWS = 3
HEADING_CHARACTERS = 160
HEADING_SHARE = 0.3
EDGE = 0.006


def to_markdown(
    lines: Sequence[Line],
    width: float,
    height: float,
    rulings: Rulings | None = None,
    *,
    keep_margins: bool = True,
) -> PageText:
    """Bring lines into reading order and write them as Markdown; every line's text is in it.

    Args:
        lines: in any order.
        width: of the page, in the unit of the boxes.
        height: of the page.
        rulings: strokes drawn on the page; without them there are no tables.
        keep_margins: whether page numbers, running heads and stamps in a margin are kept; the only lines ever left out.
    """
    lines = [line for line in lines if line.text.strip()]
    if not lines:
        return PageText("", is_table=False)
    usual = text_height(lines)
    known = words_of(line.text for line in lines)
    lines = [part for line in lines for part in part_at_marks(line, usual, known)]
    right_to_left = is_right_to_left("".join(line.text for line in lines))
    tables = find_tables(lines, _off_the_edges(rulings, width, height), usual) if rulings else []
    in_tables = {line for table in tables for line in table.lines}
    if not keep_margins:
        left_out = margin_lines(lines, width, height) - in_tables
        lines = [line for line in lines if line not in left_out]
    upright, on_their_side = _part_sideways([line for line in lines if line not in in_tables], usual)
    # A table takes part in the search for columns as one wide line; no other line is without text.
    stand_ins = {Line("", table.x0, table.y0, table.x1, table.y1): table for table in tables}
    blocks = [[*upright, *stand_ins]]
    # Tables told by alignment are looked for across the page, where columns of text may be cut through them, and then
    # within each column.
    for across in (True, False):
        aligned = [] if right_to_left else find_aligned_tables(blocks, across=across)
        stand_ins |= {Line("", table.x0, table.y0, table.x1, table.y1): table for table in aligned}
        in_tables |= {line for table in aligned for line in table.lines}
        if across or aligned:
            upright = [line for line in upright if line not in in_tables]
            blocks = cut_into_blocks([*upright, *stand_ins], right_to_left=right_to_left)
    paragraphs: list[Paragraph] = []
    for block in blocks:
        paragraphs += _paragraphs_of(block, stand_ins, known, right_to_left)
    paragraphs += [Paragraph(line.text, usual) for line in on_their_side]
    _mark_headings(paragraphs)
    markdown = _write(join_across_blocks(paragraphs, known))
    tabular = sum(len(line.text) for line in in_tables) + sum(len(item.text) for item in paragraphs if item.in_cells)
    return PageText(markdown, is_table=2 * tabular > sum(len(line.text) for line in lines))


def _off_the_edges(rulings: Rulings, width: float, height: float) -> Rulings:
    """Without strokes along the page's edges: those are the shadows of a scan."""

    def inside(segments: Sequence[Segment], extent: float) -> tuple[Segment, ...]:
        return tuple(segment for segment in segments if EDGE * extent < segment.at < (1 - EDGE) * extent)

    return Rulings(inside(rulings.horizontal, height), inside(rulings.vertical, width))


def _part_sideways(lines: list[Line], usual: float) -> tuple[list[Line], list[Line]]:
    """Lines that stand on their side (a stamp in the margin) would upset rows; they come last, unless most do."""
    sideways = [line for line in lines if is_sideways(line) and line.height > 2.5 * usual]
    if 4 * len(sideways) > len(lines):
        return lines, []
    apart = set(sideways)
    return [line for line in lines if line not in apart], sideways


def _paragraphs_of(
    block: Sequence[Line], tables: Mapping[Line, Table], known: frozenset[str], right_to_left: bool
) -> list[Paragraph]:
    """The paragraphs of one block, parted by the tables that stand in it."""
    stand_ins = sorted((line for line in block if not line.text), key=lambda line: line.middle)
    rest = [line for line in block if line.text]
    paragraphs: list[Paragraph] = []
    for stand_in in stand_ins:
        above = [line for line in rest if line.middle < stand_in.middle]
        rest = [line for line in rest if line.middle >= stand_in.middle]
        paragraphs += to_paragraphs(group_rows(above, right_to_left=right_to_left), known)
        paragraphs.append(Paragraph(tables[stand_in].html, 0.0))
    following = to_paragraphs(group_rows(rest, right_to_left=right_to_left), known)
    if following:
        following[0].apart = True
    return paragraphs + following


def _mark_headings(paragraphs: Sequence[Paragraph]) -> None:
    sizes = [item.height for item in paragraphs if item.height > 0 for _ in range(1 + len(item.text) // 40)]
    if not sizes:
        return
    body = median(sizes)
    levels = [_heading_level(item, body) for item in paragraphs]
    # Where much is large, size says nothing.
    if sum(level > 0 for level in levels) <= max(3, HEADING_SHARE * len(paragraphs)):
        for item, level in zip(paragraphs, levels, strict=True):
            item.heading = level


def _heading_level(item: Paragraph, body: float) -> int:
    level = next((level for factor, level in HEADING_SIZES if item.height >= factor * body), 0)
    if not level or item.in_cells or item.rows > HEADING_ROWS or len(item.text) > HEADING_CHARACTERS:
        return 0
    wordy = sum(map(str.isalpha, item.text)) >= 3 and not is_caption(item.text)
    return (
        level
        if wordy and not item.text.endswith((",", ";", ":", "-")) and not item.text.lstrip().startswith("- ")
        else 0
    )


def _write(paragraphs: Sequence[Paragraph]) -> str:
    parts: list[str] = []
    for before, item in zip([None, *paragraphs], paragraphs, strict=False):
        if before is not None:
            parts.append("\n\n" if item.apart or item.heading or before.heading or not before.height else "\n")
        parts.append("#" * item.heading + " " * bool(item.heading) + without_marks(item.text))
    return "".join(parts)
