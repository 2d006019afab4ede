"""`python -m pdfocr_core.testing --fault close=0.1 --fault overload=0.2`: the fault server by itself."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import ExitStack

from pdfocr_core.testing.plan import Fault, Plan, parse_fault
from pdfocr_core.testing.server import MODEL, fault_server


def main() -> None:
    """Serve until Ctrl-C or SIGTERM, then say what was played."""
    parser = argparse.ArgumentParser(prog="python -m pdfocr_core.testing", description=__doc__)
    names = ", ".join(fault.value for fault in Fault)
    parser.add_argument("--fault", action="append", default=[], help=f"<name>=<share>: {names}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=1, help="how many first requests of a page may meet a fault")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--seconds", type=float, default=0.0, help="how long a good answer takes")
    parser.add_argument("--hang", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--down", type=float, default=1.0, metavar="SECONDS", help="after a crash")
    given = parser.parse_args()
    try:
        faults = dict(map(parse_fault, given.fault))
        plan = Plan(faults, seed=given.seed, times=given.times, hang_s=given.hang, down_s=given.down)
        # Listens from here on: the port may be taken.
        running = ExitStack()
        serving = fault_server(plan, port=given.port, model=given.model, seconds=given.seconds)
        server = running.enter_context(serving)
    except ValueError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"Nothing can listen on port {given.port}: {error.strerror}. Name another one, or 0 for any.")
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with running:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        over.wait()
        sys.stdout.write(f"{server.asked.total()} requests, {server.answered.total()} good answers")
        sys.stdout.write("".join(f", {count} {fault.value}" for fault, count in sorted(server.met.items())) + "\n")


if __name__ == "__main__":
    main()
