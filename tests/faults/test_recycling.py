"""A server that is started again by plan, between groups: no page is lost, none is charged, no death is counted."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Container
from pathlib import Path

import pytest

from pdfocr_core.serving.recycling import memory_of_tree
from tests.documents import write_collection
from tests.faults.test_servers import records
from tests.integration.conftest import Command

DOCUMENTS, PAGES_EACH = 16, 2


def stand_in_vllm(folder: Path) -> tuple[Path, Path]:
    """A program that starts like vLLM and notes its starts, with the file of the notes."""
    program, starts = folder / "vllm", folder / "starts"
    starts.touch()
    program.write_text(
        f"""#!/bin/sh
[ "$1" = --version ] && echo 0.32.0 && exit
echo "$*" >> {shlex.quote(str(starts))}
while [ "$1" != --port ]; do shift; done
exec {shlex.quote(sys.executable)} -m pdfocr_core.testing --port "$2" --seconds 0.2
"""
    )
    program.chmod(0o755)
    return program, starts


@pytest.mark.parametrize(
    ("settings", "starts"),
    [
        # Due after 6 answers and started when a group of 4 pages has ended: five times at most in 32.
        ({"PDFOCR_RECYCLE_PAGES": "6"}, range(3, 7)),
        # Reached at once, and again right after the start: said, and not tried for ever.
        pytest.param({"PDFOCR_RECYCLE_MEMORY_MB": "1"}, {2}, marks=pytest.mark.nightly),
    ],
    ids=["pages", "memory"],
)
def test_a_planned_start_costs_nothing(pdfocr: Command, settings: dict[str, str], starts: Container[int]) -> None:
    program, noted = stand_in_vllm(pdfocr.folder)
    model = pdfocr.folder / "olmOCR-2-7B-1025-FP8"
    model.mkdir()
    (model / "config.json").write_text("{}")
    sources = write_collection(pdfocr.folder / "sources", documents=DOCUMENTS, pages=PAGES_EACH)
    environment = {"PDFOCR_VLLM_PROGRAM": str(program), "PDFOCR_RESTARTS": "0", **settings}
    options = ("--engine", "vllm", "--model", model, "--in-flight", 2, "--pages-per-group", 4)
    ended = pdfocr("run", sources, *options, "--workspace", pdfocr.workspace, extra_environment=environment)
    pages = records(pdfocr.workspace)
    assert len({(page.document_id, page.page) for page in pages}) == len(pages) == DOCUMENTS * PAGES_EACH
    for page in pages:
        assert [attempt.reason for attempt in page.attempts] == [None]
    lines = noted.read_text().splitlines()
    assert len(lines) in starts, ended.stderr
    assert ("is too low" in ended.stderr) is ("PDFOCR_RECYCLE_MEMORY_MB" in settings)
    # The same place each time, and many tokens in one part of a stream.
    assert len({line.partition("--port ")[2].split()[0] for line in lines}) == 1
    assert all("--stream-interval 64" in line for line in lines)


def test_the_memory_of_a_tree_is_told() -> None:
    import os

    assert memory_of_tree(os.getpid()) > 10 << 20
    assert memory_of_tree(2**22 + 1) == 0
