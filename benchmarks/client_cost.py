"""What the client costs per page: a whole `pdfocr run` against drawing and encoding the same pages and nothing else.

    python -m benchmarks.client_cost [--pages 1200] [--repeats 3] [--peer PATH-OF-OLMOCR] [--guard BOUND]

All are measured in turn, several times, with a server that answers at once; the median ratio of their CPU seconds per
page is the result. The peer is `olmocr` from PyPI in an environment of its own. With `--guard`, the exit code is 1 when
the ratio to the floor passes the bound by more than a fifth twice in a row.
"""

from __future__ import annotations

import argparse
import base64
import io
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import dataset, harness

DPI_SIDE = 1288


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


def measure(pages: int, repeats: int, peer: str | None = None) -> tuple[list[dict[str, Any]], str]:
    """Interleaved runs: CPU milliseconds per page of each, and pages per second."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name, harness.Stub() as stub:
        folder = Path(name)
        card = dataset.dense(folder / "sources", pages)
        for repeat in range(repeats):
            row: dict[str, Any] = {}
            run = harness.pdfocr_run(folder / "sources", folder / f"workspace{repeat}", stub)
            stub.reset()
            ours = harness.run(run, env=harness.clean_environment())
            _check(stub, pages, exactly=True)
            least = harness.run([sys.executable, "-m", "benchmarks.client_cost", "--floor", str(folder / "sources")])
            row |= {"run ms/page": 1000 * ours.cpu_s / pages, "floor ms/page": 1000 * least.cpu_s / pages}
            row |= {"run/floor": ours.cpu_s / least.cpu_s, "pages/s": pages / ours.wall_s, "peak MiB": ours.peak_mb}
            if peer:
                stub.reset()
                files = sorted(str(path) for path in (folder / "sources").glob("*.pdf"))
                argv = [peer, str(folder / f"peer{repeat}"), "--server", f"{stub.url}/v1", "--model", "pdfocr-cpu"]
                theirs = harness.run([*argv, "--markdown", "--pdfs", *files])
                _check(stub, pages, exactly=False)
                row |= {"peer ms/page": 1000 * theirs.cpu_s / pages, "peer/run": theirs.cpu_s / ours.cpu_s}
                row |= {"speed-up": theirs.wall_s / ours.wall_s}
            rows.append(row)
    return rows, card


def _check(stub: harness.Stub, pages: int, *, exactly: bool) -> None:
    asked = stub.stats()["requests"]
    if asked < pages or (exactly and asked != pages):
        raise SystemExit(f"the server was asked {asked} times for {pages} pages")


def median(rows: list[dict[str, Any]], column: str) -> float:
    """Of one column."""
    return statistics.median(row[column] for row in rows)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", help="path of the peer's program `olmocr`")
    parser.add_argument("--guard", type=float, help="the stored bound of the ratio to the floor")
    parser.add_argument("--floor", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor:
        floor(options.floor)
        return
    with harness.quiet_hint():
        rows, card = measure(options.pages, options.repeats, options.peer)
    medians = {column: median(rows, column) for column in rows[0] if "/" in column or column == "speed-up"}
    harness.report("client-cost-peer" if options.peer else "client-cost", rows, card, medians=medians)
    if options.guard and medians["run/floor"] > 1.2 * options.guard:
        again = median(measure(options.pages, options.repeats)[0], "run/floor")
        if again > 1.2 * options.guard:
            raise SystemExit(f"the ratio is {again:.2f}, the bound {options.guard}: the client has become slower")
        print(f"measured again: {again:.2f}")


if __name__ == "__main__":
    main()
