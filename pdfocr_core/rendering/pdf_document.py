"""Opening a PDF with PDFium, and saying plainly why it did not open. Runs in rendering processes only."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.rendering.detect import pdf_header_offset

__all__ = ["document_flags", "load_pdf", "load_pdf_with_any", "mended_page_count"]

# The end marker and the pointer to the cross-reference table stand within this many bytes of the end.
_TAIL = 2048
_STARTXREF = re.compile(rb"startxref\s+(\d+)")
_XREF = re.compile(rb"\s*(?:xref|\d+\s+\d+\s+obj)")
# Below this many pages a wrong page count costs little; above it is compared with what the file can hold.
_FEW_PAGES = 64
_LEAST_BYTES_PER_PAGE = 8
_ALL_PERMISSIONS = 0xFFFFFFFF
_PLACEHOLDER_CHARACTERS = 1500


def load_pdf(path: Path, password: str | None) -> Any:
    """The opened document, with its form ready to be drawn.

    Raises:
        DocumentError: it does not open; `PASSWORD_REQUIRED` also for a wrong password.
    """
    secret = None if password is None else password.encode("utf-8") + b"\0"
    handle = pdfium_c.FPDF_LoadDocument(os.fsencode(path) + b"\0", secret)
    if not handle:
        raise _refusal(path, pdfium_c.FPDF_GetLastError())
    # PDFium counts such a document as loaded and leaves an older error code standing.
    if pdfium_c.FPDF_GetPageCount(handle) < 1:
        pdfium_c.FPDF_CloseDocument(handle)
        raise DocumentError(Reason.NO_PAGES, "The PDF opens, but its page tree is empty or unreadable.")
    document = pdfium.PdfDocument(handle)
    if document.get_formtype() != pdfium_c.FORMTYPE_NONE:
        document.init_forms()
    return document


def load_pdf_with_any(path: Path, passwords: Sequence[str]) -> tuple[Any, int | None]:
    """Opens a PDF without a password or, failing that, with the first of `passwords` that fits."""
    try:
        return load_pdf(path, None), None
    except DocumentError as error:
        if error.reason is not Reason.PASSWORD_REQUIRED:
            raise
    for index, password in enumerate(passwords):
        try:
            return load_pdf(path, password), index
        except DocumentError as error:
            if error.reason is not Reason.PASSWORD_REQUIRED:
                raise
    tried = f"none of the {len(passwords)} passwords fits" if passwords else "no password was given"
    raise DocumentError(Reason.PASSWORD_REQUIRED, f"The PDF is encrypted and {tried}.")


def _refusal(path: Path, code: int) -> DocumentError:
    if code == pdfium_c.FPDF_ERR_PASSWORD:
        return DocumentError(Reason.PASSWORD_REQUIRED, "The PDF is encrypted.")
    if code == pdfium_c.FPDF_ERR_SECURITY:
        return DocumentError(Reason.UNSUPPORTED_ENCRYPTION, "The PDF is encrypted for a certificate or by an add-on.")
    if code == pdfium_c.FPDF_ERR_FILE:
        return DocumentError(Reason.SOURCE_UNREADABLE, "The file cannot be read.")
    head, tail, size = _ends_of(path)
    missing = _missing_end(tail, size)
    if missing:
        return DocumentError(Reason.TRUNCATED, missing)
    if pdf_header_offset(head) is None:
        return DocumentError(Reason.NOT_A_PDF, "There is no PDF header.")
    return DocumentError(
        Reason.CORRUPT_PDF, "There is a PDF header, but no document can be put together from the rest."
    )


def _ends_of(path: Path) -> tuple[bytes, bytes, int]:
    with path.open("rb") as file:
        head = file.read(_TAIL)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        return head, file.read(_TAIL), size


def _missing_end(tail: bytes, size: int) -> str:
    # Some downloads are padded with zeros up to the full size.
    if b"%%EOF" not in tail:
        return f"The file ends after {size} bytes without the end marker of a PDF."
    found = _STARTXREF.findall(tail)
    # A stray marker in the middle of binary data comes without the pointer and says nothing.
    if found and int(found[-1]) > size:
        return f"The file has {size} bytes, but its table of contents should stand at byte {int(found[-1])}."
    return ""


def document_flags(document: Any, path: Path, *, password_used: bool) -> tuple[str, ...]:
    """Remarks on an open document."""
    flags = []
    if _is_repaired(path):
        flags.append("repaired")
    encrypted = pdfium_c.FPDF_GetSecurityHandlerRevision(document.raw) != -1
    if encrypted and not password_used and pdfium_c.FPDF_GetDocPermissions(document.raw) != _ALL_PERMISSIONS:
        flags.append("permissions_restricted")
    form = document.get_formtype()
    if form != pdfium_c.FORMTYPE_NONE:
        flags.append("has_form")
    if form in (pdfium_c.FORMTYPE_XFA_FULL, pdfium_c.FORMTYPE_XFA_FOREGROUND):
        flags.append("xfa")
        if _is_placeholder(document):
            flags.append("xfa_placeholder")
    if document.count_attachments() > 0:
        flags.append("has_attachments")
    return tuple(flags)


def _is_repaired(path: Path) -> bool:
    head, tail, size = _ends_of(path)
    offset = pdf_header_offset(head)
    pointers = _STARTXREF.findall(tail)
    if offset != 0 or b"%%EOF" not in tail or not pointers:
        return True
    target = int(pointers[-1])
    if target >= size:
        return True
    with path.open("rb") as file:
        file.seek(target)
        return _XREF.match(file.read(64)) is None


def _is_placeholder(document: Any) -> bool:
    """Whether the only page is what a dynamic XFA form shows to readers without XFA ("Please wait...")."""
    if len(document) != 1:
        return False
    try:
        text = document[0].get_textpage().get_text_range()
    except pdfium.PdfiumError:
        return False
    return "please wait" in text.lower() and len(text) < _PLACEHOLDER_CHARACTERS


def mended_page_count(document: Any, size: int) -> tuple[int, bool]:
    """The number of pages and whether it had to be corrected.

    PDFium believes `/Count`. A file of 400 bytes that claims a million pages has them only on paper: where the
    claim is too large for the file and the last page does not exist, the real end is searched for.
    """
    claimed = len(document)
    if claimed <= _FEW_PAGES or claimed * _LEAST_BYTES_PER_PAGE <= size or _has_page(document, claimed - 1):
        return claimed, False
    low, high = 0, claimed - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _has_page(document, middle):
            low = middle
        else:
            high = middle
    return low + 1, True


def _has_page(document: Any, index: int) -> bool:
    size = pdfium_c.FS_SIZEF()
    return bool(pdfium_c.FPDF_GetPageSizeByIndexF(document.raw, index, size))
