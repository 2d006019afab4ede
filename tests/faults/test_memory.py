"""Peak memory of a run: what `docs/reliability.md` says of it, measured over the whole process tree.

The full sizes are in the nightly target; in between a small form watches that memory does not follow the number of pages.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from contextlib import aclosing
from datetime import datetime
from pathlib import Path

import pytest

from pdfocr_core.reading import stream_pages
from pdfocr_core.records import PageRecord
from pdfocr_core.settings import ReadSettings, RenderSettings
from pdfocr_core.testing import server as fault_server_module
from pdfocr_core.testing.server import MODEL, fault_server
from tests.integration.conftest import Command
from tests.large_pdfs import many_pages, many_pdfs
from tests.memory import Peak, peak_of_tree

WORKERS, IN_FLIGHT = 2, 16
TEXT_BYTES = 3500  # of a page's answer: a dense page
# The terms of the formula, in MiB.
COMMAND_MB, WORKER_MB, PAGE_IN_MEMORY_MB = 230, 60, 1.5
RECORDS_MB_PER_1000_PAGES, RECORDS_MB_PER_1000_DOCUMENTS = 20, 10


def allowed_mb(*, pages: int, documents: int) -> float:
    """What the formula allows a run over one group of so many pages and documents."""
    drawn = IN_FLIGHT + 2 * 8 + 8 * (WORKERS + 2)  # in flight, ready, and in the drawing chunks
    records = pages / 1000 * RECORDS_MB_PER_1000_PAGES + documents / 1000 * RECORDS_MB_PER_1000_DOCUMENTS
    return COMMAND_MB + WORKERS * WORKER_MB + drawn * PAGE_IN_MEMORY_MB + records


@pytest.fixture
def long_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers as long as those to dense pages: records are what grows with the number of pages."""

    def text(digest: str) -> str:
        rng = random.Random(digest)
        words = " ".join(
            f"{rng.choice(['river', 'stone', 'paper', 'light', 'archive'])}{rng.randrange(1000)}" for _ in range(500)
        )
        return f"Picture {digest}. {words}"[:TEXT_BYTES]

    monkeypatch.setattr(fault_server_module, "good_text", text)


def peak_of_run(folder: Path, documents: int, pages: int) -> Peak:
    """The peak of one run over a group that holds it all."""
    pdfocr = Command(folder)
    sources = folder / "sources"
    if documents == 1:
        many_pages(sources / "long.pdf", pages)
    else:
        many_pdfs(sources, documents)
    small = {"PDFOCR_LONGEST_SIDE_PX": "800", "PDFOCR_RENDER_WORKERS": str(WORKERS)}
    with fault_server() as server:
        remote = ("--engine", "remote", "--model", MODEL, "--server", server.url, "--in-flight", IN_FLIGHT, "--quiet")
        group = ("--workspace", pdfocr.workspace, "--pages-per-group", 20_000)
        process = pdfocr.start("run", sources, *remote, *group, extra_environment=small)
        with peak_of_tree(process.pid) as peak:
            stdout, stderr = process.communicate()
    assert process.returncode == 0, stdout + stderr
    books = pdfocr.books()
    assert (books["balanced"], books["pages_ok"], books["documents"]) == (True, documents * pages, documents)
    shutil.rmtree(folder)
    return peak


def test_memory_does_not_follow_the_pages(tmp_path: Path, long_answers: None) -> None:
    few = peak_of_run(tmp_path / "few", 1, 10)
    many = peak_of_run(tmp_path / "many", 1, 120)
    print(f"10 pages: {few.mb:.0f} MiB; 120 pages: {many.mb:.0f} MiB")
    assert few.mb < allowed_mb(pages=10, documents=1)
    assert many.mb < allowed_mb(pages=120, documents=1)


async def first_page_of(path: Path, url: str) -> PageRecord:
    settings = ReadSettings(in_flight=IN_FLIGHT, render=RenderSettings(workers=WORKERS))
    async with aclosing(stream_pages(path, model=MODEL, server_url=url, settings=settings)) as pages:
        async for page in pages:
            return page
    raise AssertionError("no page")


def test_a_long_pdf_is_asked_for_from_its_first_pages_on(tmp_path: Path) -> None:
    path = many_pages(tmp_path / "long.pdf", 5000)
    with fault_server() as server:
        page = asyncio.run(first_page_of(path, server.url))
        # Nothing waits until the document is drawn: what is under way is a few pages.
        assert server.asked.total() <= 100
    seconds = (datetime.fromisoformat(page.finished_at) - datetime.fromisoformat(page.started_at)).total_seconds()
    print(f"{seconds:.2f} s from beginning to draw to the first record")


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_pdf_of_5000_pages(tmp_path: Path, long_answers: None, capsys: pytest.CaptureFixture[str]) -> None:
    few = peak_of_run(tmp_path / "few", 1, 10)
    many = peak_of_run(tmp_path / "many", 1, 5000)
    with capsys.disabled():
        print(
            f"\n10 pages: {few.mb:.0f} MiB; 5,000 pages: {many.mb:.0f} MiB of {allowed_mb(pages=5000, documents=1):.0f}"
        )
    assert many.mb < few.mb + 100
    assert many.mb < allowed_mb(pages=5000, documents=1)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_group_of_10000_documents(tmp_path: Path, long_answers: None, capsys: pytest.CaptureFixture[str]) -> None:
    peak = peak_of_run(tmp_path / "many", 10_000, 1)
    allowed = allowed_mb(pages=10_000, documents=10_000)
    with capsys.disabled():
        print(f"\n10,000 documents in one group: {peak.mb:.0f} MiB of {allowed:.0f}")
    assert peak.mb < allowed
