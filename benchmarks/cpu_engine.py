"""The CPU engine in a whole run against the same models called directly, in one process per core.

    python -m benchmarks.cpu_engine [--pages 60] [--repeats 3]

Directly means: each process draws its share of the pages and reads them, with nothing between. Both are timed from the
first page to the last, so that neither pays for what happens once.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import dataset, harness


def read_share(folder: Path, share: int, shares: int, ready: multiprocessing.synchronize.Barrier) -> None:
    """Draw and read every page whose turn it is, once all processes have loaded their models."""
    import cv2
    import pypdfium2

    from pdfocr_core.cpu_engine.reader import PageReader

    cv2.setNumThreads(1)
    reader = PageReader()
    pages = [(path, page) for path in sorted(folder.glob("*.pdf")) for page in range(len(pypdfium2.PdfDocument(path)))]
    reader.read(_picture(*pages[0]))
    ready.wait()
    for path, page in pages[share::shares]:
        reader.read(_picture(path, page))


def _picture(path: Path, number: int) -> bytes:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        page = document[number]
        picture = io.BytesIO()
        page.render(scale=1288 / max(page.get_size())).to_pil().save(picture, "JPEG", quality=95, subsampling=0)
    return picture.getvalue()


def directly(folder: Path) -> float:
    """Seconds that one process per core takes for all pages."""
    context = multiprocessing.get_context("spawn")
    shares = os.cpu_count() or 1
    ready = context.Barrier(shares + 1)
    processes = [
        context.Process(target=read_share, args=(folder, share, shares, ready), daemon=True) for share in range(shares)
    ]
    for process in processes:
        process.start()
    ready.wait()
    started = time.monotonic()
    for process in processes:
        process.join()
        if process.exitcode:
            raise SystemExit("a process that reads directly has failed")
    return time.monotonic() - started


def in_a_run(folder: Path, workspace: Path) -> float:
    """Seconds from the first page's start to the last one's end in `pdfocr run`."""
    from datetime import datetime

    from pdfocr_core.records import PageRecord
    from pdfocr_core.workspace import open_workspace

    argv = [sys.executable, "-m", "pdfocr_dagster.cli", "run", str(folder), "--quiet", "--workspace", str(workspace)]
    harness.run([*argv, "--engine", "cpu"], env=harness.clean_environment(), with_memory=False)
    opened = open_workspace(str(workspace))
    records = [
        record
        for key in opened.group_keys()
        for record in opened.read_pages(key) or []
        if isinstance(record, PageRecord)
    ]
    # The server starts when the first page is drawn: its start is no part of reading.
    answered = sorted(datetime.fromisoformat(record.finished_at) for record in records)
    asked = [
        datetime.fromisoformat(record.finished_at).timestamp() - sum(attempt.seconds for attempt in record.attempts)
        for record in records
    ]
    return answered[-1].timestamp() - min(asked)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name:
        folder = Path(name)
        card = dataset.dense(folder / "sources", options.pages, each=10)
        for repeat in range(options.repeats):
            direct = directly(folder / "sources")
            run = in_a_run(folder / "sources", folder / f"workspace{repeat}")
            rows.append(
                {
                    "directly pages/s": options.pages / direct,
                    "run pages/s": options.pages / run,
                    "run/directly": direct / run,
                }
            )
    harness.report("cpu-engine", rows, card)


if __name__ == "__main__":
    main()
