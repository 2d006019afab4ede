"""Two of everything at the same time: indexings, runs on one group, commands on one workspace. One wins, none tears."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from pdfocr_core.documents import PageGroup
from pdfocr_core.flow.group import Stages, finish_group
from pdfocr_core.records import DocumentRecord, PageRecord, PageStatus
from pdfocr_core.settings import IndexSettings, ReadSettings
from pdfocr_core.sources.index import update_index
from pdfocr_core.testing.server import MODEL, FaultServer, fault_server
from pdfocr_core.workspace import Workspace, line_of, open_workspace
from pdfocr_dagster.runs import open_instance
from tests.documents import write_collection, write_pdf
from tests.faults.outcome import differences, outcome
from tests.faults.test_servers import hold_answers
from tests.integration.conftest import Command

DOCUMENTS, PAGES = 4, 3
INDEX = """
import sys, time
from pdfocr_core.session import index_sources
from pdfocr_core.settings import IndexSettings, RenderSettings
from pdfocr_core.workspace import open_workspace
workspace, sources, start = sys.argv[1:]
settings = IndexSettings(pages_per_group=5, count_pages=False)
time.sleep(max(0.0, float(start) - time.time()))
print(index_sources(open_workspace(workspace), [sources], settings, RenderSettings()).new_documents)
"""


@dataclass
class Sources:
    """What is read, and what one run alone makes of it."""

    folder: Path
    outcome: dict[str, Any]

    def arguments(self, pdfocr: Command, server: FaultServer) -> tuple[object, ...]:
        remote = ("--engine", "remote", "--model", MODEL, "--server", server.url, "--in-flight", 2)
        return ("run", self.folder, *remote, "--pages-per-group", 6, "--workspace", pdfocr.workspace)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("read-by-two")
    sources = Sources(write_collection(folder / "sources", documents=DOCUMENTS, pages=PAGES), {})
    alone = Command(tmp_path_factory.mktemp("alone"))
    with fault_server() as server:
        alone(*sources.arguments(alone, server))
    sources.outcome = outcome(alone.workspace)
    return sources


def assert_whole(pdfocr: Command, sources: Sources) -> None:
    assert differences(outcome(pdfocr.workspace), sources.outcome) == []
    assert not [path for path in pdfocr.workspace.rglob("*") if "#" in path.name or "part-" in path.name]
    summary = json.loads((pdfocr.workspace / "report" / "summary.json").read_text())
    assert (summary["balanced"], summary["pages_ok"]) == (True, DOCUMENTS * PAGES)


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    _stdout, stderr = process.communicate(timeout=300)
    assert "Traceback" not in stderr, stderr
    return process.returncode, stderr


def test_of_two_commands_the_second_leaves_to_the_first_what_it_reads(
    pdfocr: Command, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fault_server() as server:
        # The first cannot be done before the second is.
        let_go = hold_answers(server, monkeypatch)
        first = pdfocr.start(*sources.arguments(pdfocr, server))
        wait_until(lambda: server.asked.total() > 0 or first.poll() is not None)
        second = pdfocr.start(*sources.arguments(pdfocr, server))
        code, said = end(second)
        assert (code, "read by another run" in said) == (3, True), said
        let_go.set()
        assert end(first)[0] == 0
        assert set(server.asked.values()) == {1}
    assert_whole(pdfocr, sources)


@pytest.mark.nightly
def test_two_commands_in_the_same_instant(pdfocr: Command, sources: Sources) -> None:
    with fault_server(seconds=0.2) as server:
        both = [pdfocr.start(*sources.arguments(pdfocr, server)) for _ in range(2)]
        ends = [end(process) for process in both]
    assert {code for code, _said in ends} <= {0, 3}, ends
    assert 0 in {code for code, _said in ends}, ends
    assert_whole(pdfocr, sources)


def open_history(workspace: str, together: Barrier, found: multiprocessing.Queue[str | None]) -> None:
    together.wait()
    try:
        with open_instance(workspace) as (instance, _home):
            instance.get_runs(limit=1)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
        found.put(repr(error))
    else:
        found.put(None)


def test_commands_that_create_one_history_in_the_same_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    forks = multiprocessing.get_context("fork")
    for number in range(2):
        together, found = forks.Barrier(3), forks.Queue()
        arguments = (str(tmp_path / str(number)), together, found)
        processes = [forks.Process(target=open_history, args=arguments, daemon=True) for _ in range(3)]
        for process in processes:
            process.start()
        assert [found.get(timeout=120) for _ in processes] == [None] * 3
        for process in processes:
            process.join()


def test_two_runs_that_know_nothing_of_each_other_read_one_group(
    pdfocr: Command, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fault_server(seconds=0.3) as server:
        let_go = hold_answers(server, monkeypatch)
        homes = [{"DAGSTER_HOME": str(pdfocr.folder / name)} for name in ("one", "two")]
        both = [pdfocr.start(*sources.arguments(pdfocr, server), extra_environment=home) for home in homes]
        # Each has its two pages in flight, all of the first group.
        wait_until(lambda: server.asked.total() >= 4 or any(process.poll() is not None for process in both))
        let_go.set()
        ends = [end(process) for process in both]
        assert max(server.asked.values()) == 2
    assert [code for code, _said in ends] == [0, 0], ends
    assert any("read by another run" in said for _code, said in ends), ends
    assert_whole(pdfocr, sources)


def test_two_indexings_put_every_document_into_one_group(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    for number in range(120):
        write_pdf(sources / f"{number:03}.pdf", [str(number)])
    workspace = tmp_path / "workspace"
    start = str(time.time() + 3)
    argv = [sys.executable, "-c", INDEX, str(workspace), str(sources), start]
    racing = [subprocess.Popen(argv, text=True, stdout=subprocess.PIPE) for _ in range(3)]
    new = [int(process.communicate()[0]) for process in racing]
    opened = open_workspace(str(workspace))
    rows = Counter(row.url for row in opened.read_index())
    assert (len(rows), set(rows.values())) == (120, {1})
    assert sum(new) == 120
    for key in opened.group_keys():
        assert opened.read_manifest(key).key == key


def test_two_that_replace_a_group_leave_pages_and_results_of_the_same_one(tmp_path: Path) -> None:
    write_pdf(tmp_path / "sources" / "a.pdf", ["one"])
    workspace = open_workspace(str(tmp_path / "workspace"))
    update_index(workspace, [str(tmp_path / "sources")], IndexSettings(), lambda paths: [1] * len(paths))
    (key,) = workspace.group_keys()
    group = workspace.read_manifest(key)

    def write(text: str) -> None:
        commit(workspace, group, text, replace=True)
        finish_group(workspace, key, Stages(), ReadSettings(), "model")

    for number in range(25):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write, (f"left {number}", f"right {number}")))
        (text,) = [record.text for record in workspace.read_pages(key) or () if isinstance(record, PageRecord)]
        assert json.loads(workspace.read_results(key))["text"].strip() == text
        (markdown,) = (tmp_path / "workspace" / "markdown").rglob("*.md")
        assert markdown.read_text().strip() == text


def test_of_two_first_commits_one_stays(tmp_path: Path) -> None:
    write_pdf(tmp_path / "sources" / "a.pdf", ["one"])
    workspace = open_workspace(str(tmp_path / "workspace"))
    update_index(workspace, [str(tmp_path / "sources")], IndexSettings(), lambda paths: [1] * len(paths))
    group = workspace.read_manifest(workspace.group_keys()[0])
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: commit(workspace, group, str(number), replace=False), range(8)))
    (text,) = [record.text for record in workspace.read_pages(group.key) or () if isinstance(record, PageRecord)]
    assert won.count(True) == 1
    assert won[int(text)]


def commit(workspace: Workspace, group: PageGroup, text: str, *, replace: bool) -> bool:
    """Commit a group of one document of one page that says this."""
    (document,) = group.documents
    whose = {"document_id": document.document_id, "content_id": "0" * 64, "engine_id": "e"}
    of_document = DocumentRecord(**whose, url=document.url, version=document.version, bytes=1, kind="pdf", pages=1)
    page = PageRecord(**whose, page=1, status=PageStatus.OK, method="model", text=text)
    lines = [line_of(of_document), line_of(page)]
    return workspace.commit_pages(group.key, lines, sum(map(len, lines)), replace=replace)


def wait_until(condition: object, seconds: float = 120) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
