"""A document as a PDF that can be searched: itself, and its lines as invisible text. Runs in rendering processes only."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from pdfocr_core.rendering.image import count_frames, full_frame, needs_no_change, open_image
from pdfocr_core.rendering.invisible import InvisibleText
from pdfocr_core.rendering.model import LinesOfPage, RenderOptions, SearchablePdf
from pdfocr_core.rendering.pdf_document import load_pdf
from pdfocr_core.rendering.textlayer import read_text_layer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["make_searchable"]

_POINTS_PER_INCH = 72.0
# What a picture says of its resolution, where that can be meant (72 is written where nothing is known); else the usual.
_SOUND_DPI = (75.0, 2400.0)
_USUAL_DPI = 150.0
_LONGEST_PAGE = 14_400.0  # points; PDF readers take no larger page


def make_searchable(
    path: Path,
    kind: str,
    password: str | None,
    pages: Mapping[int, LinesOfPage],
    options: RenderOptions,
) -> Iterator[SearchablePdf | None]:
    """Yields None whenever a page is done, and at last the PDF.

    Pages with sound text of their own keep it and get no other: every word would be found twice.

    Args:
        path: the file.
        kind: `pdf` or `image`.
        password: that opens it.
        pages: the lines, by page.
        options: what a picture may measure.

    Raises:
        DocumentError: it does not open, or cannot be written.
    """
    texts = (line.text for page in pages.values() for line in page.lines)
    if kind == "pdf":
        document = load_pdf(path, password)
    else:
        document = pdfium.PdfDocument.new()
        yield from _paint_pages(document, path, options)
    try:
        font = InvisibleText(document, texts)
        written, own_text = [], []
        for number, lines in sorted(pages.items()):
            page = _page_of(document, number)
            if page is not None:
                if kind == "pdf" and read_text_layer(document, page).sound:
                    own_text.append(number)
                elif font.write(page, lines.lines, lines.rotation):
                    written.append(number)
                page.close()
            yield None
        font.close()
        data = io.BytesIO()
        document.save(data)
        yield SearchablePdf(data.getvalue(), tuple(written), tuple(own_text))
    finally:
        document.close()


def _page_of(document: Any, number: int) -> Any:
    try:
        return document[number - 1]
    except (pdfium.PdfiumError, IndexError):
        return None


def _paint_pages(document: Any, path: Path, options: RenderOptions) -> Iterator[None]:
    """A page for each frame of a picture; a JPEG that needs no change goes in as it is."""
    with open_image(path) as image:
        for number in range(1, count_frames(image) + 1):
            drawn = pdfium.PdfImage.new(document)
            if needs_no_change(image):
                width, height = image.size
                drawn.load_jpeg(path, inline=True)
            else:
                pixels = full_frame(path, image, number, options)
                height, width = pixels.shape[:2]
                drawn.set_bitmap(_bitmap(pixels))
            points = _page_size(width, height, image.info.get("dpi"))
            page = document.new_page(*points)
            drawn.set_matrix(pdfium.PdfMatrix().scale(*points))
            page.insert_obj(drawn)
            page.gen_content()
            page.close()
            yield None


def _bitmap(pixels: NDArray[np.uint8]) -> Any:
    height, width = pixels.shape[:2]
    if pixels.ndim == 2:
        bitmap = pdfium.PdfBitmap.new_native(width, height, pdfium_c.FPDFBitmap_Gray)
        target = bitmap.to_numpy()
        target[:] = pixels.reshape(target.shape)
    else:
        bitmap = pdfium.PdfBitmap.new_native(width, height, pdfium_c.FPDFBitmap_BGR)
        bitmap.to_numpy()[:] = pixels[:, :, ::-1]
    return bitmap


def _page_size(width: int, height: int, said: Any) -> tuple[float, float]:
    try:
        dpi = tuple(float(value) for value in said)
    except (TypeError, ValueError):
        dpi = ()
    low, high = _SOUND_DPI
    if len(dpi) != 2 or not all(math.isfinite(value) and low <= value <= high for value in dpi):
        dpi = (_USUAL_DPI, _USUAL_DPI)
    across, down = width * _POINTS_PER_INCH / dpi[0], height * _POINTS_PER_INCH / dpi[1]
    shrink = min(1.0, _LONGEST_PAGE / max(across, down))
    return across * shrink, down * shrink
