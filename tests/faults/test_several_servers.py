"""Servers that someone else runs: used and left running, balanced by what is under way, one's death no matter of the other."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from pdfocr_core.testing.server import fault_server
from tests.counting_server import counting_server
from tests.documents import write_collection
from tests.faults.test_servers import hold_answers, wait_until
from tests.integration.conftest import Command

DOCUMENTS, PAGES_EACH = 6, 4
PAGES = DOCUMENTS * PAGES_EACH


def arguments(pdfocr: Command, *urls: str) -> list[object]:
    sources = pdfocr.folder / "sources"
    write_collection(sources, documents=DOCUMENTS, pages=PAGES_EACH)
    servers = [part for url in urls for part in ("--server", url)]
    return ["run", sources, "--model", "pdfocr-cpu", *servers, "--in-flight", 6, "--workspace", pdfocr.workspace]


def assert_all_read(pdfocr: Command) -> None:
    books = pdfocr.books()
    assert (books["balanced"], books["pages_ok"], books["by_status"]) == (True, PAGES, {"ok": DOCUMENTS})


def test_servers_that_answer_are_used_and_go_on_while_others_are_not_there(pdfocr: Command) -> None:
    with counting_server() as server, socket.socket() as silent:
        # Nobody listens there, and nobody else can begin to.
        silent.bind(("127.0.0.1", 0))
        done = pdfocr(*arguments(pdfocr, f"http://127.0.0.1:{silent.getsockname()[1]}/v1", server.url))
        assert_all_read(pdfocr)
        assert set(server.pictures.values()) == {1}
        assert "Traceback" not in done.stderr
        # It was found running and is left so.
        with httpx.Client(trust_env=False) as client:
            assert client.get(f"{server.url}/models").status_code == 200


def test_the_server_with_less_under_way_gets_the_next_page(pdfocr: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with counting_server(0.1) as quick, fault_server() as slow:
        let_go = hold_answers(slow, monkeypatch)
        process = pdfocr.start(*arguments(pdfocr, quick.url, slow.url))
        # In turns all six in flight would soon be at the one that does not answer.
        wait_until(lambda: quick.requests >= PAGES - 6 or process.poll() is not None)
        assert 0 < slow.asked.total() <= 3
        let_go.set()
        _stdout, stderr = process.communicate()
        assert process.returncode == 0, stderr
        assert_all_read(pdfocr)
        assert quick.requests + slow.asked.total() == PAGES


def test_a_server_that_dies_in_the_middle_leaves_its_pages_to_the_other(pdfocr: Command) -> None:
    with counting_server(0.05) as stays, holding_server() as (dies, url):
        process = pdfocr.start(*arguments(pdfocr, stays.url, url))
        # By then half of the pages in flight are there, where no answer ever comes.
        wait_until(lambda: stays.requests >= 6 or process.poll() is not None)
        dies.kill()
        _stdout, stderr = process.communicate(timeout=600)
        assert process.returncode == 0, stderr
        assert_all_read(pdfocr)
        assert set(stays.pictures.values()) == {1}
        assert stays.requests == PAGES


@contextmanager
def holding_server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that takes every request and answers none."""
    argv = [sys.executable, "-m", "pdfocr_core.testing", "--fault", "hang=1", "--times", str(10**9)]
    with subprocess.Popen(argv, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()
