"""Opening a document: its content id, what it is, how many pages, what to remark. Runs in rendering processes only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.rendering import detect
from pdfocr_core.rendering.model import OpenedDocument, OpenLimits

__all__ = ["count_pages", "open_document"]

_HEAD = 4096
# A file that is long but only white space is as empty as one without bytes; no need to read a huge one to its end.
_WHITESPACE_WINDOW = 1 << 20


def open_document(path: Path, passwords: Sequence[str], limits: OpenLimits) -> OpenedDocument:
    """Hashes and opens a file.

    Raises:
        DocumentError: it is not a document that can be read, with the reason.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > limits.max_bytes:
                raise DocumentError(
                    Reason.TOO_MANY_BYTES, f"The file has {size} bytes, allowed are {limits.max_bytes}."
                )
            head = file.read(_HEAD)
            if not head.strip() and not file.read(_WHITESPACE_WINDOW).strip():
                raise DocumentError(Reason.EMPTY_FILE, f"The file has {size} bytes and nothing in them.")
            file.seek(0)
            content_id = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise DocumentError(Reason.SOURCE_MISSING, "The file is gone.") from None
    except OSError as error:
        raise DocumentError(Reason.SOURCE_UNREADABLE, f"{error.strerror or error}.") from error
    if detect.image_format_of(head):
        return _open_image(path, content_id, limits)
    unsupported = detect.unsupported_image(head)
    if unsupported:
        raise DocumentError(Reason.UNSUPPORTED_IMAGE, f"This is {unsupported}, which is not read.")
    if detect.pdf_header_offset(head) is None:
        raise DocumentError(Reason.NOT_A_PDF, f"There is no PDF header; this looks like {detect.describe(head)}.")
    return _open_pdf(path, content_id, size, passwords, limits)


def _open_pdf(path: Path, content_id: str, size: int, passwords: Sequence[str], limits: OpenLimits) -> OpenedDocument:
    from pdfocr_core.rendering.pdf_document import document_flags, load_pdf_with_any, mended_page_count

    document, index = load_pdf_with_any(path, passwords)
    try:
        pages, mended = mended_page_count(document, size)
        _check_pages(pages, limits)
        flags = document_flags(document, path, password_used=index is not None)
    finally:
        document.close()
    return OpenedDocument(content_id, "pdf", pages, (*flags, "page_count_mended") if mended else flags, index)


def _open_image(path: Path, content_id: str, limits: OpenLimits) -> OpenedDocument:
    from pdfocr_core.rendering.image import check_size, count_frames, open_image

    with open_image(path) as image:
        check_size(image, limits.max_image_pixels, limits.max_decoded_bytes)
        frames = count_frames(image)
    _check_pages(frames, limits)
    return OpenedDocument(content_id, "image", frames)


def _check_pages(pages: int, limits: OpenLimits) -> None:
    if pages > limits.max_pages:
        raise DocumentError(Reason.TOO_MANY_PAGES, f"The document has {pages} pages, allowed are {limits.max_pages}.")


def count_pages(path: Path) -> int | None:
    """The number of pages, without hashing; None for what does not open without a password."""
    from pdfocr_core.rendering.image import count_frames, open_image
    from pdfocr_core.rendering.pdf_document import load_pdf, mended_page_count

    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            size = os.fstat(file.fileno()).st_size
        if detect.image_format_of(head):
            with open_image(path) as image:
                return count_frames(image)
        if detect.pdf_header_offset(head) is None:
            return None
        document = load_pdf(path, None)
    except (DocumentError, OSError):
        return None
    try:
        return mended_page_count(document, size)[0]
    finally:
        document.close()
