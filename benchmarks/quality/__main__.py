"""How good the CPU engine reads, beside RapidOCR's plain lines and tesseract.

    python -m benchmarks.quality [--corpus DIR] [--pages 24] [--only text|bench|orientation|memory]

docs/quality.md says what is measured, and what was found.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.quality import bench, memory, orientation, summary, text
from benchmarks.quality.corpus import find_corpus
from benchmarks.quality.readers import FAST, LOOKING, OURS, RAPIDOCR, TESSERACT, WHOLE, Reader, readers

_PARTS = ("text", "bench", "orientation")
_LONG = ("memory",)  # half an hour: only when asked for
_MEMORY_PAGES = 50  # of a document
_EACH = 2  # pages of a document
_TURNED = 4  # times as many documents are turned: nearly all of the corpus


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="folder with a manifest.csv; PDFOCR_CORPUS otherwise")
    parser.add_argument("--pages", type=int, default=24, help="of each kind of page, at most")
    parser.add_argument("--only", action="append", choices=_PARTS + _LONG, help="this part; may be said again")
    parser.add_argument("--keep", type=Path, help="folder for pictures and readings, to be looked at")
    options = parser.parse_args()
    corpus, parts = find_corpus(options.corpus), options.only or _PARTS
    lines: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    with harness.quiet_hint():
        if "text" in parts:
            with readers(**{OURS: WHOLE, FAST: FAST, RAPIDOCR: RAPIDOCR, TESSERACT: TESSERACT}) as engines:
                rows = text.measure(corpus, engines, _EACH, options.pages, options.keep)
                columns = text.order_pages(corpus, engines[OURS], rows, options.pages, options.keep)
            lines += summary.of_text(rows, columns)
            more |= {"pages_text": rows, "pages_columns": columns}
            harness.report("quality-worst", summary.worst(rows), "word F1 of the worst pages")
        if "bench" in parts:
            with readers(**{OURS: OURS, RAPIDOCR: RAPIDOCR, TESSERACT: TESSERACT}) as engines:
                scores = bench.measure(engines, options.pages, options.keep)
            harness.report("quality-bench", summary.by_category(scores), "samples of our own, share of tests passed")
            lines += summary.of_bench(scores)
            more["failed_tests"] = bench.failures(scores[OURS])
        if "orientation" in parts:
            with Reader(LOOKING) as reader:
                rows = orientation.measure(corpus, reader, _TURNED * options.pages)
            lines += summary.of_orientation(rows)
            more["pages_turned"] = rows
        if "memory" in parts:
            with Reader(LOOKING) as reader:
                peaks = memory.measure(corpus, reader, _MEMORY_PAGES)
            harness.report("quality-memory", peaks, f"one worker, up to {_MEMORY_PAGES} pages of every document")
            lines += summary.of_memory(peaks)
    harness.report("quality", lines, f"at most {options.pages} pages of each kind")
    pages = json.dumps(more, indent=1, ensure_ascii=False)
    (harness.RESULTS / "quality-pages.json").write_text(pages + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
