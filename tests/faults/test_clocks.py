"""The clocks, each made to ring: which one it was, what it allowed and what was used stands where people look."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from pdfocr_core.errors import PageError, Reason, ServerUnavailable
from pdfocr_core.flow.clock import DocumentClock
from pdfocr_core.reading import read_document
from pdfocr_core.settings import ReadSettings, RenderSettings, TextLayer
from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.server import MODEL, fault_server, good_text
from tests.documents import write_pdf
from tests.faults.test_renderer import HARMLESS, slow, written
from tests.faults.test_servers import records
from tests.integration.conftest import Command


def assert_says(text: str, setting: str, allowed: float, *, at_most: float) -> None:
    """The message names the clock, what it allows, and a time used that fits."""
    assert setting in text
    assert re.search(rf"allows\D* {allowed:g} s", text), text
    used = max(float(number) for number in re.findall(r"(\d+\.\d) s", text))
    assert allowed <= used < at_most, text


def test_the_clock_of_a_document_keeps_what_was_read_and_spares_the_others(pdfocr: Command) -> None:
    sources = pdfocr.folder / "sources"
    write_pdf(sources / "long.pdf", [f"long page {page}" for page in range(40)])
    write_pdf(sources / "short.pdf", ["short page"])
    with fault_server(seconds=0.4) as server:
        remote = ("--engine", "remote", "--model", MODEL, "--server", server.url)
        clocks = {"PDFOCR_DOCUMENT_DEADLINE_S": "3"}
        place = ("--workspace", pdfocr.workspace, "--in-flight", 2)
        pdfocr("run", sources, *remote, *place, code=3, extra_environment=clocks)
        rows = pdfocr.status_rows(sources)
        long, short = rows["long.pdf"], rows["short.pdf"]
        assert (short["status"], short["reason"]) == ("ok", None)
        assert (long["status"], long["reason"]) == ("partial", "pages_failed")
        assert set(long["page_reasons"]) == {"document_deadline"}
        assert 0 < long["pages_ok"] < 40
        assert long["pages_ok"] + long["pages_failed"] == long["pages"] == 40
        assert long["detail"].startswith("Page ")
        assert_says(long["detail"], "document_deadline_s", 3.0, at_most=60)
        assert pdfocr.books()["balanced"]
        # What was read is not asked again; the rest is read when it is wanted.
        # An answer that was under way when the clock rang was given and not kept.
        kept = {page.text for page in records(pdfocr.workspace) if page.status == "ok"}
        assert len(kept) == long["pages_ok"] + 1
        before = server.asked.copy()
        server.seconds = 0.0
        pdfocr("retry", pdfocr.workspace, "--reason", "document_deadline", *remote)
        assert pdfocr.status_rows(sources)["long.pdf"]["status"] == "ok"
        again = server.asked - before
        assert again.total() == long["pages_failed"]
        assert not {good_text(digest) for digest in again} & kept


def test_the_clock_ends_a_request_that_is_under_way(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "one.pdf", ["a page"])
    with fault_server(Plan({Fault.HANG: 1.0}, times=99)) as server:
        settings = ReadSettings(document_deadline_s=1.5, render=RenderSettings(workers=1))
        (page,) = read_document(path, model=MODEL, server_url=server.url, settings=settings).pages
    assert (page.status, page.reason, page.attempts) == ("failed", "document_deadline", [])
    assert_says(page.detail, "document_deadline_s", 1.5, at_most=60)


def test_the_clock_of_no_progress_ends_the_run_and_names_the_clock_of_a_call(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "one.pdf", ["a page"])
    with fault_server(Plan({Fault.HANG: 1.0}, times=99)) as server, pytest.raises(ServerUnavailable) as caught:
        settings = ReadSettings(server_patience_s=2.0, request_timeout_s=0.5, render=RenderSettings(workers=1))
        read_document(path, model=MODEL, server_url=server.url, settings=settings)
    no_progress, call = str(caught.value).split("Last seen: ")
    assert "No page succeeded at " in no_progress
    assert_says(no_progress, "server_patience_s", 2.0, at_most=60)
    assert_says(call, "request_timeout_s", 0.5, at_most=60)


def test_the_clock_of_drawing_is_told_with_the_page(tmp_path: Path) -> None:
    path = written(tmp_path / "slow.pdf", [HARMLESS, slow()])
    with fault_server() as server:
        settings = ReadSettings(render=RenderSettings(workers=1, page_render_timeout_s=4.0))
        good, hung = read_document(path, model=MODEL, server_url=server.url, settings=settings).pages
    assert (good.status, good.detail) == ("ok", "")
    assert (hung.status, hung.reason) == ("failed", "renderer_timeout")
    assert_says(hung.detail, "page_render_timeout_s", 4.0, at_most=60)


def test_the_clock_of_a_page_is_told_with_the_page(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "one.pdf", ["a page"])
    with fault_server(Plan({Fault.FOREIGN: 1.0}, times=99), seconds=0.3) as server:
        settings = ReadSettings(page_deadline_s=0.2, text_layer=TextLayer.OFF, render=RenderSettings(workers=1))
        (page,) = read_document(path, model="olmocr-2", server_url=server.url, settings=settings).pages
    assert (page.status, page.reason) == ("failed", "page_deadline")
    assert_says(page.detail, "page_deadline_s", 0.2, at_most=60)


def test_a_time_out_of_somebody_elses_is_not_taken_for_the_clock() -> None:
    async def other() -> None:
        async with DocumentClock(60.0).limit():
            raise TimeoutError("of somebody else's")

    with pytest.raises(TimeoutError):
        asyncio.run(other())


def test_a_clock_that_rang_lets_nothing_begin(tmp_path: Path) -> None:
    begun = []

    async def twice() -> None:
        clock = DocumentClock(0.05)
        with pytest.raises(PageError):
            async with clock.limit():
                await asyncio.sleep(5)
        async with clock.limit():
            begun.append(True)

    with pytest.raises(PageError) as caught:
        asyncio.run(twice())
    assert caught.value.reason is Reason.DOCUMENT_DEADLINE
    assert begun == []
