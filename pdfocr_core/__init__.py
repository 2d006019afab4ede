"""pdfocr: collections of PDFs into text for language models.

The library's public face. Names are imported when they are first used, so that importing the package costs nothing.

    from pdfocr_core import read_document

    document = read_document("scan.pdf")
    print(document.markdown)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdfocr_core.reading import ReadDocument, read_document, stream_pages

__all__ = ["ReadDocument", "__version__", "read_document", "stream_pages"]

__version__ = "0.1.0"

_HOMES = {
    "ReadDocument": "pdfocr_core.reading",
    "read_document": "pdfocr_core.reading",
    "stream_pages": "pdfocr_core.reading",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pdfocr_core' has no attribute {name!r}")
