"""How many pages a second the machine's cores can prepare for its GPUs, told before the first page."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Sequence

from pdfocr_core.serving import arguments

__all__ = ["gpus_of", "share_of_cores", "tell_cores"]

logger = logging.getLogger(__name__)

# CPU time of the run's processes for one dense A4 page, drawing above all: what `make bench` prints, and a little more.
MS_PER_PAGE = 20.0
# Fewer pages a second than this, and a small model on a current GPU waits for the CPU.
FEW_PAGES = 5.0
_PARALLEL = ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")


def gpus_of(server_arguments: Sequence[str]) -> int:
    """How many GPUs a vLLM server with these arguments takes."""
    gpus = 1
    for flag in _PARALLEL:
        value = arguments.value_of(server_arguments, flag)
        gpus *= int(value) if value and value.isdigit() else 1
    return gpus


def share_of_cores(cores: int, gpus: int) -> tuple[float, str]:
    """The pages a second that the cores can feed each GPU, and a line that says so."""
    # vLLM has a thread that takes pictures apart, and a process for each GPU that never sleeps.
    of_vllm = gpus + 1
    pages = max(cores - of_vllm, cores / 4) * 1000 / MS_PER_PAGE / gpus
    machine = f"{_counted(cores, 'core')} for {_counted(gpus, 'GPU')}"
    each = "" if gpus == 1 else " each"
    line = f"{machine}: a page takes {MS_PER_PAGE:g} ms of CPU, so they can feed {pages:.0f} pages/s{each}"
    if pages < FEW_PAGES:
        needed = math.ceil(of_vllm + FEW_PAGES * gpus * MS_PER_PAGE / 1000)
        line += f"; with fewer than {needed} cores the GPUs may wait for them"
    return pages, line


def tell_cores(server_arguments: Sequence[str]) -> None:
    """Log it for a server that is about to start on this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pages, line = share_of_cores(cores, gpus_of(server_arguments))
    logger.log(logging.INFO if pages >= FEW_PAGES else logging.WARNING, line)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
