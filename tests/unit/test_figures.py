"""Figures: found on pages, cut at print resolution, written beside the Markdown that points at them."""

from __future__ import annotations

import asyncio
import base64
import io
from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from pdfocr_core.documents import Document
from pdfocr_core.errors import PageError
from pdfocr_core.outputs.assemble import write_markdown
from pdfocr_core.outputs.figures import FigureCutter, figure_folder, figures_in, without_figures
from pdfocr_core.records import Box, Method, PageRecord, PageStatus
from pdfocr_core.rendering.model import RenderedPage
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import IndexSettings, MarkdownSettings, ReadSettings, RenderSettings
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.index import update_index
from pdfocr_core.workspace import Workspace, line_of, open_workspace

RED, BLUE = (200, 20, 20), (20, 20, 200)


def picture(colour: tuple[int, int, int], size: tuple[int, int] = (60, 40)) -> ImageReader:
    data = io.BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return ImageReader(data)


def write_figures(path: Path, *, rotate: int = 0) -> Path:
    """A page of 400 × 500 points with a red figure, two blue strips that touch, and an ornament."""
    canvas = Canvas(str(path), pagesize=(400, 500), invariant=1)
    canvas.setPageRotation(rotate)
    canvas.drawString(40, 470, "Words above the figures")
    canvas.drawImage(picture(RED), 40, 300, 200, 100)
    canvas.drawImage(picture(BLUE), 40, 100, 200, 50)
    canvas.drawImage(picture(BLUE), 40, 150, 200, 50)
    canvas.drawImage(picture(RED, (8, 8)), 350, 450, 10, 10)
    canvas.showPage()
    canvas.drawImage(picture(BLUE), 0, 0, 400, 500)
    canvas.showPage()
    canvas.save()
    return path


def drawn(path: Path, **options: object) -> list[RenderedPage]:
    async def draw() -> list[RenderedPage | PageError]:
        with RenderPool(RenderSettings(workers=1)) as pool:
            return await pool.render(path, "pdf", [1, 2], **options)

    pages = asyncio.run(draw())
    assert all(isinstance(page, RenderedPage) for page in pages)
    return pages


def test_pictures_are_found_joined_and_neither_scans_nor_ornaments(tmp_path: Path) -> None:
    first, scan = drawn(write_figures(tmp_path / "a.pdf"), want_figures=True)
    assert [[round(value, 3) for value in figure] for figure in first.figures] == [
        [0.1, 0.2, 0.6, 0.4],
        [0.1, 0.6, 0.6, 0.8],
    ]
    assert scan.figures == ()


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_a_found_figure_is_where_it_is_cut(tmp_path: Path, rotate: int) -> None:
    path = write_figures(tmp_path / "a.pdf", rotate=rotate)
    figures = drawn(path, want_figures=True)[0].figures
    page = drawn(path, crops=figures, dpi=144, longest_side=6000, image_format="png")[0]
    sizes = {Image.open(io.BytesIO(base64.b64decode(crop))).size for crop in page.crops}
    assert sizes == ({(400, 200)} if rotate in (0, 180) else {(200, 400)})  # 200 × 100 points at twice 72
    middles = []
    for crop in page.crops:
        image = Image.open(io.BytesIO(base64.b64decode(crop))).convert("RGB")
        assert len(image.getcolors(maxcolors=1000) or []) < 20  # the figure and hardly anything of what is around it
        middles.append(image.getpixel((image.width // 2, image.height // 2)))
    assert sorted(middles) == [BLUE, RED]


def test_crops_are_clamped_turned_and_limited(tmp_path: Path) -> None:
    path = write_figures(tmp_path / "a.pdf")
    whole, sliver = drawn(path, crops=[(-1, -1, 2, 2), (1, 1, 1, 1)], dpi=720, longest_side=1000)[0].crops
    assert Image.open(io.BytesIO(base64.b64decode(whole))).size == (800, 1000)
    assert Image.open(io.BytesIO(base64.b64decode(sliver))).size == (1, 1)
    (turned,) = drawn(path, crops=[(0, 0, 1, 0.5)], dpi=72, longest_side=1000, rotation=90)[0].crops
    assert Image.open(io.BytesIO(base64.b64decode(turned))).size == (500, 200)


class Place:
    def __init__(self, folder: Path, text: str, boxes: list[Box]) -> None:
        (folder / "sources").mkdir()
        write_figures(folder / "sources" / "a b.pdf")
        self.workspace: Workspace = open_workspace(str(folder / "workspace"))
        update_index(self.workspace, [str(folder / "sources")], IndexSettings(count_pages=False))
        (self.key,) = self.workspace.group_keys()
        self.document: Document = self.workspace.read_manifest(self.key).documents[0]
        common = {"document_id": self.document.document_id, "content_id": self._content_id(), "engine_id": "e"}
        page = PageRecord(
            page=1,
            status=PageStatus.OK,
            text=text,
            method=Method.MODEL,
            boxes=boxes,
            image_width=400,
            image_height=500,
            **common,
        )
        line = line_of(page)
        self.workspace.commit_pages(self.key, [line], len(line))
        metadata = {"Source-File": self.document.url}
        spans = {"pdf_page_numbers": [[0, len(text), 1]]}
        record = {"id": self.document.document_id, "text": text, "metadata": metadata, "attributes": spans}
        import json

        self.workspace.write_results(self.key, json.dumps(record).encode() + b"\n")
        self.markdown = folder / "workspace" / "markdown" / "sources" / "a b.pdf.md"

    def _content_id(self) -> str:
        import hashlib

        return hashlib.sha256(Path(self.document.url).read_bytes()).hexdigest()

    def write(self) -> str:
        settings = ReadSettings(markdown=MarkdownSettings(figures=True, figure_dpi=72))
        with RenderPool(RenderSettings(workers=1)) as pool, Fetcher() as fetcher:
            cutter = FigureCutter(self.workspace, pool, fetcher, settings)
            write_markdown(self.workspace, self.key, settings.markdown, cutter)
        return self.markdown.read_text()


RED_BOX = Box(label="figure", x0=0.1, y0=0.2, x1=0.6, y1=0.4)
BLUE_BOX = Box(label="Picture", x0=0.1, y0=0.6, x1=0.6, y1=0.8)


def test_markdown_points_at_the_figures_where_the_model_named_them(tmp_path: Path) -> None:
    text = "Above.\n\n![A red field](page_40_100_200_100.png)\n\nBelow.\n\n![gone](page_9_9_0_0.png)"
    place = Place(tmp_path, text, [RED_BOX, BLUE_BOX, Box(label="Text", x0=0, y0=0, x1=1, y1=0.1)])
    assert place.write() == (
        "Above.\n\n![A red field](a%20b.pdf.figures/p1-1.png)\n\nBelow.\n\n![gone](page_9_9_0_0.png)\n\n"
        "![Picture 2](a%20b.pdf.figures/p1-2.png)\n"
    )
    folder = place.markdown.parent / "a b.pdf.figures"
    assert {path.name: Image.open(path).size for path in folder.iterdir()} == {
        "p1-1.png": (200, 100),
        "p1-2.png": (200, 100),
    }
    assert Image.open(folder / "p1-1.png").convert("RGB").getpixel((100, 50)) == RED
    assert without_figures(place.markdown.read_text()) == without_figures(text)


def test_a_source_that_is_gone_costs_its_figures_and_no_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path, "Words.", [RED_BOX])
    Path(place.document.url).unlink()
    assert place.write() == "Words.\n"
    assert "no figures of" in caplog.text


def test_what_counts_as_a_figure() -> None:
    page = {"document_id": "d", "content_id": "c", "page": 1, "status": "ok", "method": "model", "engine_id": "e"}
    boxes = [RED_BOX, Box(label="table", x0=0, y0=0, x1=1, y1=1), BLUE_BOX]
    assert figures_in(PageRecord(**page, boxes=boxes)) == [RED_BOX, BLUE_BOX]
    assert figures_in(PageRecord(**page, boxes=boxes, flags=["padded"])) == []
    assert figure_folder("docs/a.pdf.md") == "docs/a.pdf.figures"
