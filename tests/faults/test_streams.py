"""`pdfocr run` with servers that stream, and that refuse what a request can do without."""

from __future__ import annotations

import pytest

from pdfocr_core.testing import server as fault_server_module
from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.server import fault_server
from tests.faults.test_servers import PAGES, assert_whole, run, wait_until
from tests.integration.conftest import Command

VLLM = ("stream_interval", "structured_outputs")


def test_a_streamed_loop_costs_hundreds_of_tokens_and_one_attempt(
    pdfocr: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A loop takes seconds to its end: a client that is slow for a moment still breaks it off before.
    monkeypatch.setattr(fault_server_module, "_PART_S", 0.03)
    with fault_server(Plan({Fault.LOOP: 0.3}, seed=1), offers=VLLM) as server:
        run(pdfocr, server, model="olmocr-2")
        pages = assert_whole(pdfocr, server)
        loops = [attempt for page in pages for attempt in page.attempts if attempt.reason]
        assert len(loops) == server.met[Fault.LOOP] > 1
        assert {attempt.reason for attempt in loops} == {"repetition"}
        # The server would have gone on to 20,000; what was written is counted, and the server has noticed the end.
        assert all(500 < attempt.completion_tokens < 1000 for attempt in loops)
        assert all(attempt.prompt_tokens for attempt in loops)
        wait_until(lambda: server.broken_off == len(loops))
        assert server.asked.total() == PAGES + len(loops)


def test_streams_that_break_and_wishes_that_are_refused_cost_no_page_an_attempt(pdfocr: Command) -> None:
    plan = Plan({Fault.CLOSE: 0.25, Fault.GARBAGE: 0.25, Fault.ERROR: 0.1}, seed=1)
    with fault_server(plan, offers=VLLM, refuses={"structured_outputs"}) as server:
        ended = run(pdfocr, server, model="olmocr-2")
        assert {Fault.CLOSE, Fault.GARBAGE} <= server.met.keys()
        for page in assert_whole(pdfocr, server):
            assert [attempt.reason for attempt in page.attempts] == [None]
        assert server.asked.total() == PAGES + server.met.total()
        assert ended.stderr.count("refuses structured output") == 1
