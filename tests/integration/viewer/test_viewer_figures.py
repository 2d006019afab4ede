"""Figures that were cut out, and lines with their places, in a real browser: served and exported."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from pdfocr_core.documents import Document
from pdfocr_core.records import Box, TextLine
from pdfocr_core.viewer.export import export
from pdfocr_core.workspace import Workspace, open_workspace
from tests.documents import write_pdf
from tests.integration.viewer.conftest import Watched, picture_is_drawn, places, serving
from tests.viewer_workspace import commit, local, page

SIZE = (330, 70)


def made(folder: Path) -> tuple[Workspace, Document]:
    """Page 1 names its figure, page 2 does not, and of page 3's two figures one has a file."""
    workspace = open_workspace(str(folder / "workspace"))
    document = local(write_pdf(folder / "in" / "waves & <b>.pdf", ["one", "two", "three"]))
    box = Box(label="figure", x0=0.1, y0=0.1, x1=0.6, y1=0.45)
    lines = [TextLine("sure", 1000, 2500, 3000, 3500, 99), TextLine("<b>unsure", 1000, 4000, 3000, 4500, 61)]
    named = "Before. ![The level](page_100_100_400_300.png) After."
    pages = [
        page(document, 1, named, boxes=[box], lines=lines, confidence=0.8),
        page(document, 2, "Words alone.", boxes=[box.model_copy(update={"label": "image"})]),
        page(document, 3, "Two figures.", boxes=[box, box]),
    ]
    commit(workspace, [(document, None, pages)])
    data = io.BytesIO()
    Image.new("RGB", SIZE, "teal").save(data, "PNG")
    for name in ("p1-1", "p2-1", "p3-2"):
        workspace.store.write(f"markdown/in/waves & <b>.pdf.figures/{name}.png", data.getvalue())
    return workspace, document


def check(tab: Page, address: str, document: Document) -> None:
    for number in (1, 2, 3):
        tab.goto(f"{address}#/{document.document_id}/{number}")
        expect(tab.locator(".strip [aria-current]")).to_have_text(str(number))
        figure = tab.locator(".prose img.figure-file")
        expect(figure).to_have_count(1)
        figure.scroll_into_view_if_needed()
        expect(figure).to_have_js_property("naturalWidth", SIZE[0])
    tab.goto(f"{address}#/{document.document_id}/1")
    expect(tab.locator(".prose")).to_contain_text("Before.")
    expect(tab.locator(".prose figcaption")).to_have_text(["The level"])
    marks = tab.locator(".box.line")
    expect(marks).to_have_count(2)
    expect(tab.locator(".box.line.unsure")).to_have_attribute("title", "<b>unsure (61 %)")
    expect(tab.get_by_role("button", name="Boxes (3)")).to_be_visible()
    expect(tab.locator(".outcome")).to_contain_text("confidence 80 %")
    picture_is_drawn(tab)
    sheet, mark = places(tab, ".sheet", ".box.line")
    assert abs((mark["x"] - sheet["x"]) / sheet["width"] - 0.1) < 0.01
    assert abs((mark["y"] - sheet["y"]) / sheet["height"] - 0.25) < 0.01


def test_figures_and_lines_are_shown_by_the_server(watched: Watched, tmp_path: Path) -> None:
    workspace, document = made(tmp_path)
    with serving(workspace) as address:
        tab = watched.open(address)
        check(tab, address, document)
        tab.get_by_label("Low confidence only").check()
        expect(tab.locator("#list a")).to_have_count(1)
        answer = tab.request.get(f"{address}api/documents/{document.document_id}/pages/3/figures/1")
        assert answer.status == 404
    assert not watched.complaints


def test_figures_and_lines_are_part_of_an_export(watched: Watched, tmp_path: Path) -> None:
    workspace, document = made(tmp_path)
    with ThreadPoolExecutor() as pool:  # the browser's driver has this thread's event loop
        assert pool.submit(export, workspace, tmp_path / "out").result() == 1
    address = (tmp_path / "out" / "index.html").as_uri()
    check(watched.open(address), address, document)
    assert not watched.complaints
