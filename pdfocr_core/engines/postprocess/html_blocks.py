"""Surya's form: HTML whose blocks carry their place and kind, to Markdown. Tables stay HTML."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

from pdfocr_core.engines.boxes import Picture, box_of, numbers_in
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.errors import PageError, Reason
from pdfocr_core.records import Box

__all__ = ["html_blocks"]

_BLOCK = re.compile(r"<(?:div|p|h[1-6]|table|ul|ol|pre)\b", re.IGNORECASE)
_INLINE = {"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "code": "`"}
_KEPT_TAGS = {"sup", "sub", "u", "small", "chem"}
_TABLE_TAGS = {"table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption"}
_KEPT_ATTRIBUTES = {"colspan", "rowspan"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_WITHOUT_TEXT = {"image", "figure", "diagram", "blank-page"}
_LABEL_HEADINGS = {"section-header": "## ", "title": "# "}
Attributes = list[tuple[str, str | None]]


def html_blocks(page: ParsedPage, picture: Picture) -> ParsedPage:
    """Markdown of the blocks in the order given, and their boxes; what is said of pictures is left out.

    Raises:
        PageError: there is text, but no HTML block.
    """
    if page.text.strip() and not _BLOCK.search(page.text):
        raise PageError(Reason.BAD_FRONT_MATTER, f"no HTML block in the answer: {page.text[:60]!r}")
    reader = _Reader(picture)
    reader.feed(page.text)
    reader.close()
    return page.but(text=reader.markdown(), boxes=(*page.boxes, *reader.boxes))


class _Reader(HTMLParser):
    """Writes Markdown while it reads."""

    def __init__(self, picture: Picture) -> None:
        super().__init__(convert_charrefs=True)
        self.boxes: list[Box] = []
        self._picture = picture
        self._parts: list[str] = []
        self._depth = 0  # of divs
        self._silent_from: int | None = None  # depth of the picture block we are in
        self._in_table = 0
        self._in_pre = 0
        self._math: str | None = None
        self._lists: list[int | None] = []  # next number of each open list; None for bullets
        self._heading = ""  # what a section header writes where the HTML has no heading of its own

    def markdown(self) -> str:
        text = "".join(self._parts)
        text = re.sub(r"[ \t]+\n", "\n", text)
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if tag == "div":
            self._open_div(dict(attrs))
        elif self._silent_from is not None:
            return
        elif tag in _TABLE_TAGS and (self._in_table or tag == "table"):
            self._open_table_tag(tag, attrs)
        elif tag in _HEADINGS or tag in {"p", "ul", "ol", "li", "pre"}:
            self._open_block(tag)
        elif tag == "math":
            self._math = "$$" if dict(attrs).get("display") == "block" else "$"
            self._write(self._math)
        elif tag == "br":
            self._write("<br>" if self._in_table else "\n")
        elif tag == "input":
            given = dict(attrs)
            self._write(
                f"[{'x' if 'checked' in given else ' '}] " if given.get("type") in {"checkbox", "radio"} else ""
            )
        elif tag in _INLINE:
            self._write(f"<{tag}>" if self._in_table else _INLINE[tag])
        elif tag in _KEPT_TAGS:
            self._write(f"<{tag}>")
        elif tag == "hr":
            self._write("\n\n---\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self._close_div()
        elif self._silent_from is not None:
            return
        elif tag in _TABLE_TAGS and self._in_table:
            self._write(f"</{tag}>" + ("\n" if tag == "tr" else ""))
            if tag == "table":
                self._in_table -= 1
                self._write("\n\n")
        elif tag in _HEADINGS or tag in {"p", "ul", "ol", "li", "pre"}:
            self._close_block(tag)
        elif tag == "math" and self._math:
            self._write(self._math)
            self._math = None
        elif tag in _INLINE:
            self._write(f"</{tag}>" if self._in_table else _INLINE[tag])
        elif tag in _KEPT_TAGS:
            self._write(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._silent_from is not None:
            return
        if self._in_pre or self._math:
            self._write(data)
        elif data.strip():
            if self._heading and not self._in_table:
                self._write(self._heading)
                self._heading = ""
            text = re.sub(r"\s+", " ", data)
            self._write(escape(text, quote=False) if self._in_table else text)
        elif self._parts and not self._parts[-1].endswith(("\n", " ")) and not self._in_table:
            self._write(" ")

    def _write(self, text: str) -> None:
        if self._silent_from is None:
            self._parts.append(text)

    def _open_div(self, attributes: dict[str, str | None]) -> None:
        self._depth += 1
        self._write("\n\n")
        place = attributes.get("data-bbox")
        label = (attributes.get("data-label") or "").strip()
        if place:
            box = box_of(label.casefold() or "text", numbers_in(place), self._picture)
            if box is not None:
                self.boxes.append(box)
        self._heading = _LABEL_HEADINGS.get(label.casefold(), "")
        if label.casefold() in _WITHOUT_TEXT and self._silent_from is None:
            self._silent_from = self._depth

    def _close_div(self) -> None:
        if self._silent_from == self._depth:
            self._silent_from = None
        self._depth = max(0, self._depth - 1)
        self._heading = ""
        self._write("\n\n")

    def _open_table_tag(self, tag: str, attrs: Attributes) -> None:
        if tag == "table":
            self._in_table += 1
            self._write("\n\n")
        kept = "".join(f' {name}="{escape(value or "")}"' for name, value in attrs if name in _KEPT_ATTRIBUTES)
        self._write(f"<{tag}{kept}>")

    def _open_block(self, tag: str) -> None:
        if self._in_table:
            return  # Markdown inside an HTML table would not be read as such
        if tag in _HEADINGS:
            self._heading = ""
            self._write(f"\n\n{_HEADINGS[tag]}")
        elif tag == "pre":
            self._in_pre += 1
            self._write("\n\n```\n")
        elif tag in {"ul", "ol"}:
            self._lists.append(1 if tag == "ol" else None)
            self._write("" if len(self._lists) > 1 else "\n\n")  # an inner list's items begin their own lines
        elif tag == "li":
            self._write(f"\n{'  ' * (len(self._lists) - 1)}{self._marker()} ")
        elif not self._lists:
            self._write("\n\n")

    def _close_block(self, tag: str) -> None:
        if self._in_table:
            return
        if tag == "pre":
            self._in_pre = max(0, self._in_pre - 1)
            self._write("\n```\n\n")
        elif tag in {"ul", "ol"}:
            if self._lists:
                self._lists.pop()
            self._write("" if self._lists else "\n\n")
        elif tag != "li" and not self._lists:
            self._write("\n\n")

    def _marker(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "-"
        self._lists[-1] = number + 1
        return f"{number}."
