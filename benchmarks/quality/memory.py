"""The memory of one worker that reads every page there is, the odd ones above all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.quality.corpus import Pictures, documents
from benchmarks.quality.readers import Reader

__all__ = ["measure"]

_WITHOUT = ("broken", "encrypted", "tarballs")


def measure(corpus: Path, reader: Reader, each: int) -> list[dict[str, Any]]:
    """A row for each page that took more memory than all before it, and one for the last page."""
    rows: list[dict[str, Any]] = []
    pages = 0
    row: dict[str, Any] = {}
    with Pictures() as pictures:
        for path, _kind in documents(corpus, _WITHOUT):
            for number, picture in pictures.of(corpus / path, first=each, legible=False):
                pages += 1
                reading = reader.read(picture)
                row = {"after pages": pages, "path": path, "page": number, "peak MB": reading.peak_mb}
                if not rows or reading.peak_mb > rows[-1]["peak MB"]:
                    rows.append(row)
                    print(f"  {row}", flush=True)
    return rows if not row or rows[-1] is row else [*rows, row]
