"""The command over a collection, against a server that counts what it is asked."""

from __future__ import annotations

import os
import random
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from pdfocr_core.records import PageRecord
from pdfocr_core.workspace import open_workspace
from tests.counting_server import CountingServer, counting_server
from tests.documents import write_collection, write_pdf
from tests.integration.conftest import SAMPLES, Command

REMOTE = ("--engine", "remote", "--model", "pdfocr-cpu")


def outputs(workspace: Path) -> dict[str, Any]:
    """Everything that readers of a workspace get, without times."""
    found: dict[str, Any] = {}
    for folder in ("results", "status", "markdown"):
        for path in sorted((workspace / folder).rglob("*")):
            if path.is_file():
                found[str(path.relative_to(workspace))] = path.read_bytes()
    return found


def page_records(workspace: Path) -> list[dict[str, Any]]:
    opened = open_workspace(str(workspace))
    records = [record.model_dump() for key in opened.group_keys() for record in opened.read_pages(key) or []]
    for record in records:
        for name in ("started_at", "finished_at"):
            record.pop(name, None)
        for attempt in record.get("attempts", []):
            attempt.pop("seconds")
    return records


def run(pdfocr: Command, server: CountingServer, *more: object, code: int | None = 0) -> None:
    pdfocr.run(pdfocr.folder / "sources", *REMOTE, "--server", server.url, *more, code=code)


def test_a_second_run_asks_nothing_and_a_new_file_is_one_new_group(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=4, pages=3)
    with counting_server() as server:
        run(pdfocr, server, "--pages-per-group", 6)
        assert (server.requests, max(server.pictures.values())) == (12, 1)
        books = pdfocr.books()
        assert (books["groups"], books["documents"], books["pages_ok"], books["balanced"]) == (2, 4, 12, True)
        before = outputs(pdfocr.workspace)
        report = pdfocr.workspace / "report" / "index.html"
        written = report.stat().st_mtime_ns

        run(pdfocr, server, "--pages-per-group", 6)
        assert server.requests == 12
        assert outputs(pdfocr.workspace) == before
        assert report.stat().st_mtime_ns == written, "it would say the same"

        write_pdf(sources / "more.pdf", ["one more"])
        run(pdfocr, server, "--pages-per-group", 6)
        assert server.requests == 13
        assert report.stat().st_mtime_ns > written
        assert pdfocr.books()["groups"] == 3
        assert before.items() <= outputs(pdfocr.workspace).items()


def test_equal_bytes_under_two_names_are_read_once(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=2, pages=4)
    (sources / "copies").mkdir()
    for path in list(sources.glob("*.pdf")):
        (sources / "copies" / path.name).write_bytes(path.read_bytes())
    with counting_server() as server:
        run(pdfocr, server)
        assert server.requests == 8
    documents = pdfocr.dolma()
    assert len(documents) == 4
    assert len({document["id"] for document in documents}) == 4
    assert len({document["metadata"]["content-id"] for document in documents}) == 2


def test_a_killed_run_loses_nothing_and_repeats_nothing(pdfocr: Command, tmp_path: Path) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=24, pages=3)
    settings = ("--pages-per-group", 9, "--in-flight", 3)
    chance = random.Random(0)
    with counting_server(seconds=0.15) as server:
        arguments = ("run", sources, *REMOTE, "--server", server.url, *settings, "--workspace", pdfocr.workspace)
        durable: dict[str, int] = {}
        committed: dict[Path, int] = {}
        for kills in range(12):
            if kills >= 3 and durable:
                break
            before = server.requests
            process = pdfocr.start(*arguments, extra_environment={"PDFOCR_CHECKPOINT_INTERVAL_S": "0.2"})
            wait_until(lambda before=before: server.requests > before or process.poll() is not None)
            # On a machine that gets nothing done in this time, it is longer after the first kills.
            time.sleep(chance.uniform(0.1, 1.5) * (1 + kills // 3))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            wait_until(lambda: not left_over_processes(pdfocr.folder))
            # What is on disk now must never be asked again, and what is committed never be touched: what was seen first counts.
            durable = {picture: server.pictures[picture] for picture in durable_pictures(pdfocr.workspace)} | durable
            committed = {
                path: path.stat().st_mtime_ns for path in (pdfocr.workspace / "pages").glob("*.zst")
            } | committed
        assert durable
        run(pdfocr, server, *settings)
        assert {picture: server.pictures[picture] for picture in durable} == durable
        assert {path: path.stat().st_mtime_ns for path in committed} == committed
    assert (pdfocr.books()["balanced"], pdfocr.books()["pages_ok"]) == (True, 72)
    assert not list((pdfocr.workspace / "pages").glob("*/*"))

    undisturbed = Command(tmp_path / "undisturbed", workspace_name="workspace")
    undisturbed.folder.mkdir()
    with counting_server() as server:
        undisturbed.run(sources, *REMOTE, "--server", server.url, *settings)
    assert page_records(pdfocr.workspace) == page_records(undisturbed.workspace)


def test_ctrl_c_ends_cleanly_and_the_next_run_goes_on(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=12, pages=2)
    with counting_server(seconds=0.3) as server:
        arguments = ("run", sources, *REMOTE, "--server", server.url, "--in-flight", 2, "--workspace", pdfocr.workspace)
        process = pdfocr.start(*arguments)
        wait_until(lambda: server.requests >= 4)
        process.send_signal(signal.SIGINT)
        _stdout, stderr = process.communicate(timeout=240)
        assert process.returncode == 130, stderr
        assert "Traceback" not in stderr
        wait_until(lambda: not left_over_processes(pdfocr.folder))
        durable = {picture: server.pictures[picture] for picture in durable_pictures(pdfocr.workspace)}
        assert durable
        run(pdfocr, server, "--in-flight", 2)
        assert {picture: server.pictures[picture] for picture in durable} == durable
        assert pdfocr.books()["pages_ok"] == 24


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no/such/folder"], "no/such/folder"),
        ([".", "--engine", "remote"], "--server"),
        ([".", "--engine", "remote", "--server", "http://127.0.0.1:9/v1", "--model", "no-such-model"], "no-such-model"),
    ],
)
def test_wrong_use_is_told_at_once(pdfocr: Command, arguments: list[str], words: str) -> None:
    write_pdf(pdfocr.folder / "a.pdf", ["text"])
    done = pdfocr.run(*arguments, code=2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_two_workspaces_do_not_mix_in_one_instance(pdfocr: Command) -> None:
    write_collection(pdfocr.folder / "sources", documents=1, pages=1)
    home = {"DAGSTER_HOME": str(pdfocr.folder / "home")}
    with counting_server() as server:
        arguments = ("run", pdfocr.folder / "sources", *REMOTE, "--server", server.url)
        assert pdfocr(*arguments, "--workspace", "one", extra_environment=home).returncode == 0
        refused = pdfocr(*arguments, "--workspace", "two", extra_environment=home, code=2)
        assert "--collection" in refused.stderr
        other = pdfocr(*arguments, "--workspace", "two", "--collection", "other", extra_environment=home)
        assert other.returncode == 0
    assert len(list((pdfocr.folder / "two" / "results").glob("*.jsonl"))) == 1


def durable_pictures(workspace: Path) -> set[str]:
    """Pictures whose page is in a part or a committed group: the server's text names them."""
    opened = open_workspace(str(workspace))
    found = set()
    for key in opened.group_keys():
        for record in [*(opened.read_pages(key) or []), *opened.read_parts(key)]:
            if isinstance(record, PageRecord):
                found.add(record.text.removeprefix("Picture ").removesuffix("."))
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def left_over_processes(folder: Path) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["cwd"])
        if process.info["cwd"] and process.info["cwd"].startswith(str(folder)) and process.pid != os.getpid()
    ]


def test_retry_reads_again_what_failed_and_only_that(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=2, pages=2)
    (sources / "locked.pdf").write_bytes((SAMPLES / "locked.pdf").read_bytes())
    with counting_server() as server:
        run(pdfocr, server, code=3)
        assert pdfocr.books()["by_reason"] == {"password_required": 1}
        assert server.requests == 4
        options = (*REMOTE, "--server", server.url)
        password = {"PDFOCR_PASSWORDS": "wrong\nlighthouse"}
        arguments = ("retry", pdfocr.workspace, "--reason", "password_required", *options)
        pdfocr(*arguments, extra_environment=password)
        assert pdfocr.books()["by_status"] == {"ok": 3}
        assert server.requests == 5
    written = [path for path in pdfocr.folder.rglob("*") if path.is_file() and path.parent != sources]
    assert not [path for path in written if b"lighthouse" in path.read_bytes()]


def test_the_command_that_the_summary_shows_works_and_says_how_a_replaced_file_is_read(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=1, pages=1)
    (sources / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    with counting_server() as server:
        done = pdfocr.run(sources, *REMOTE, "--server", server.url, code=3)
        (line,) = (line for line in done.stderr.splitlines() if "read again what failed" in line)
        words = shlex.split(line.rpartition("only that: ")[2])
        assert words[:3] == ["pdfocr", "retry", "workspace"]
        assert server.url in words
        write_pdf(sources / "broken.pdf", ["whole"])
        done = pdfocr(*words[1:], code=3)
        assert pdfocr.books()["by_reason"] == {"source_changed": 1}
        assert "`pdfocr run` with the same sources reads it as it is now" in done.stderr
        run(pdfocr, server)
    books = pdfocr.books()
    assert (books["by_status"], books["superseded"], books["balanced"]) == ({"failed": 1, "ok": 2}, 1, True)


def test_a_run_of_what_is_not_there_leaves_no_empty_workspace(pdfocr: Command) -> None:
    done = pdfocr.run(pdfocr.folder / "nothing", "--engine", "cpu", code=2)
    assert "there is no such file or folder" in done.stderr
    assert not pdfocr.workspace.exists()


def test_a_run_that_fails_says_why(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=1, pages=1)
    with counting_server() as server:
        run(pdfocr, server)
        (pdfocr.workspace / "report").rename(pdfocr.workspace / "aside")
        (pdfocr.workspace / "report").write_text("in the way")
        write_pdf(sources / "more.pdf", ["text"])
        done = pdfocr.run(sources, *REMOTE, "--server", server.url, code=1)
    assert "report" in done.stderr
    assert "Traceback" not in done.stderr


def test_equal_bytes_are_read_anew_by_another_engine(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=1, pages=2)
    (sources / "copy.pdf").write_bytes((sources / "document000.pdf").read_bytes())
    with counting_server() as server:
        run(pdfocr, server)
        # What text layers are used for is part of the engine; the committed records are of another one now.
        run(pdfocr, server, "--text-layer", "off", "--reread")
        assert server.requests == 4
    engines = {record["engine_id"] for record in page_records(pdfocr.workspace)}
    assert len(engines) == 1
    assert pdfocr.books()["pages_ok"] == 4


def test_a_retry_reaches_equal_bytes_under_another_name(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=1, pages=2)
    (sources / "copy.pdf").write_bytes((sources / "document000.pdf").read_bytes())
    with counting_server() as server:
        server.foreign = True
        run(pdfocr, server, "--text-layer", "off", code=3)
        assert pdfocr.books()["pages_failed"] == 4
        server.foreign = False
        options = (*REMOTE, "--server", server.url, "--text-layer", "off")
        pdfocr("retry", pdfocr.workspace, "--reason", "bad_front_matter", *options)
    assert (pdfocr.books()["pages_ok"], pdfocr.books()["balanced"]) == (4, True)
