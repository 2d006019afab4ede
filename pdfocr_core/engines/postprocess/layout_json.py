"""The layout lists of the dots models: a JSON list of regions in reading order, each with place, category and text."""

from __future__ import annotations

import json
import re
from typing import Any

from pdfocr_core.engines.boxes import Picture, box_of
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.errors import PageError, Reason
from pdfocr_core.records import Box

__all__ = ["layout_json"]

_HEADINGS = {"title": "# ", "section-header": "## ", "section_header": "## "}
_FORMULAS = {"formula", "equation"}
_PICTURES = {"picture", "figure", "image"}
_DELIMITED = re.compile(r"\A(?:\$|\\\[|\\\(|\\begin\{)")


def layout_json(page: ParsedPage, picture: Picture) -> ParsedPage:
    """Markdown of the regions in the order given, and their boxes.

    Raises:
        PageError: the answer is not such a list.
    """
    parts: list[str] = []
    boxes: list[Box] = []
    for region in _regions(page.text):
        label = str(region.get("category") or region.get("label") or region.get("type") or "Text")
        corners = region.get("bbox")
        if isinstance(corners, list) and all(isinstance(value, int | float) for value in corners):
            box = box_of(label, corners, picture)
            if box is not None:
                boxes.append(box)
        text = _markdown(label.casefold(), str(region.get("text") or "").strip())
        if text:
            parts.append(text)
    return page.but(text="\n\n".join(parts), boxes=(*page.boxes, *boxes))


def _regions(text: str) -> list[dict[str, Any]]:
    start = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    try:
        data, _ = json.JSONDecoder(strict=False).raw_decode(text, max(0, start))
    except (ValueError, RecursionError) as error:
        raise PageError(Reason.BAD_FRONT_MATTER, f"not a layout list: {error}") from error
    if isinstance(data, dict):
        data = next((value for value in data.values() if isinstance(value, list)), [data])
    if not isinstance(data, list) or not all(isinstance(region, dict) for region in data):
        raise PageError(Reason.BAD_FRONT_MATTER, "not a layout list: its entries are not objects")
    if data and not any("bbox" in region or "text" in region for region in data):
        raise PageError(Reason.BAD_FRONT_MATTER, "not a layout list: its entries have neither bbox nor text")
    return data


def _markdown(label: str, text: str) -> str:
    if not text or label in _PICTURES:
        return ""
    if label in _HEADINGS and not text.startswith("#"):
        return _HEADINGS[label] + " ".join(text.split())
    if label in _FORMULAS and not _DELIMITED.match(text):
        return f"$$\n{text}\n$$"
    return text
