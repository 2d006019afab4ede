"""What the client costs per page: a whole `pdfocr run` against drawing and encoding the same pages and nothing else.

    python -m benchmarks.client_cost [--pages 1200] [--repeats 3] [--guard BOUND]

The two are measured in turn, several times; the median ratio of their CPU seconds per page is the result. With
`--guard`, the exit code is 1 when the ratio passes the bound by more than a fifth twice in a row.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from pdfocr_core.serving.endpoint import free_port

DPI_SIDE = 1288


def make_pages(folder: Path, pages: int) -> None:
    """Documents of 40 dense pages each, every page different."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    folder.mkdir(parents=True)
    for document in range(-(-pages // 40)):
        canvas = Canvas(str(folder / f"{document:04}.pdf"), pagesize=A4, invariant=1)
        for page in range(min(40, pages - document * 40)):
            canvas.setFont("Times-Roman", 10)
            for line in range(55):
                words = " ".join(
                    f"word{(document * 7919 + page * 104729 + line * 31 + word) % 9973}" for word in range(12)
                )
                canvas.drawString(50, 790 - 13.5 * line, words)
            canvas.showPage()
        canvas.save()


def floor(folder: Path) -> None:
    """Draw, encode and base64 every page, in this process."""
    import pypdfium2

    for path in sorted(folder.glob("*.pdf")):
        with pypdfium2.PdfDocument(path) as document:
            for page in document:
                bitmap = page.render(scale=DPI_SIDE / max(page.get_size()))
                picture = io.BytesIO()
                bitmap.to_pil().save(picture, "JPEG", quality=95, subsampling=0)
                base64.b64encode(picture.getvalue())


def cpu_of(argv: list[str], **more: Any) -> tuple[float, float]:
    """CPU seconds of a command with all its children, and its wall seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - started


def measure(pages: int, repeats: int) -> dict[str, Any]:
    """Interleaved runs of both; CPU milliseconds per page."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PDFOCR_", "DAGSTER_"))}
    stub = subprocess.Popen([sys.executable, "-m", "benchmarks.engine_stub", "--port", str(port)])
    rows = []
    try:
        with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name:
            folder = Path(name)
            make_pages(folder / "sources", pages)
            for repeat in range(repeats):
                workspace = folder / f"workspace{repeat}"
                run = [sys.executable, "-m", "pdfocr_dagster.cli", "run", str(folder / "sources"), "--quiet"]
                run += ["--workspace", str(workspace), "--engine", "remote", "--model", "pdfocr-cpu"]
                run += ["--server", f"http://127.0.0.1:{port}/v1"]
                ours, wall = cpu_of(run, env=environment)
                least, _wall = cpu_of(
                    [sys.executable, "-m", "benchmarks.client_cost", "--floor", str(folder / "sources")]
                )
                rows.append({"run": 1000 * ours / pages, "floor": 1000 * least / pages, "pages_per_s": pages / wall})
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
                asked = json.load(answer)["requests"]
    finally:
        stub.kill()
        stub.wait()
    if asked != pages * repeats:
        raise SystemExit(f"the server was asked {asked} times for {pages * repeats} pages")
    ratio = statistics.median(row["run"] / row["floor"] for row in rows)
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "machine": platform.machine()}
    return {"pages": pages, "machine": machine, "rows": rows, "ratio": ratio}


def main() -> None:
    """Measure, print a table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--guard", type=float, help="the stored bound of the ratio")
    parser.add_argument("--floor", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor:
        floor(options.floor)
        return
    result = measure(options.pages, options.repeats)
    print(f"{'CPU ms/page':>12} {'run':>7} {'floor':>7} {'ratio':>6} {'pages/s':>8}")
    for row in result["rows"]:
        print(
            f"{'':>12} {row['run']:7.1f} {row['floor']:7.1f} {row['run'] / row['floor']:6.2f} {row['pages_per_s']:8.1f}"
        )
    print(json.dumps(result))
    if options.guard and result["ratio"] > 1.2 * options.guard:
        again = measure(options.pages, options.repeats)
        if again["ratio"] > 1.2 * options.guard:
            raise SystemExit(f"the ratio is {again['ratio']:.2f}; the bound is {options.guard}")


if __name__ == "__main__":
    main()
