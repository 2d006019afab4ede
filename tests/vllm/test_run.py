"""`pdfocr run` with a real vLLM: one start for all groups, front matter on every page, nothing left behind."""

from __future__ import annotations

import signal

import pytest

from pdfocr_core.records import PageRecord
from tests.documents import write_collection
from tests.vllm.conftest import VllmCommand, lives, wait_until


def assert_all_were_read(pages: list[PageRecord], number: int) -> None:
    assert len(pages) == len({(page.document_id, page.page) for page in pages}) == number
    assert {page.status.value for page in pages} == {"ok"}
    reasons = [attempt.reason for page in pages for attempt in page.attempts]
    # Random facts: some pages are asked again because the answer says that they lie on their side.
    assert set(reasons) <= {None, "wrong_rotation"}
    for page in pages:
        assert page.raw is not None
        assert page.raw.startswith("---\nprimary_language: ")
        assert page.raw.count("\n---\n") >= 1


def test_many_pages_in_several_groups_take_one_start(vllm_run: VllmCommand) -> None:
    sources = write_collection(vllm_run.folder / "sources", documents=15, pages=7)
    vllm_run.run(sources, "--pages-per-group", 21)
    assert_all_were_read(vllm_run.pages(), 105)
    books = vllm_run.books()
    assert (books["groups"], books["balanced"]) == (5, True)
    assert vllm_run.starts == 1
    vllm_run.assert_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process(vllm_run: VllmCommand, number: signal.Signals) -> None:
    sources = write_collection(vllm_run.folder / "sources", documents=20, pages=4)
    process = vllm_run.start("run", sources, "--in-flight", 2, "--workspace", vllm_run.workspace)
    vllm_run.wait_for_pages(3, process)
    kept = {(page.document_id, page.page) for page in vllm_run.pages()}
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if number is signal.SIGKILL else 130), stderr
    vllm_run.assert_nothing_is_left()
    assert kept <= {(page.document_id, page.page) for page in vllm_run.pages()}


def test_a_run_that_fails_leaves_no_process_and_the_next_goes_on(vllm_run: VllmCommand) -> None:
    sources = write_collection(vllm_run.folder / "sources", documents=6, pages=4)
    vllm_run.settings["PDFOCR_RESTARTS"] = "0"
    process = vllm_run.start("run", sources, "--in-flight", 2, "--workspace", vllm_run.workspace)
    vllm_run.wait_for_pages(3, process)
    kept = {(page.document_id, page.page): page.raw for page in vllm_run.pages()}
    vllm_run.process("VLLM::EngineCore").send_signal(signal.SIGKILL)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1, stderr
    assert "The end of its log" in stderr
    assert "the same command goes on from there" in stderr
    vllm_run.assert_nothing_is_left()
    vllm_run.run(sources)
    read = {(page.document_id, page.page): page.raw for page in vllm_run.pages()}
    assert {place: read[place] for place in kept} == kept
    assert_all_were_read(vllm_run.pages(), 24)
    assert vllm_run.starts == 2
    vllm_run.assert_nothing_is_left()


def test_a_run_goes_on_when_parts_of_the_server_are_killed(vllm_run: VllmCommand) -> None:
    sources = write_collection(vllm_run.folder / "sources", documents=20, pages=5)
    process = vllm_run.start(
        "run", sources, "--pages-per-group", 25, "--in-flight", 4, "--workspace", vllm_run.workspace
    )
    for starts, (pages, words) in enumerate(((8, "vllm serve"), (40, "VLLM::EngineCore")), 1):
        vllm_run.wait_for_pages(pages, process)
        assert vllm_run.starts == starts
        before = vllm_run.process("guard.py").children(recursive=True)
        vllm_run.process(words).send_signal(signal.SIGKILL)
        wait_until(lambda starts=starts: vllm_run.starts > starts, 120)
        assert not [child for child in before if lives(child)], "the next server started beside the old one"
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    assert_all_were_read(vllm_run.pages(), 100)
    # No attempt was spent on the server's death: the records hold answers only.
    assert all(attempt.completion_tokens for page in vllm_run.pages() for attempt in page.attempts)
    assert vllm_run.starts == 3
    vllm_run.assert_nothing_is_left()
