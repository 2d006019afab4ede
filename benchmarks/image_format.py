"""Whether the form in which a page is sent changes what a model reads in it, and what each form costs.

    python -m benchmarks.image_format [--pages 12] [--files PDF ...]

Every page is encoded in each form and read by the CPU engine. The text is held against the one that is read from the
lossless picture: the share of words that both have (F1), and how like the two texts are as a whole. What a difference
means is told by one more lossless picture of the same page, drawn one pixel smaller.
"""

from __future__ import annotations

import argparse
import base64
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import dataset, harness

_SIDE = 1288
_SMALLER = "PNG, one pixel smaller"
_FORMS: dict[str, dict[str, Any]] = {
    "PNG": {"image_format": "png", "quality": 0, "allow_grey": False},
    _SMALLER: {"image_format": "png", "quality": 0, "allow_grey": False},
    "PNG, grey where grey": {"image_format": "png", "quality": 0, "allow_grey": True},
    "JPEG 95, grey where grey": {"image_format": "jpeg", "quality": 95, "allow_grey": True},
    "JPEG 95": {"image_format": "jpeg", "quality": 95, "allow_grey": False},
    "JPEG 90, grey where grey": {"image_format": "jpeg", "quality": 90, "allow_grey": True},
    "JPEG 75, grey where grey": {"image_format": "jpeg", "quality": 75, "allow_grey": True},
}


def pages_of(files: list[Path], most: int) -> Iterator[tuple[Any, Any]]:
    """Drawn pages as arrays of red, green, blue and an unused byte, and one pixel smaller; spread evenly over the files."""
    import pypdfium2

    share = max(1, most // len(files))
    for path in files[:most]:
        with pypdfium2.PdfDocument(path) as document:
            for number in range(0, len(document), max(1, len(document) // share))[:share]:
                yield _drawn(document[number], _SIDE), _drawn(document[number], _SIDE - 1)


def _drawn(page: Any, side: int) -> Any:
    import numpy as np

    bitmap = page.render(scale=side / max(page.get_size()), rev_byteorder=True, prefer_bgrx=True)
    return np.array(bitmap.to_numpy())


def main() -> None:
    """Measure and report."""
    from rapidfuzz.distance import Levenshtein

    from pdfocr_core.cpu_engine.reader import PageReader
    from pdfocr_core.rendering.encode import encode

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=12)
    parser.add_argument("--files", type=Path, nargs="*", help="PDFs in place of the made-up ones")
    options = parser.parse_args()
    reader = PageReader()
    costs: dict[str, list[tuple[float, float]]] = {form: [] for form in _FORMS}
    alike: dict[str, list[tuple[float, float]]] = {form: [] for form in _FORMS}
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name:
        card = dataset.dense(Path(name) / "sources", options.pages, each=1)
        files = options.files or sorted((Path(name) / "sources").glob("*.pdf"))
        for usual, smaller in pages_of(files, options.pages):
            lossless = ""
            for form, arguments in _FORMS.items():
                pixels = smaller if form == _SMALLER else usual
                started = time.process_time()
                encoded = encode(pixels, **arguments)
                costs[form].append((time.process_time() - started, len(encoded)))
                text = reader.read(base64.b64decode(encoded)).markdown
                lossless = lossless or text
                alike[form].append((_f1(lossless, text), Levenshtein.normalized_similarity(lossless, text)))
    rows = [
        {
            "form": form,
            "CPU ms": 1000 * statistics.mean(seconds for seconds, _ in costs[form]),
            "KiB of base64": statistics.mean(size for _, size in costs[form]) / 1024,
            "word F1, mean": statistics.mean(f1 for f1, _ in alike[form]),
            "likeness, mean": statistics.mean(likeness for _, likeness in alike[form]),
            "likeness, least": min(likeness for _, likeness in alike[form]),
        }
        for form in _FORMS
    ]
    harness.report(
        "image-format", rows, f"{options.pages} pages of {len(files)} given files" if options.files else card
    )


def _f1(expected: str, found: str) -> float:
    one, other = Counter(expected.split()), Counter(found.split())
    both = (one & other).total()
    return 2 * both / (one.total() + other.total()) if one or other else 1.0


if __name__ == "__main__":
    main()
