"""PDF pages as pictures, with PDFium. Runs in rendering processes only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from pdfocr_core.errors import Reason
from pdfocr_core.rendering.blank import is_blank
from pdfocr_core.rendering.figures_on_page import figures_on
from pdfocr_core.rendering.finish import finish_page, fit, guarded
from pdfocr_core.rendering.model import Failure, RenderedPage, RenderOptions, TextLayerText
from pdfocr_core.rendering.pdf_document import load_pdf
from pdfocr_core.rendering.textlayer import has_letters, read_text_layer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["render_pdf_pages"]

# Pages of a few points are stamps and mistakes; enlarging them to a full picture shows nothing more.
MAX_SCALE = 10.0
# With fewer pixels to an inch, print of the usual size is lost: the page is larger than the budget of pixels is meant for.
LEAST_DPI = 40.0
_POINTS_PER_INCH = 72.0


def render_pdf_pages(
    path: Path, password: str | None, pages: Sequence[int], options: RenderOptions
) -> Iterator[RenderedPage | Failure | None]:
    """Opens the PDF once, yields None when that is done, then one result for each page in turn.

    Raises:
        DocumentError: it does not open.
    """
    document = load_pdf(path, password)
    try:
        yield None
        for number in pages:
            yield guarded(_render_one, document, number, options)
    finally:
        document.close()


def _render_one(document: Any, number: int, options: RenderOptions) -> RenderedPage | Failure:
    try:
        page = document[number - 1]
    except (pdfium.PdfiumError, IndexError) as error:
        return Failure(Reason.PAGE_UNREADABLE, f"Page {number}: {error}")
    try:
        width, height = page.get_size()
        # Written so that a size that is no number is refused too.
        if not (width > 0 and height > 0):
            return Failure(Reason.PAGE_UNREADABLE, f"Page {number} measures {width} × {height} points.")
        size = fit(width, height, _longest_side(width, height, options), MAX_SCALE)
        pixels = _draw(document, page, size)
        blank = is_blank(pixels)
        text, flags = _text_of(document, page, options, blank=blank)
        if max(size) * _POINTS_PER_INCH < LEAST_DPI * max(width, height):
            flags = (*flags, "downscaled")
        figures = figures_on(page) if options.want_figures else ()
        return finish_page(number, pixels, options, flags=flags, text=text, blank=blank, figures=figures)
    finally:
        page.close()


def _longest_side(width: float, height: float, options: RenderOptions) -> int:
    if options.dpi is None:
        return options.longest_side
    at_dpi = max(width, height) / _POINTS_PER_INCH * options.dpi
    return options.longest_side if at_dpi >= options.longest_side else max(round(at_dpi), 1)


def _draw(document: Any, page: Any, size: tuple[int, int]) -> NDArray[np.uint8]:
    width, height = size
    bitmap = pdfium.PdfBitmap.new_native(width, height, pdfium_c.FPDFBitmap_BGRx, rev_byteorder=True)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    flags = pdfium_c.FPDF_ANNOT | pdfium_c.FPDF_REVERSE_BYTE_ORDER
    where = (0, 0, width, height, 0, flags)
    pdfium_c.FPDF_RenderPageBitmap(bitmap.raw, page.raw, *where)
    if document.formenv:
        pdfium_c.FPDF_FFLDraw(document.formenv.raw, bitmap.raw, page.raw, *where)
    # The array shares the bitmap's memory and keeps it alive.
    pixels: NDArray[np.uint8] = bitmap.to_numpy()
    return pixels


def _text_of(
    document: Any, page: Any, options: RenderOptions, *, blank: bool
) -> tuple[TextLayerText | None, tuple[str, ...]]:
    """The text layer where it is wanted or where a blank picture must be doubted, and the remarks that follow."""
    if not options.want_text and not (blank and has_letters(page)):
        return None, ()
    text = read_text_layer(document, page, want_lines=options.want_lines, keep_margins=options.keep_margins)
    # Letters over a white scan are an old OCR's guess; letters over nothing should have been seen.
    lost = blank and text.characters > 0 and text.image_share == 0.0
    return text, ("blank_render",) if lost else ()
