"""Tables in Markdown: HTML to pipes and pipes to HTML, each only where nothing is lost by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["to_html", "to_pipes"]

_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_START, _END = re.compile(r"<table\b", re.IGNORECASE), re.compile(r"</table>", re.IGNORECASE)
# A longer table is no table of a page; what a model went on about is left as it is.
_LONGEST = 200_000
_STRUCTURE = frozenset(("table", "thead", "tbody", "tr", "th", "td"))
_INLINE = frozenset(("b", "strong", "i", "em", "u", "s", "sub", "sup", "br", "code"))
_HARMLESS = frozenset(("border", "class", "id", "scope"))
_ESCAPED = re.compile(r"[*`|~]|(?<!\w)_|_(?!\w)")
_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


class _NotLossless(Exception):
    """Pipes cannot say what this table says."""


def to_pipes(text: str) -> str:
    """With HTML tables as pipe tables; those with spans, without a header or with blocks in their cells stay."""
    parts: list[str] = []
    done = 0
    for start, end in _html_tables(text):
        pipes = _pipes(text[start:end])
        if pipes is None:
            continue
        parts += [text[done:start].strip("\n"), pipes]
        done = end
    # A blank line on either side, or Markdown takes a table for part of a paragraph.
    return "\n\n".join(part for part in [*parts, text[done:].strip("\n")] if part) if parts else text


def _html_tables(text: str) -> Iterator[tuple[int, int]]:
    """Where tables start and end; what stands between fences is none, whatever it looks like."""
    at = 0
    while (start := _START.search(text, at)) is not None:
        fence = _FENCE.search(text, at, start.start())
        if fence is not None:
            closing = _FENCE.search(text, fence.end())
            if closing is None:
                return
            at = closing.end()
            continue
        end = _END.search(text, start.end())
        if end is None:
            return
        at = end.end()
        yield start.start(), at


def _pipes(html: str) -> str | None:
    if len(html) > _LONGEST:
        return None
    reader = _TableReader()
    try:
        reader.feed(html)
        reader.close()
        return "\n".join(_lines(reader.rows))
    except _NotLossless:
        return None


@dataclass(slots=True)
class _Row:
    header: bool = True
    cells: list[str] = field(default_factory=list)


class _TableReader(HTMLParser):
    """The cells of one table, refusing what pipes cannot say."""

    def __init__(self) -> None:
        # Character references mean the same in Markdown, so they stay as they are.
        super().__init__(convert_charrefs=False)
        self.rows: list[_Row] = []
        self._cell: list[str] | None = None
        self._begun = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _INLINE and self._cell is not None and not attrs:
            self._cell.append(f"<{tag}>")
            return
        inner = tag == "table" and self._begun
        if tag not in _STRUCTURE or inner or self._cell is not None:
            raise _NotLossless
        self._begun = True
        for name, value in attrs:
            if name not in _HARMLESS and not (name in ("rowspan", "colspan") and value == "1"):
                raise _NotLossless
        if tag == "tr":
            self.rows.append(_Row())
        elif tag in ("th", "td"):
            if not self.rows:
                raise _NotLossless
            self.rows[-1].header &= tag == "th"
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td") and self._cell is not None:
            self.rows[-1].cells.append(" ".join("".join(self._cell).split()))
            self._cell = None
        elif tag in _INLINE and self._cell is not None:
            self._cell.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._cell is None:
            if data.strip():
                raise _NotLossless
            return
        # A backslash is mathematics, in which nothing may be escaped; this is a link where pipes are.
        if "\\" in data or "](" in data:
            raise _NotLossless
        self._cell.append(_ESCAPED.sub(r"\\\g<0>", data))

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name};")

    def handle_comment(self, data: str) -> None:  # noqa: ARG002 - a comment is content all the same
        raise _NotLossless

    def _reference(self, text: str) -> None:
        if self._cell is None:
            raise _NotLossless
        self._cell.append(text)


def _lines(rows: list[_Row]) -> list[str]:
    width = len(rows[0].cells) if rows else 0
    header_first = bool(rows) and rows[0].header and not any(row.header for row in rows[1:])
    if not width or not header_first or any(len(row.cells) != width for row in rows):
        raise _NotLossless
    lines = [f"| {' | '.join(row.cells)} |" for row in rows]
    return [lines[0], "|" + " --- |" * width, *lines[1:]]


def to_html(text: str) -> str:
    """With pipe tables as HTML; those with mathematics in them stay, since HTML would not show it."""
    if len(text) > _LONGEST or not any("|" in line and _DELIMITER.match(line) for line in text.splitlines()):
        return text
    parser = _parser()
    lines = text.split("\n")
    for first, last in reversed(_pipe_tables(parser, text)):
        source = "\n".join(lines[first:last])
        if "$" in source or "\\(" in source or "\\[" in source:
            continue
        lines[first:last] = [parser.render(source).rstrip("\n")]
    return "\n".join(lines)


def _pipe_tables(parser: MarkdownIt, text: str) -> list[tuple[int, int]]:
    """First line and the line after the last of each table that stands by itself, not in a list or a quotation."""
    return [
        (token.map[0], token.map[1])
        for token in parser.parse(text)
        if token.type == "table_open" and token.level == 0 and token.map
    ]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")
