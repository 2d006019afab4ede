"""Whoever reads a workspace while it is written finds every file whole or not there, and never changed afterwards."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
import zstandard

from pdfocr_core.testing.server import MODEL, fault_server
from tests.documents import write_collection
from tests.integration.conftest import Command

# What a run writes anew: the report says how far the collection is.
REWRITTEN = ("report/",)
# The store's own temporary names, which it never lists to its readers, and checkpoint parts, which go in the end.
PASSED_BY = re.compile(r"#\d+$")
REMOVED = re.compile(r"^pages/[^/]+/part-")


def lines_of_json(data: bytes) -> None:
    assert data.endswith(b"\n")
    for line in data.splitlines():
        json.loads(line)


def packed(check: Callable[[bytes], None]) -> Callable[[bytes], None]:
    return lambda data: check(zstandard.ZstdDecompressor().decompress(data, max_output_size=2**28))


def table(data: bytes) -> None:
    header, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
    assert all(len(row) == len(header) for row in rows)


def parquet(data: bytes) -> None:
    assert data[:4] == data[-4:] == b"PAR1"


def ends_a_line(data: bytes) -> None:
    assert data.endswith(b"\n")


CHECKS: dict[str, Callable[[bytes], object]] = {
    ".jsonl": lines_of_json,
    ".jsonl.zst": packed(lines_of_json),
    ".csv.zst": packed(table),
    ".csv": table,
    ".json": json.loads,
    ".md": ends_a_line,
    ".parquet": parquet,
    ".html": lambda data: data.decode().rstrip().endswith("</html>") or pytest.fail("half a page"),
}


def look(root: Path, seen: dict[str, str]) -> list[str]:
    """Read everything once. Returns what is wrong."""
    wrong = []
    # Not `rglob`: a folder may go, with the parts in it, before it is looked into.
    for path in [Path(folder, name) for folder, _folders, names in os.walk(root) for name in names]:
        name = str(path.relative_to(root))
        if PASSED_BY.search(name):
            continue
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        suffix = next((suffix for suffix in sorted(CHECKS, key=len, reverse=True) if name.endswith(suffix)), None)
        if suffix is None:
            wrong.append(f"{name}: a kind of file that nobody told readers of")
            continue
        try:
            CHECKS[suffix](data)
        except Exception as error:  # noqa: BLE001 - whatever it is, the file was not whole
            wrong.append(f"{name}: {error!r} in {len(data)} bytes")
        digest = hashlib.sha256(data).hexdigest()
        if seen.setdefault(name, digest) != digest and not name.startswith(REWRITTEN):
            wrong.append(f"{name}: changed after it was there")
    left = [name for name in seen if not (root / name).exists()]
    return wrong + [f"{name}: went away" for name in left if not REMOVED.match(name)]


def watch(root: Path, over: Event, found: multiprocessing.Queue[tuple[int, list[str], list[str]]]) -> None:
    seen: dict[str, str] = {}
    wrong: set[str] = set()
    looks = 0
    while not over.is_set():
        wrong.update(look(root, seen))
        looks += 1
        time.sleep(0.002)
    found.put((looks, sorted(seen), sorted(wrong)))


def test_readers_never_see_half_a_file_nor_a_change(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=12, pages=3)
    forks = multiprocessing.get_context("fork")
    over, found = forks.Event(), forks.Queue()
    watcher = forks.Process(target=watch, args=(pdfocr.workspace, over, found), daemon=True)
    # Slow enough for parts to be there for a while.
    with fault_server(seconds=0.3) as server:
        remote = ("--engine", "remote", "--model", MODEL, "--server", server.url, "--in-flight", 3)
        arguments = ("run", sources, *remote, "--pages-per-group", 6, "--workspace", pdfocr.workspace)
        watcher.start()
        try:
            pdfocr(*arguments, extra_environment={"PDFOCR_CHECKPOINT_INTERVAL_S": "0.1"})
            pdfocr(*arguments)
        finally:
            over.set()
            looks, seen, wrong = found.get(timeout=60)
            watcher.join()
    assert wrong == []
    assert looks > 50
    kinds = {name.partition("/")[0] for name in seen}
    assert {"index", "groups", "pages", "results", "status", "markdown", "report"} <= kinds
    assert any(REMOVED.match(name) for name in seen)
    print(f"{looks} looks at {len(seen)} files")


def test_the_watcher_sees_what_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    file = tmp_path / "results" / "output_a.jsonl"
    seen: dict[str, str] = {}
    file.write_text('{"id": 1}\n{"id"')
    assert any("bytes" in line for line in look(tmp_path, seen))
    file.write_text('{"id": 1}\n')
    assert look(tmp_path, seen) == ["results/output_a.jsonl: changed after it was there"]
    file.unlink()
    assert look(tmp_path, seen) == ["results/output_a.jsonl: went away"]
