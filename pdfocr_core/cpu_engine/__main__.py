"""`python -m pdfocr_core.cpu_engine`: serve until told to end."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from pdfocr_core.cpu_engine.models import BUNDLED, DEFAULT_MODEL
from pdfocr_core.cpu_engine.server import KEY_VARIABLE, serve


def main() -> int:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m pdfocr_core.cpu_engine", description="OCR server without a GPU.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on")
    parser.add_argument("--workers", type=int, default=0, help="OCR processes; 0 means one per core")
    parser.add_argument("--model", default=DEFAULT_MODEL, help=f"{', '.join(BUNDLED)} or a directory")
    options = parser.parse_args()
    if not 0 < options.port < 65536 or options.workers < 0:
        parser.error("the port must be 1 to 65535 and the number of workers not negative")
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s", stream=sys.stderr)
    if options.host not in {"127.0.0.1", "::1", "localhost"} and not os.environ.get(KEY_VARIABLE):
        logging.getLogger("pdfocr.cpu_engine").warning(
            "anyone who reaches %s can use this server; set %s to ask for a key", options.host, KEY_VARIABLE
        )
    return serve(options.host, options.port, options.workers or _usable_cores(), options.model)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
