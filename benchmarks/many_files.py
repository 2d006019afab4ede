"""Very many small documents: indexing them, reading them once, and starting again when all is done.

python -m benchmarks.many_files [--documents 100000] [--index-only]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import dataset, harness


def index(sources: Path, workspace: Path, *, count_pages: bool) -> None:
    """Index a folder and print files per second."""
    from pdfocr_core.session import index_sources
    from pdfocr_core.settings import IndexSettings, RenderSettings
    from pdfocr_core.workspace import open_workspace

    started = time.monotonic()
    settings = IndexSettings(count_pages=count_pages)
    report = index_sources(open_workspace(str(workspace)), [str(sources)], settings, RenderSettings())
    seconds = time.monotonic() - started
    print(f"{report.documents} documents, {report.documents / seconds:.0f} a second")


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--index-only", action="store_true")
    parser.add_argument("--index", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.index:
        sources, workspace, count = options.index
        index(Path(sources), Path(workspace), count_pages=count == "count")
        return
    documents = options.documents
    rows = []
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name, harness.Stub() as stub:
        folder = Path(name)
        card = dataset.tiny(folder / "sources", documents)
        for count in ("count", "estimate"):
            argv = [sys.executable, "-m", "benchmarks.many_files", "--index"]
            usage = harness.run([*argv, str(folder / "sources"), str(folder / count), count])
            rows.append(_row(f"index, {count} pages", documents, usage, 0))
        if not options.index_only:
            argv = harness.pdfocr_run(folder / "sources", folder / "workspace", stub)
            for what in ("read", "start again"):
                stub.reset()
                usage = harness.run(argv, env=harness.clean_environment())
                rows.append(_row(what, documents, usage, stub.stats()["requests"]))
    harness.report("many-files", rows, card)


def _row(what: str, documents: int, usage: harness.Usage, requests: int) -> dict[str, object]:
    row: dict[str, object] = {"what": what, "wall s": usage.wall_s, "files/s": documents / usage.wall_s}
    return row | {"CPU s": usage.cpu_s, "peak MiB": usage.peak_mb, "requests": requests}


if __name__ == "__main__":
    main()
