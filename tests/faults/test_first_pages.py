"""A server that writes nonsense at full speed is noticed within the first pages, and nothing of it is kept."""

from __future__ import annotations

from pdfocr_core.records import PageRecord
from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.server import fault_server
from pdfocr_core.workspace import open_workspace
from tests.documents import write_collection
from tests.integration.conftest import Command

MODEL = "olmocr-2"  # the CPU engine is of one piece and not judged
PAGES = 60
QUICK = {"PDFOCR_CHECKPOINT_INTERVAL_S": "0.2"}


def test_nonsense_stops_the_run_and_the_next_reads_those_pages_anew(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=12, pages=5)
    arguments = [
        "run",
        sources,
        "--engine",
        "remote",
        "--model",
        MODEL,
        "--text-layer",
        "off",
        # Fixed, so that few pages can have been asked by the time that the verdict is due.
        "--in-flight",
        8,
        "--workspace",
        pdfocr.workspace,
    ]
    with fault_server(Plan({Fault.FOREIGN: 1.0}, times=100)) as server:
        done = pdfocr(*arguments, "--server", server.url, code=2, extra_environment=QUICK)
        assert "first" in done.stderr
        assert "another form" in done.stderr
        assert "judge_first_pages" in done.stderr
        assert "Traceback" not in done.stderr
        assert len(server.asked) < PAGES, "it was stopped before every page was asked"
    opened = open_workspace(str(pdfocr.workspace))
    kept = [record for key in opened.group_keys() for record in opened.read_parts(key)]
    assert not [record for record in kept if isinstance(record, PageRecord)]
    with fault_server(Plan()) as server:
        pdfocr(*arguments, "--server", server.url, extra_environment=QUICK)
    books = pdfocr.books()
    assert (books["pages_ok"], books["pages_failed"], books["balanced"]) == (PAGES, 0, True)


def test_a_collection_that_is_shorter_than_the_trial_ends_with_its_failures_told(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=2, pages=3)
    with fault_server(Plan({Fault.FOREIGN: 1.0}, times=100)) as server:
        arguments = ("--engine", "remote", "--model", MODEL, "--text-layer", "off", "--server", server.url)
        pdfocr.run(sources, *arguments, code=3)
    books = pdfocr.books()
    assert books["balanced"]
    assert books["pages_ok"] == 0


def test_the_trial_can_be_switched_off(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=12, pages=2)
    with fault_server(Plan({Fault.FOREIGN: 1.0}, times=100)) as server:
        arguments = [
            "run",
            sources,
            "--engine",
            "remote",
            "--model",
            MODEL,
            "--text-layer",
            "off",
            "--workspace",
            pdfocr.workspace,
        ]
        settings = {"PDFOCR_JUDGE_FIRST_PAGES": "0"}
        pdfocr(*arguments, "--server", server.url, code=3, extra_environment=settings)
        assert len(server.asked) == 24
