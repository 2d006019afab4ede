"""hOCR: the lines of a document with their places, as XHTML that other tools for OCR read.

One file for each document, one `ocr_page` for each page that has a record, one `ocr_line` for each line. Boxes count the
pixels of the picture that was read; `x_wconf` is the line's score in hundredths.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

from pdfocr_core import __version__
from pdfocr_core.layout.model import is_right_to_left
from pdfocr_core.outputs.with_lines import Folder, Written, documents_with_pages, new_folder
from pdfocr_core.records import LINE_SPACE, PageRecord, StatusRow, TextLine
from pdfocr_core.workspace import Workspace

__all__ = ["hocr_document", "write_hocr"]

_DOCTYPE = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n'
)
# What XML cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_hocr(workspace: Workspace, root: Path, on_document: Callable[[int], None] = lambda _done: None) -> Written:
    """Write an hOCR file for each document with lines into a new folder; `on_document` is told how many are done.

    Raises:
        ConfigurationError: the folder is not empty, or no page has lines.
    """
    new_folder(root)
    folder, written = Folder(root, workspace, ".hocr"), Written()
    for row, pages in documents_with_pages(workspace):
        lined = written.count(pages)
        if lined:
            folder.write(row, hocr_document(row, pages))
            written.documents += 1
            written.pages += len(lined)
            on_document(written.documents)
    written.check()
    return written


def hocr_document(row: StatusRow, pages: list[PageRecord]) -> bytes:
    """One document as hOCR."""
    html = ET.Element("html", {"xmlns": "http://www.w3.org/1999/xhtml"})
    head = ET.SubElement(html, "head")
    ET.SubElement(head, "title").text = _clean(row.url)
    for name, content in (
        ("ocr-system", f"pdfocr {__version__}"),
        ("ocr-capabilities", "ocr_page ocr_line ocrp_wconf"),
        ("ocr-number-of-pages", str(len(pages))),
    ):
        ET.SubElement(head, "meta", {"name": name, "content": content})
    body = ET.SubElement(html, "body")
    for page in pages:
        _add_page(body, page, row.url)
    ET.indent(html)
    return (_DOCTYPE + ET.tostring(html, encoding="unicode") + "\n").encode()


def _add_page(body: ET.Element, page: PageRecord, url: str) -> None:
    image = _clean(url).replace("\\", "\\\\").replace('"', '\\"')
    title = f'image "{image}"; bbox 0 0 {page.image_width} {page.image_height}; ppageno {page.page - 1}'
    about = {"class": "ocr_page", "id": f"page_{page.page}", "title": title}
    if page.language:
        about["lang"] = about["xml:lang"] = _clean(page.language)
    element = ET.SubElement(body, "div", about)
    for number, line in enumerate(page.lines or (), start=1):
        _add_line(element, line, f"line_{page.page}_{number}", page)


def _add_line(parent: ET.Element, line: TextLine, name: str, page: PageRecord) -> None:
    across, down = page.image_width / LINE_SPACE, page.image_height / LINE_SPACE
    box = (line.x0 * across, line.y0 * down, line.x1 * across, line.y1 * down)
    title = f"bbox {' '.join(str(round(value)) for value in box)}; x_wconf {line.score}"
    about = {"class": "ocr_line", "id": name, "title": title}
    if is_right_to_left(line.text):
        about["dir"] = "rtl"
    ET.SubElement(parent, "span", about).text = _clean(line.text)


def _clean(text: str) -> str:
    return _NOT_XML.sub("", text)
