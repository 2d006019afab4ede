"""Large collections made quickly: PDFs of many pages, and many PDFs of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests import bad_pdfs

__all__ = ["many_pages", "many_pdfs"]


def _pdf(texts: Iterable[str]) -> bytes:
    """A PDF with one line of text on each page."""
    lines = list(texts)
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(lines)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(lines)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(lines):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(bad_pdfs.stream(b"BT /F 24 Tf 60 700 Td (%s) Tj ET" % text.encode("ascii")))
    return bad_pdfs.raw_pdf(objects)


def many_pages(path: Path, pages: int) -> Path:
    """One PDF, every page different."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_pdf(f"Page {number} of {path.stem}" for number in range(pages)))
    return path


def many_pdfs(folder: Path, count: int) -> Path:
    """PDFs of one page, each different from every other."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"file{number:05}.pdf").write_bytes(_pdf([f"File {number}"]))
    return folder
