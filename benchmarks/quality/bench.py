"""Our own samples read by every engine and scored as olmOCR-Bench scores."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.quality.corpus import Pictures
from benchmarks.quality.readers import Reader
from benchmarks.quality.samples import FORMS, write_samples
from pdfocr_core.bench.candidates import MarkdownFolder
from pdfocr_core.bench.data import open_bench
from pdfocr_core.bench.score import Score, run_bench

__all__ = ["failures", "measure"]

_WHOLE = 20  # two pages of each kind in both forms are 40


def measure(readers: Mapping[str, Reader], most: int, keep: Path | None) -> dict[str, Score]:
    """The score of every engine.

    Args:
        readers: engines by name.
        most: pages of a part; with fewer than 20 only one page of each kind is read, as it was written.
        keep: where to leave the benchmark and what was read; it can be judged again with `pdfocr bench`.
    """
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as temporary:
        folder = (keep or Path(temporary)) / "samples"
        pages = write_samples(folder, 2) if most >= _WHOLE else write_samples(folder, 1, FORMS[:1])
        data = open_bench(folder)
        with Pictures() as pictures:
            for number, (name, path) in enumerate(data.pdfs.items(), 1):
                for page, picture in pictures.of(path):
                    for engine, reader in readers.items():
                        _write(folder / engine, name, page, reader.read(picture).text)
                print(f"  {number}/{pages} {name}", flush=True)
        return {name: run_bench(data, MarkdownFolder(folder / name), None) for name in readers}


def _write(folder: Path, pdf: str, page: int, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{pdf.removesuffix('.pdf')}_pg{page}_repeat1.md").write_text(text, encoding="utf-8")


def failures(score: Score) -> list[dict[str, Any]]:
    """What our engine got wrong, page by page."""
    return [
        {"test": outcome.case.id, "type": outcome.case.type, "detail": outcome.detail} for outcome in score.failures
    ]
