"""Figures that models name by a picture file whose name carries the place on the page."""

from __future__ import annotations

import re

from pdfocr_core.engines.boxes import Picture, box_of
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.records import Box

__all__ = ["drop_figure_images", "figure_boxes"]

_OVIS = re.compile(r"[ \t]*<img\b[^>]*\bsrc=[\"']?images/bbox_(\d+)_(\d+)_(\d+)_(\d+)[^>]*>(?:[ \t]*</img>)?[ \t]*\n?")
_OLMOCR = re.compile(r"!\[[^\]\n]*\]\(page_(\d+)_(\d+)_(\d+)_(\d+)(?:\.\w+)?\)")


def drop_figure_images(page: ParsedPage, picture: Picture) -> ParsedPage:
    """Without the picture tags that Ovis writes for figures; their places are kept as boxes."""
    boxes: list[Box] = []

    def keep(match: re.Match[str]) -> str:
        _add(boxes, "figure", [float(number) for number in match.groups()], picture)
        return ""

    text = _OVIS.sub(keep, page.text)
    return page.but(text=_closed_up(text), boxes=(*page.boxes, *boxes)) if text != page.text else page


def figure_boxes(page: ParsedPage, picture: Picture) -> ParsedPage:
    """The places of the figures that olmOCR names as x, y, width and height; the text keeps its figures."""
    boxes: list[Box] = []
    for match in _OLMOCR.finditer(page.text):
        x, y, width, height = (float(number) for number in match.groups())
        _add(boxes, "figure", [x, y, x + width, y + height], picture)
    return page.but(boxes=(*page.boxes, *boxes)) if boxes else page


def _add(boxes: list[Box], label: str, corners: list[float], picture: Picture) -> None:
    box = box_of(label, corners, picture)
    if box is not None:
        boxes.append(box)


def _closed_up(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip()
