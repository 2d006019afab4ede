"""Peak memory of a run, and whether it stays flat: 64 pages in flight over very many pages.

    python -m benchmarks.memory [--pages 20000]
    python -m benchmarks.memory --long [--pages 5000]     one long PDF against one of ten pages

Memory is the proportional set size of the whole process tree, sampled every 0.2 s, or as often as 3 % of the
time allow.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import dataset, harness


def flat(pages: int) -> None:
    """A long run: the last quarter of its time against the second."""
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name, harness.Stub() as stub:
        folder = Path(name)
        card = dataset.dense(folder / "sources", pages)
        argv = harness.pdfocr_run(folder / "sources", folder / "workspace", stub, "--in-flight", "64")
        usage = harness.run(argv, env=harness.clean_environment())
    quarter = usage.wall_s / 4
    second, last = (
        statistics.median(size for at, size in usage.memory if number * quarter <= at < (number + 1) * quarter)
        for number in (1, 3)
    )
    row = {"peak MiB": usage.peak_mb, "second quarter": second, "last quarter": last, "growth": last / second - 1}
    harness.report("memory", [row | {"pages/s": pages / usage.wall_s}], f"{card}; 64 in flight")


def long(pages: int) -> None:
    """One document of many pages against one of ten."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name, harness.Stub() as stub:
        folder = Path(name)
        for length in (10, pages):
            dataset.dense(folder / str(length), length, each=length)
            argv = harness.pdfocr_run(folder / str(length), folder / f"workspace{length}", stub, "--in-flight", "64")
            stub.reset()
            started = time.time()
            usage = harness.run(argv, env=harness.clean_environment())
            opened = _first_read(folder / f"workspace{length}")
            first = stub.stats()["first_at"]
            row = {"pages": length, "peak MiB": usage.peak_mb, "first request after s": first - started}
            rows.append(row | {"after opening s": first - opened, "wall s": usage.wall_s})
    more = {"more MiB": rows[1]["peak MiB"] - rows[0]["peak MiB"]}
    harness.report("long-pdf", rows, f"one PDF of {pages} dense pages, one of 10", **more)


def _first_read(workspace: Path) -> float:
    """When the group's reading began: its first page's start, in seconds since the epoch."""
    from datetime import datetime

    from pdfocr_core.workspace import open_workspace

    opened = open_workspace(str(workspace))
    starts = [
        record.started_at
        for key in opened.group_keys()
        for record in opened.read_pages(key) or []
        if hasattr(record, "started_at")
    ]
    return datetime.fromisoformat(min(starts)).timestamp()


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    if options.long:
        long(options.pages or 5000)
    else:
        flat(options.pages or 20_000)


if __name__ == "__main__":
    main()
