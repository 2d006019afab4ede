"""All bad inputs in one folder, read by one run: each ends as the table says, and its neighbours are whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import zstandard
from pydantic_core import from_json

from tests.bad_inputs import CASES, Case
from tests.bad_pdfs import plain
from tests.counting_server import counting_server
from tests.integration.conftest import Command

# Small, so that what is made to exhaust them does so quickly.
LIMITS = {"PDFOCR_RENDER_MEMORY_MB": "768", "PDFOCR_PAGE_RENDER_TIMEOUT_S": "5"}
NEIGHBOURS = {f"{letter}_neighbour.pdf": f"Neighbour {letter} is whole" for letter in "amz"}
# A name that is no text: nothing may stumble over it, and strict readers of JSON must be able to read what is written.
NAMELESS = b"caf\xe9 neighbour.pdf"
DRAWING = {"renderer_memory", "renderer_timeout", "renderer_crashed"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Command:
    pdfocr = Command(tmp_path_factory.mktemp("bad"))
    sources = pdfocr.folder / "sources"
    sources.mkdir()
    for case in CASES:
        (sources / case.filename).write_bytes(case.build())
    for name, phrase in NEIGHBOURS.items():
        (sources / name).write_bytes(plain(phrase))
    (sources / os.fsdecode(NAMELESS)).write_bytes(plain("A name that is no text"))
    with counting_server() as server:
        remote = ("--engine", "remote", "--model", "pdfocr-cpu", "--server", server.url, "--text-layer", "prefer")
        pdfocr("run", sources, *remote, "--workspace", pdfocr.workspace, code=3, extra_environment=LIMITS)
    return pdfocr


@pytest.fixture(scope="module")
def rows(finished: Command) -> dict[str, dict[str, Any]]:
    return finished.status_rows(finished.folder / "sources")


@pytest.fixture(scope="module")
def texts(finished: Command) -> dict[str, str]:
    root = f"{finished.folder / 'sources'}/"
    return {record["metadata"]["Source-File"].removeprefix(root): record["text"] for record in finished.dolma()}


def test_the_table_and_the_books_agree(finished: Command, rows: dict[str, dict[str, Any]]) -> None:
    expected = {case.filename for case in CASES if case.expect_status is not None}
    expected |= {*NEIGHBOURS, os.fsdecode(NAMELESS)}
    expected |= {f"{case.filename}::{member}" for case in CASES for member in case.members}
    assert {as_named(name) for name in rows} == expected
    assert finished.books()["balanced"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_ends_as_the_table_says(case: Case, rows: dict[str, dict[str, Any]], texts: dict[str, str]) -> None:
    if case.expect_status is not None:
        row = rows[case.filename]
        assert (row["status"], row["reason"], row["pages"]) == (case.expect_status, case.expect_reason, case.pages), row
        assert case.expect_flags <= set(row["flags"])
        assert bool(row["remedy"]) == (case.expect_reason is not None)
        if case.phrase and case.filename.endswith(".pdf") and case.build.__module__ == "tests.bad_pdfs":
            assert case.phrase in texts[case.filename]
        if case.exhausting:
            assert set(row["page_reasons"]) <= DRAWING
            assert row["page_reasons"]
    ended = {
        as_named(name).partition("::")[2]: row for name, row in rows.items() if name.startswith(f"{case.filename}::")
    }
    assert {name: (row["status"], row["reason"]) for name, row in ended.items()} == {
        name: (outcome.status, outcome.reason) for name, outcome in case.members.items()
    }


def test_the_neighbours_are_whole(rows: dict[str, dict[str, Any]], texts: dict[str, str]) -> None:
    for name, phrase in NEIGHBOURS.items():
        assert rows[name]["status"] == "ok"
        assert phrase in texts[name]


def test_what_is_written_is_strict_json(finished: Command) -> None:
    written = [*finished.workspace.rglob("*.jsonl"), *finished.workspace.rglob("*.jsonl.zst")]
    assert len(written) > 4
    for path in written:
        data = path.read_bytes()
        for line in (zstandard.decompress(data) if path.suffix == ".zst" else data).splitlines():
            from_json(line)  # refuses halves of surrogate pairs, which Python's own reader lets pass


def test_no_name_reached_the_file_system(finished: Command) -> None:
    assert not Path("/tmp/evil.pdf").exists()
    assert not list(finished.folder.parent.rglob("*evil.pdf"))


def as_named(url: str) -> str:
    """The row's name as the table spells it: bytes that are no text stand escaped in a row."""
    return url.replace("%E9", "\udce9")
