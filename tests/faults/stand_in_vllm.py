"""Takes the place of the `vllm` program: a process of its own that reads by `pdfocr_core.testing`, and can be killed.

    stand_in_vllm.py serve MODEL --host H --port P …

`STAND_IN_ASKED` names the file to which it adds the digest of every picture, one a line, before it answers;
`STAND_IN_SECONDS` is how long an answer takes.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.server import FaultServer


class NotingPlan(Plan):
    """Plays no fault and notes who asked; one write of one line, so that nothing is torn by a kill."""

    def fault(self, picture: str, asked_before: int) -> Fault | None:
        descriptor = os.open(os.environ["STAND_IN_ASKED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{picture}\n".encode())
        os.close(descriptor)
        return None


def program(folder: Path) -> Path:
    """Put the program where a setting can name it."""
    path = folder / "vllm"
    root = Path(__file__).parents[2]
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{root}" exec "{sys.executable}" -m tests.faults.stand_in_vllm "$@"\n')
    path.chmod(0o755)
    return path


def main() -> None:
    if "--version" in sys.argv:
        print("0.29.0")
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("serve")
    parser.add_argument("model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    given, _rest = parser.parse_known_args()
    options: dict[str, Any] = {"host": given.host, "port": given.port, "model": given.model}
    server = FaultServer(NotingPlan(), seconds=float(os.environ.get("STAND_IN_SECONDS", "0")), **options)
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
