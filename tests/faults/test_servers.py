"""`pdfocr run` against servers that fail in every way we know: no page is lost, none counted twice, none charged."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from pdfocr_core.records import PageRecord
from pdfocr_core.testing.plan import OWN_TROUBLE, Fault, Plan
from pdfocr_core.testing.server import MODEL, FaultServer, fault_server, good_text
from pdfocr_core.workspace import open_workspace
from tests.documents import write_collection
from tests.integration.conftest import Command

DOCUMENTS, PAGES_EACH = 6, 3
PAGES = DOCUMENTS * PAGES_EACH
QUICK = {"PDFOCR_REQUEST_TIMEOUT_S": "60", "PDFOCR_CHECKPOINT_INTERVAL_S": "0.2"}
# Where a server hangs: short, so an answer that is late because the machine is busy may be given up too.
IMPATIENT = {**QUICK, "PDFOCR_REQUEST_TIMEOUT_S": "3"}


@dataclass(frozen=True)
class AfterAThird(Plan):
    """Serves as many requests well as a third of the pages, and only then fails: in the middle at any speed."""

    served: Iterator[int] = field(default_factory=itertools.count)

    def fault(self, picture: str, asked_before: int) -> Fault | None:
        return super().fault(picture, asked_before) if next(self.served) >= PAGES // 3 else None


def hold_answers(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """No answer is given before the event is set."""
    let_go, hold = threading.Event(), server.hold

    def held(seconds: float) -> None:
        let_go.wait(300)
        hold(seconds)

    monkeypatch.setattr(server, "hold", held)
    return let_go


def arguments(pdfocr: Command, server: FaultServer, model: str = MODEL) -> list[object]:
    sources = pdfocr.folder / "sources"
    if not sources.exists():
        write_collection(sources, documents=DOCUMENTS, pages=PAGES_EACH)
    remote = ("--engine", "remote", "--model", model, "--server", server.url, "--in-flight", 4)
    return ["run", sources, *remote, "--workspace", pdfocr.workspace]


def run(
    pdfocr: Command, server: FaultServer, *, code: int = 0, model: str = MODEL, patience: dict[str, str] = QUICK
) -> subprocess.CompletedProcess[str]:
    return pdfocr(*arguments(pdfocr, server, model), code=code, extra_environment=patience)


def records(workspace: Path) -> list[PageRecord]:
    opened = open_workspace(str(workspace))
    found = [record for key in opened.group_keys() for record in opened.read_pages(key) or []]
    return [record for record in found if isinstance(record, PageRecord)]


def assert_whole(pdfocr: Command, server: FaultServer) -> list[PageRecord]:
    """Every page is there once, with the text of its own picture; the books say the same."""
    pages = records(pdfocr.workspace)
    assert len({(page.document_id, page.page) for page in pages}) == len(pages) == PAGES
    assert {page.text for page in pages} == {good_text(digest) for digest in server.asked}
    books = pdfocr.books()
    assert (books["balanced"], books["pages_ok"], books["by_status"]) == (True, PAGES, {"ok": DOCUMENTS})
    return pages


@pytest.mark.parametrize("fault", sorted(OWN_TROUBLE))
def test_the_servers_own_trouble_costs_no_page_an_attempt(pdfocr: Command, fault: Fault) -> None:
    with fault_server(Plan({fault: 0.4}, seed=1)) as server:
        run(pdfocr, server, patience=IMPATIENT if fault is Fault.HANG else QUICK)
        assert server.met[fault] > 1
        for page in assert_whole(pdfocr, server):
            assert [attempt.reason for attempt in page.attempts] == [None]
        # A crash, or a short time-out, may break off an answer that was on its way, which must then be given again.
        if fault not in {Fault.CRASH, Fault.OUT_OF_MEMORY, Fault.HANG}:
            assert set(server.answered.values()) == {1}


def test_a_storm_of_all_troubles_together(pdfocr: Command) -> None:
    shares = dict.fromkeys(OWN_TROUBLE, 0.08)
    with fault_server(Plan(shares, seed=5, times=2, down_s=0.5, retry_after_s=0.3)) as server:
        run(pdfocr, server, patience=IMPATIENT)
        assert len(server.met) >= 5
        for page in assert_whole(pdfocr, server):
            assert [attempt.reason for attempt in page.attempts] == [None]


@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.nightly)])
def test_a_server_that_is_too_busy_for_everyone_is_waited_out(pdfocr: Command, seconds: float) -> None:
    busy = AfterAThird({Fault.OVERLOAD: 1.0}, times=10**9, retry_after_s=0.5)
    with fault_server(busy, seconds=0.2) as server:
        process = pdfocr.start(*arguments(pdfocr, server), extra_environment=QUICK)
        wait_until(lambda: server.met[Fault.OVERLOAD] > 0 or process.poll() is not None)
        time.sleep(seconds)
        # The waits between two tries grow, so a longer storm is not met in proportion.
        wait_until(lambda: server.met[Fault.OVERLOAD] >= 5 or process.poll() is not None)
        assert process.poll() is None
        server.plan = Plan()
        _stdout, stderr = process.communicate()
        assert process.returncode == 0, stderr
        for page in assert_whole(pdfocr, server):
            assert [attempt.reason for attempt in page.attempts] == [None]
        assert set(server.answered.values()) == {1}


@pytest.mark.parametrize(
    ("fault", "reasons"),
    [
        (Fault.LOOP, {"repetition"}),
        (Fault.TRUNCATE, {"length"}),
        (Fault.FOREIGN, {"bad_front_matter"}),
    ],
)
def test_a_bad_answer_is_noted_and_asked_again(pdfocr: Command, fault: Fault, reasons: set[str]) -> None:
    with fault_server(Plan({fault: 0.3}, seed=1)) as server:
        # A model with randomness: one without would only give the same answer again.
        run(pdfocr, server, model="olmocr-2")
        pages = assert_whole(pdfocr, server)
        assert server.met[fault] > 1
        spent = [[attempt.reason for attempt in page.attempts] for page in pages]
        assert sum(len(one) == 2 for one in spent) == server.met[fault]
        assert {one[0] for one in spent if len(one) == 2} == reasons


def test_a_lie_about_usage_is_not_believed_and_costs_nothing(pdfocr: Command) -> None:
    with fault_server(Plan({Fault.USAGE: 1.0})) as server:
        run(pdfocr, server)
        pages = assert_whole(pdfocr, server)
        assert {(page.prompt_tokens, page.completion_tokens) for page in pages} == {(0, 0)}
        assert set(server.asked.values()) == {1}


def test_another_model_in_the_middle_ends_the_run_and_the_next_goes_on(pdfocr: Command) -> None:
    with fault_server(AfterAThird({Fault.OTHER_MODEL: 1.0})) as server:
        ended = run(pdfocr, server, code=2)
        # How many more were under way when the first of them was answered is a matter of speed.
        assert 1 <= server.met[Fault.OTHER_MODEL] <= PAGES - PAGES // 3
        assert "Traceback" not in ended.stderr
        kept = kept_texts(pdfocr.workspace)
        assert 0 < len(kept) < PAGES
        server.plan = Plan()
        before = server.asked.copy()
        run(pdfocr, server)
        assert_whole(pdfocr, server)
        assert not {good_text(digest) for digest in server.asked - before} & kept


def test_a_server_that_stays_away_ends_the_run_and_loses_nothing(pdfocr: Command) -> None:
    with fault_server(AfterAThird({Fault.ERROR: 1.0}, times=10**9)) as server:
        ended = run(pdfocr, server, code=1, patience={**QUICK, "PDFOCR_SERVER_PATIENCE_S": "4"})
        stderr = ended.stderr
        assert "run again" in stderr
        assert "Traceback" not in stderr
        kept = kept_texts(pdfocr.workspace)
        server.plan = Plan()
        before = server.asked.copy()
        run(pdfocr, server)
        for page in assert_whole(pdfocr, server):
            assert [attempt.reason for attempt in page.attempts] == [None]
        assert not {good_text(digest) for digest in server.asked - before} & kept


def test_the_same_seed_plays_the_same_faults() -> None:
    shares = dict.fromkeys(Fault, 1 / len(Fault))
    pictures = [str(number) for number in range(200)]

    def played(seed: int) -> list[Fault | None]:
        return [Plan(shares, seed=seed).fault(picture, 0) for picture in pictures]

    assert played(1) == played(1) != played(2)
    assert set(played(1)) == set(Fault)
    assert Plan(shares).fault("1", asked_before=1) is None
    with pytest.raises(ValueError, match="at most 1"):
        Plan({Fault.HANG: 0.6, Fault.CLOSE: 0.5})


def test_the_server_runs_by_itself() -> None:
    argv = [sys.executable, "-m", "pdfocr_core.testing", "--fault", "error=1", "--seed", "4"]
    process = subprocess.Popen(argv, text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        body: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "a page"}]}
        with httpx.Client(trust_env=False) as client:
            statuses = [client.post(f"{url}/chat/completions", json=body).status_code for _ in range(2)]
            # On the same connection, so what came before is over and counted.
            client.get(f"{url}/models")
        assert statuses == [500, 200]
    finally:
        process.terminate()
        said, _ = process.communicate(timeout=120)
    assert "2 requests, 1 good answers, 1 error" in said


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def kept_texts(workspace: Path) -> set[str]:
    """Texts of pages that are durable, in parts or committed."""
    opened = open_workspace(str(workspace))
    found = {page.text for page in records(workspace)}
    return found | {page.text for key in opened.group_keys() for page in opened.read_parts(key)}
