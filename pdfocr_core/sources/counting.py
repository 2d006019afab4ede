"""How many pages each document has: counted where that is cheap, estimated from the size elsewhere.

Only the size of groups depends on it; the exact count comes with the page records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pdfocr_core.documents import Document
from pdfocr_core.sources.names import is_tiff_name
from pdfocr_core.store import is_url

__all__ = ["PageCounter", "count_pages"]

PageCounter = Callable[[list[str]], list[int | None]]
"""Counts the pages of local files; None for a file that does not open."""

_BYTES_PER_PAGE = 50_000.0
_RATE_BOUNDS = (1_000.0, 5_000_000.0)
_BATCH = 512


def count_pages(documents: Sequence[Document], counter: PageCounter | None) -> list[Document]:
    """Give every document that can be read a number of pages.

    Members of archives and objects in stores are estimated at the bytes per page that the counted files have.

    Args:
        documents: those with `pages` already set, or with a problem, stay as they are.
        counter: opens files and counts; None estimates everything.
    """
    counted: dict[int, int] = {}
    unknown = [place for place, document in enumerate(documents) if not document.pages and not document.problem]
    local = [place for place in unknown if documents[place].member is None and not is_url(documents[place].url)]
    for start in range(0, len(local) if counter else 0, _BATCH):
        batch = local[start : start + _BATCH]
        counts = counter([documents[place].url for place in batch]) if counter else []
        counted.update((place, pages) for place, pages in zip(batch, counts, strict=True) if pages)
    rate = _rate([(documents[place].bytes, pages) for place, pages in counted.items()])
    result = list(documents)
    for place in unknown:
        document = documents[place]
        result[place] = replace(document, pages=counted.get(place) or _estimate(document, rate))
    return result


def _rate(samples: list[tuple[int, int]]) -> float:
    pages = sum(count for _, count in samples)
    if not pages:
        return _BYTES_PER_PAGE
    low, high = _RATE_BOUNDS
    return min(max(sum(size for size, _ in samples) / pages, low), high)


def _estimate(document: Document, rate: float) -> int:
    return 1 if is_tiff_name(document.url) else max(1, round(document.bytes / rate))
