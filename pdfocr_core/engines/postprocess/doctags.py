"""DocTags, the form of SmolDocling and Granite-Docling, to Markdown.

An answer is a tree of elements such as `<text><loc_57><loc_60><loc_443><loc_74>Words</text>`; the four locations are its
box. Only names that the form knows are read as tags, so that a `<` of the page's own text stays one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pdfocr_core.engines.boxes import Picture, box_of
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.engines.postprocess.otsl import CELLS, Cell, table_html
from pdfocr_core.errors import PageError, Reason
from pdfocr_core.records import Box

__all__ = ["doctags"]

_LISTS = {"unordered_list", "ordered_list"}
_WRAPPERS = {"doctag", "document", "group", "key_value_region", "form"}
_TABLES = {"otsl", "table", "chart", "document_index"}
_PARAGRAPHS = {
    "text",
    "paragraph",
    "caption",
    "footnote",
    "page_header",
    "page_footer",
    "reference",
    "smiles",
    "inline",
}
_HEADINGS = {"title": 1} | {f"section_header_level_{level}": level + 1 for level in range(1, 6)}
_ELEMENTS = (
    {"list_item", "formula", "code", "picture", "checkbox_selected", "checkbox_unselected"}
    | _LISTS
    | _WRAPPERS
    | _TABLES
    | _PARAGRAPHS
    | set(_HEADINGS)
)
# A page does not nest deeper; a model in a loop does, without end.
_MAX_DEPTH = 40
_TOKEN = re.compile(r"<(/?)([a-z]+(?:_[a-z]+)*(?:_\d+)?)>|<_([^<>\s]{1,30})_>")
_EDGES = re.compile(r"<\|?(?:end_of_utterance|im_end|endoftext)\|?>|<page_break>")
_BULLET = re.compile(r"\A[-*•·▪◦○●]\s+")
_NUMBER = re.compile(r"\A\(?(?:\d{1,3}|[a-zA-Z]|[ivxlcIVXLC]{1,5})[.)]\s")


@dataclass(slots=True)
class _Node:
    tag: str
    children: list[_Node | str] = field(default_factory=list)
    locations: list[int] = field(default_factory=list)
    language: str = ""

    def inner(self) -> Iterator[_Node]:
        """The elements and cells directly in it."""
        return (child for child in self.children if isinstance(child, _Node))

    def words(self) -> str:
        """Its text with that of what is inside, on one line."""
        parts = (child if isinstance(child, str) else child.words() for child in self.children)
        return " ".join(" ".join(parts).split())

    def lines(self) -> str:
        """Its own text with its line breaks."""
        return "".join(child for child in self.children if isinstance(child, str)).strip()


def doctags(page: ParsedPage, picture: Picture) -> ParsedPage:
    """Markdown of the elements in the order given, running heads included, and their boxes.

    Raises:
        PageError: there is text, but no element of the form.
    """
    root = _tree(_EDGES.sub("", page.text))
    if not any(root.inner()) and root.words():
        raise PageError(Reason.BAD_FRONT_MATTER, f"no DocTags in the answer: {root.words()[:60]!r}")
    boxes: list[Box] = []
    _collect(root, picture, boxes)
    return page.but(text="\n\n".join(_blocks(root)), boxes=(*page.boxes, *boxes))


def _tree(text: str) -> _Node:
    """The elements; one that is not closed ends with the one around it."""
    stack = [_Node("doctag")]
    at = 0
    for match in _TOKEN.finditer(text):
        closing, name, language = match[1], match[2] or "", match[3]
        step = _step(stack, closing, name, language)
        if step is None:
            continue  # not a tag of this form: it belongs to the page's text
        if match.start() > at:
            stack[-1].children.append(text[at : match.start()])
        at = match.end()
        step()
    if at < len(text):
        stack[-1].children.append(text[at:])
    return stack[0]


def _step(stack: list[_Node], closing: str, name: str, language: str | None) -> Callable[[], object] | None:
    """What a tag does to the elements that are open; None for one that this form does not know."""
    top = stack[-1]
    if language is not None:
        return (lambda: setattr(top, "language", language)) if top.tag == "code" else None
    if name.startswith("loc_") and name[4:].isdigit():
        return lambda: top.locations.append(int(name[4:]))
    if name in CELLS:
        return lambda: top.children.append(_Node(name))
    if name not in _ELEMENTS:
        # Inside a picture stands its class, such as <bar_chart>; it is no text of the page.
        return (lambda: None) if top.tag in {"picture", "chart"} else None
    if not closing:
        return lambda: _open(stack, name)
    return lambda: _close(stack, name)


def _open(stack: list[_Node], name: str) -> None:
    node = _Node(name)
    stack[-1].children.append(node)
    if len(stack) < _MAX_DEPTH:
        stack.append(node)


def _close(stack: list[_Node], name: str) -> None:
    depth = next((depth for depth in range(len(stack) - 1, 0, -1) if stack[depth].tag == name), None)
    if depth is not None:
        del stack[depth:]


def _collect(node: _Node, picture: Picture, boxes: list[Box]) -> None:
    if len(node.locations) >= 4:
        box = box_of(node.tag, [float(value) for value in node.locations[:4]], picture)
        if box is not None:
            boxes.append(box)
    for child in node.inner():
        _collect(child, picture, boxes)


def _blocks(node: _Node) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, str):
            if child.strip():
                yield child.strip()
            continue
        if child.tag in _WRAPPERS:
            yield from _blocks(child)
            continue
        block = _block(child)
        if block:
            yield block


def _block(node: _Node) -> str:
    if node.tag in _LISTS:
        return "\n".join(_items(node, indent=0))
    if node.tag in _TABLES:
        return _table(node)
    if node.tag == "picture":
        # A picture's own words are what the model made of it; only its caption and data are on the page.
        return "\n\n".join(_blocks(_Node("group", list(node.inner()))))
    if node.tag == "formula":
        return f"$$\n{node.lines()}\n$$" if node.lines() else ""
    if node.tag == "code":
        return f"```{_language(node)}\n{node.lines()}\n```" if node.lines() else ""
    words = node.words()
    if not words:
        return ""
    if node.tag in _HEADINGS:
        return f"{'#' * _HEADINGS[node.tag]} {words}"
    if node.tag == "list_item":
        return _item(words, 1, ordered=False)
    if node.tag.startswith("checkbox_"):
        return f"- [{'x' if node.tag == 'checkbox_selected' else ' '}] {words}"
    return words


def _items(node: _Node, *, indent: int) -> Iterator[str]:
    number = 0
    for child in node.children:
        if isinstance(child, str):
            if child.strip():  # words outside of any item
                yield " " * indent + " ".join(child.split())
            continue
        if child.tag in _LISTS:
            yield from _items(child, indent=indent + 2)
            continue
        number += 1
        own = _Node(child.tag, [part for part in child.children if isinstance(part, str) or part.tag not in _LISTS])
        words = own.words()
        if words:
            yield " " * indent + _item(words, number, ordered=node.tag == "ordered_list")
        for inner in child.inner():
            if inner.tag in _LISTS:
                yield from _items(inner, indent=indent + 2)


def _item(words: str, number: int, *, ordered: bool) -> str:
    if ordered:
        return words if _NUMBER.match(words) else f"{number}. {words}"
    return f"- {_BULLET.sub('', words)}"


def _language(node: _Node) -> str:
    return "" if node.language.casefold() in {"unknown", "text"} else node.language.casefold()


def _table(node: _Node) -> str:
    captions: list[str] = []
    cells: list[Cell] = []
    for child in node.children:
        if isinstance(child, str):
            if cells:
                kind, text = cells[-1]
                cells[-1] = kind, text + child
        elif child.tag in CELLS:
            cells.append((child.tag, ""))
        elif child.tag == "caption":
            captions.append(child.words())
        elif cells:  # an element inside a cell
            kind, text = cells[-1]
            cells[-1] = kind, f"{text} {child.words()}"
    table = table_html(cells) or " ".join(child.strip() for child in node.children if isinstance(child, str))
    return "\n\n".join(part for part in (*captions, table) if part)
