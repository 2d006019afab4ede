"""Text with regions marked in it: DeepSeek's pairs, Unlimited-OCR's headers, LightOnOCR's labels."""

from __future__ import annotations

import re

from pdfocr_core.engines.boxes import Picture, box_of, numbers_in
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.errors import PageError, Reason
from pdfocr_core.records import Box

__all__ = ["det_blocks", "grounding", "labelled_boxes"]

_PAIR = re.compile(r"<\|ref\|>(.*?)<\|/ref\|>[ \t]*(?:<\|det\|>(.*?)<\|/det\|>)?[ \t]*\n?", re.DOTALL)
_LONE = re.compile(r"<\|det\|>\s*(\[[^|]*?\])\s*<\|/det\|>[ \t]*\n?")
_LIST = re.compile(r"\[[^\[\]]*\]")
_PLACE = r"[ \t]*(\[[\d.,\s-]*\])"
_KIND = r"([A-Za-z_][\w-]*)"
# One of the two marks may be missing.
_HEADER = re.compile(rf"(?:<\|det\|>)?[ \t]*{_KIND}?{_PLACE}[ \t]*<\|/det\|>|<\|det\|>[ \t]*{_KIND}{_PLACE}")
_REF = re.compile(r"<\|ref\|>(.*?)<\|/ref\|>", re.DOTALL)
_MARKUP = re.compile(r"<[|\uff5c]/?\w[^<>|\n]{0,38}[|\uff5c]>")
_LABELLED = re.compile(r"!\[([A-Za-z][\w -]*\+?)\]\((\d+(?:\.\d+)?(?:\s*,\s*\d+(?:\.\d+)?){3})\)[ \t]*")
# What stands in a pair is a kind of region when the page was asked for as Markdown, and the text itself when asked for as
# lines; these are the kinds.
_KINDS = frozenset(
    {
        *(
            "title",
            "sub_title",
            "subtitle",
            "text",
            "paragraph",
            "abstract",
            "list",
            "reference",
            "aside",
            "index",
            "toc",
        ),
        *("image", "figure", "chart", "seal", "stamp", "signature", "table", "code"),
        *("caption", "image_caption", "figure_caption", "table_caption", "figure_title", "table_title"),
        *(
            "footnote",
            "image_footnote",
            "table_footnote",
            "header",
            "footer",
            "page_header",
            "page_footer",
            "page_number",
        ),
        *("equation", "formula", "interline_equation", "inline_equation"),
    }
)


def grounding(page: ParsedPage, picture: Picture) -> ParsedPage:
    """Without DeepSeek's `<|ref|>` and `<|det|>` spans; their places are kept as boxes.

    Raises:
        PageError: markup is left, so the answer has another form.
    """
    boxes: list[Box] = []

    def take(match: re.Match[str]) -> str:
        named = match[1].strip()
        kind = named.casefold()
        known = kind in _KINDS
        for corners in _LIST.findall(match[2] or ""):
            _add(boxes, kind if known else "text", numbers_in(corners), picture)
        return "" if known else f"{named}\n"

    def place(match: re.Match[str]) -> str:
        for corners in _LIST.findall(match[1]):
            _add(boxes, "text", numbers_in(corners), picture)
        return ""

    text = _LONE.sub(place, _PAIR.sub(take, page.text))
    return _finish(page, text, boxes)


def det_blocks(page: ParsedPage, picture: Picture) -> ParsedPage:
    """Unlimited-OCR's blocks: each headed by its kind and place; what is said of images is left out.

    Raises:
        PageError: markup is left, so the answer has another form.
    """
    text = _REF.sub(r"\1", page.text.replace("<PAGE>", "\n"))
    boxes: list[Box] = []
    parts: list[str] = []
    kind, at = "", 0
    for match in _HEADER.finditer(text):
        parts.append("" if kind == "image" else text[at : match.start()].strip())
        kind, at = (match[1] or match[3] or "text").casefold(), match.end()
        _add(boxes, kind, numbers_in(match[2] or match[4]), picture)
    parts.append("" if kind == "image" else text[at:].strip())
    body = "\n\n".join(part for part in parts if part)
    return _finish(page, re.sub(r"<\|/?det\|>", "", body), boxes)


def labelled_boxes(page: ParsedPage, picture: Picture) -> ParsedPage:
    """LightOnOCR's `![label](x1,y1,x2,y2)` before each region's text; `label+` goes on with the region before."""
    boxes: list[Box] = []

    def take(match: re.Match[str]) -> str:
        _add(boxes, match[1].rstrip("+").strip(), numbers_in(match[2]), picture)
        return ""

    text = _LABELLED.sub(take, page.text)
    return page.but(text=re.sub(r"\n{3,}", "\n\n", text).strip(), boxes=(*page.boxes, *boxes))


def _finish(page: ParsedPage, text: str, boxes: list[Box]) -> ParsedPage:
    left = _MARKUP.search(text)
    if left is not None:
        raise PageError(Reason.BAD_FRONT_MATTER, f"markup is left in the answer: {left[0]!r}")
    return page.but(text=re.sub(r"\n{3,}", "\n\n", text).strip(), boxes=(*page.boxes, *boxes))


def _add(boxes: list[Box], label: str, corners: list[float], picture: Picture) -> None:
    box = box_of(label, corners, picture)
    if box is not None:
        boxes.append(box)
