"""What filters look at in a PDF: the text of its first pages, and whether it is a form. Runs in rendering processes only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from pdfocr_core.rendering.model import DocumentSample
from pdfocr_core.rendering.pdf_document import load_pdf
from pdfocr_core.rendering.plausible import why_unsound

__all__ = ["sample_pdf"]

# Languages and kinds of text show in far less; what crosses to the run stays small.
_MOST_CHARACTERS = 200_000
# A form shows on its first pages, but nothing says on which; a book of ten thousand pages is not searched to its end.
_MOST_FORM_PAGES = 500


def sample_pdf(path: Path, password: str | None, pages: int, *, want_form: bool) -> DocumentSample:
    """Looks at a PDF.

    Args:
        path: the file.
        password: that opens it.
        pages: how many first pages give their text; 0 for none.
        want_form: whether to look for text fields.

    Raises:
        DocumentError: it does not open.
    """
    document = load_pdf(path, password)
    try:
        text = _text(document, pages)
        # Fonts with a wrong table of characters give text that is taken for a rare language.
        return DocumentSample("" if why_unsound(text) else text, want_form and _has_text_field(document))
    finally:
        document.close()


def _text(document: Any, pages: int) -> str:
    parts: list[str] = []
    left = _MOST_CHARACTERS
    for index in range(min(pages, len(document))):
        page = _page(document, index)
        if page is None:
            continue
        textpage = page.get_textpage()
        try:
            # Counted in characters of PDFium, of which a page can claim millions.
            parts.append(textpage.get_text_range(0, min(textpage.count_chars(), left))[:left])
        finally:
            textpage.close()
            page.close()
        left -= len(parts[-1])
        if left <= 0:
            break
    return "\n".join(parts)


def _has_text_field(document: Any) -> bool:
    if not document.formenv:
        return False
    for index in range(min(_MOST_FORM_PAGES, len(document))):
        page = _page(document, index)
        if page is None:
            continue
        try:
            if any(_is_text_field(document, page, number) for number in range(_annotations(page))):
                return True
        finally:
            page.close()
    return False


def _page(document: Any, index: int) -> Any:
    """A page, or None for one that cannot be read."""
    try:
        return document[index]
    except (pdfium.PdfiumError, IndexError):
        return None


def _annotations(page: Any) -> int:
    return int(pdfium_c.FPDFPage_GetAnnotCount(page.raw))


def _is_text_field(document: Any, page: Any, number: int) -> bool:
    annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, number)
    if not annotation:
        return False
    try:
        kind = pdfium_c.FPDFAnnot_GetFormFieldType(document.formenv.raw, annotation)
        return bool(kind == pdfium_c.FPDF_FORMFIELD_TEXTFIELD)
    finally:
        pdfium_c.FPDFPage_CloseAnnot(annotation)
