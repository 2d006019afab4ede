"""How pages are best handed to the rendering processes, and what ending those now and then would cost.

    python -m benchmarks.render_tasks [--pages 400] [--repeats 3]

The same pages are drawn and encoded with so many of a document's pages to a task (`scheduler._CHUNK` in a run), with one
process and with one per core, and with new processes for each document.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks import dataset, harness

_EACH = 40


async def draw(files: list[Path], chunk: int, workers: int, *, renew: bool) -> None:
    """Draw every page of the files; with `renew`, a new pool for each document."""
    from pdfocr_core.rendering.pool import RenderPool
    from pdfocr_core.settings import RenderSettings

    pool = RenderPool(RenderSettings(workers=workers))
    try:
        for path in files:
            opened = await pool.open(path, path.name)
            numbers = list(range(1, opened.pages + 1))
            tasks = [numbers[start : start + chunk] for start in range(0, len(numbers), chunk)]
            await asyncio.gather(*(pool.render(path, "pdf", task) for task in tasks))
            if renew:
                pool.close()
                pool = RenderPool(RenderSettings(workers=workers))
    finally:
        pool.close()


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--draw", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.draw:
        folder, chunk, workers, renew = options.draw
        asyncio.run(draw(sorted(Path(folder).glob("*.pdf")), int(chunk), int(workers), renew=renew == "renew"))
        return
    ways = [(chunk, 0, "keep") for chunk in (1, 4, 8, 16, _EACH)] + [(8, 1, "keep"), (8, 0, "renew")]
    usages: dict[tuple[int, int, str], list[harness.Usage]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name:
        folder = Path(name) / "sources"
        card = dataset.dense(folder, options.pages, each=_EACH)
        for _ in range(options.repeats):
            for way in ways:
                argv = [sys.executable, "-m", "benchmarks.render_tasks", "--draw", str(folder), *map(str, way)]
                usages[way].append(harness.run(argv))
    rows = [
        {
            "pages a task": chunk,
            "processes": workers or "one per core",
            "new for each document": renew == "renew",
            "CPU ms/page": 1000 * statistics.median(usage.cpu_s for usage in of_way) / options.pages,
            "pages/s": options.pages / statistics.median(usage.wall_s for usage in of_way),
            "peak MiB": max(usage.peak_mb for usage in of_way),
        }
        for (chunk, workers, renew), of_way in usages.items()
    ]
    harness.report("render-tasks", rows, card)


if __name__ == "__main__":
    main()
