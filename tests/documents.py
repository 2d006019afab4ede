"""Small PDFs made in a test."""

from __future__ import annotations

from pathlib import Path

from reportlab.lib.pagesizes import A5
from reportlab.pdfgen.canvas import Canvas


def write_pdf(path: Path, pages: list[str]) -> Path:
    """A PDF with one line of text per page, deterministic."""
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas = Canvas(str(path), pagesize=A5, invariant=1)
    for text in pages:
        canvas.setFont("Helvetica", 18)
        canvas.drawString(40, 400, text)
        canvas.showPage()
    canvas.save()
    return path


def write_collection(folder: Path, documents: int, pages: int) -> Path:
    """A folder of PDFs, every page different from every other."""
    for number in range(documents):
        write_pdf(folder / f"document{number:03}.pdf", [f"document {number} page {page}" for page in range(pages)])
    return folder
