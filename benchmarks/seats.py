"""How full the engine is kept: pages with lognormal times on an engine that decodes so many at once.

    python -m benchmarks.seats [--seats 64] [--mean-s 2] [--pages 12000] [--fixed 72 ...]

Seat utilisation is decoding time over (seats × time from the first request to the last answer): 1.0 means that the
engine never waited. At the end seats fall empty whatever the client does; "at best" is what the same pages allow.
With `--fixed`, the same with windows of fixed sizes, which the adaptive one should equal.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks import dataset, harness

GROUPS = 12


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seats", type=int, default=64)
    parser.add_argument("--mean-s", type=float, default=2.0)
    parser.add_argument("--sigma", type=float, default=0.8)
    parser.add_argument("--pages", type=int, default=12_000)
    parser.add_argument("--fixed", type=int, nargs="*", default=[])
    options = parser.parse_args()
    engine = ["--seats", str(options.seats), "--mean-s", str(options.mean_s), "--sigma", str(options.sigma)]
    rows = []
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name, harness.Stub(*engine) as stub:
        folder = Path(name)
        card = dataset.mixed(folder / "sources", options.pages)
        for window in [None, *options.fixed]:
            argv = harness.pdfocr_run(folder / "sources", folder / f"workspace{window}", stub)
            argv += ["--pages-per-group", str(options.pages // GROUPS)]
            argv += ["--in-flight", str(window)] if window else []
            stub.reset()
            usage = harness.run(argv, env=harness.clean_environment())
            stats = stub.stats()
            rows.append(
                {
                    "window": window or "adaptive",
                    "utilisation": stats["seat_utilisation"],
                    "at best": stats["utilisation_of_the_best"],
                    "without the end": stats["utilisation_until_last_start"],
                    "span s": stats["span_s"],
                    "most in flight": stats["peak_in_flight"],
                    "peak MiB": usage.peak_mb,
                    "CPU ms/page": 1000 * usage.cpu_s / options.pages,
                }
            )
    harness.report(f"seats-{options.seats}", rows, f"{card}; {options.seats} seats, mean {options.mean_s} s")


if __name__ == "__main__":
    main()
