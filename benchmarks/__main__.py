"""All benchmarks in one sitting, each a process of its own: `python -m benchmarks [--peer PATH-OF-OLMOCR] [--short]`."""

from __future__ import annotations

import argparse
import subprocess
import sys

# What each is run with, at length and for a look whether it works.
_ALL = [
    ("many_files", [], ["--documents", "500"]),
    ("dagster_share", [], ["--groups", "4", "--pages", "50", "--repeats", "1"]),
    ("cpu_engine", ["--pages", "60"], ["--pages", "4"]),
    ("seats", ["--seats", "512", "--mean-s", "8", "--pages", "160000"], ["--pages", "600"]),
    ("client_cost", ["--pages", "3000"], ["--pages", "200", "--repeats", "1"]),
    ("memory", [], ["--pages", "1000"]),
    ("memory", ["--long"], ["--long", "--pages", "300"]),
    ("seats", ["--pages", "12000", "--fixed", "72", "80"], ["--pages", "600"]),
    ("stream_cost", [], []),
    ("render_tasks", [], ["--pages", "80", "--repeats", "1"]),
    ("image_format", [], ["--pages", "1"]),
]


def main() -> None:
    """Run them in turn; the exit code is 1 when one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="path of the peer's program `olmocr`, for client_cost")
    parser.add_argument("--short", action="store_true", help="small sizes: whether they work, not what they show")
    options = parser.parse_args()
    failed = []
    for name, at_length, short in _ALL:
        arguments = short if options.short else at_length
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=False).returncode:
            failed.append(name)
    if options.peer:
        # A few hundred milliseconds of its processor time go into each page.
        command = [sys.executable, "-m", "benchmarks.client_cost", "--pages", "1000", "--peer", options.peer]
        if subprocess.run(command, check=False).returncode:
            failed.append("client_cost against the peer")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
