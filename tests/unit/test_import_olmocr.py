"""Adopting an olmOCR workspace: what is taken over, what is left to be read, and that twice is once."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.flow.group import Stages, finish_group, reusable
from pdfocr_core.migration.adopt import OlmocrImport, adopt
from pdfocr_core.migration.olmocr import OlmocrWorkspace
from pdfocr_core.migration.sources import Sources
from pdfocr_core.outputs.books import read_books
from pdfocr_core.outputs.markdown import parse_results
from pdfocr_core.records import DocumentRecord, PageRecord
from pdfocr_core.settings import ArchiveLimits, IndexSettings, ReadSettings
from pdfocr_core.sources.index import IndexReport, update_index
from pdfocr_core.sources.standing import standings_of
from pdfocr_core.store import open_store
from pdfocr_core.workspace import Workspace, open_workspace
from tests.olmocr_workspace import OlmocrMaker, dolma

PDF = b"%PDF-1.4\n"


class Place:
    """Sources, an olmOCR workspace and one of ours, in a folder that olmOCR was run in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.theirs = folder / "olmocr"
        self.maker = OlmocrMaker(self._put)
        self.workspace = open_workspace(str(folder / "ws"))

    def _put(self, name: str, data: bytes) -> None:
        path = self.theirs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def source(self, name: str, data: bytes = PDF, second: float = 1) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (second, second))
        return name

    def adopt(self, **more: Any) -> OlmocrImport:
        self.maker.finish()
        olmocr = OlmocrWorkspace(open_store(str(self.theirs)))
        sources = Sources(str(self.folder), open_store, ArchiveLimits())
        return adopt(self.workspace, olmocr, sources, IndexSettings(), **more)

    def index(self, *sources: str) -> IndexReport:
        named = [str(self.folder / name) for name in sources or ("docs",)]
        return update_index(self.workspace, named, IndexSettings(count_pages=False))

    def names(self, urls: list[str]) -> list[str]:
        return [url.removeprefix(f"{self.folder}/") for url in urls]

    def files(self) -> dict[str, bytes]:
        root = self.folder / "ws"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_results_are_taken_over_and_what_was_lost_is_found(place: Place) -> None:
    names = [place.source(f"docs/{name}.pdf") for name in ("a", "b, with comma", "lost", "later")]
    place.maker.item(names[:3], {names[0]: ["first", None, "third\nline"], names[1]: ["only"]})
    place.maker.item(names[3:], None, done=False)
    report = place.adopt()
    assert (report.items, report.pages, report.known) == (2, 4, 0)
    assert place.names(report.imported) == names[:2]
    assert (place.names(report.lost), place.names(report.unfinished)) == ([names[2]], [names[3]])
    assert (len(report.groups), len(report.to_read)) == (1, 1)

    key = report.groups[0]
    records = place.workspace.read_pages(key) or []
    pages = [(r.page, r.status.value, r.text, r.language) for r in records if isinstance(r, PageRecord)]
    assert pages == [
        (1, "ok", "first", "en"),
        (2, "blank", "", "en"),
        (3, "ok", "third\nline", "en"),
        (1, "ok", "only", "en"),
    ]
    (first, second) = parse_results(place.workspace.read_results(key))
    theirs = dolma(names[0], ["first", None, "third\nline"])
    assert {name: first[name] for name in ("text", "attributes", "created", "source")} == {
        name: theirs[name] for name in ("text", "attributes", "created", "source")
    }
    assert (
        first["metadata"] | theirs["metadata"] | {"Source-File": first["metadata"]["Source-File"]} == first["metadata"]
    )
    assert (first["metadata"]["imported-id"], first["metadata"]["Source-File"]) == (
        theirs["id"],
        f"{place.folder}/{names[0]}",
    )
    assert second["id"] == next(r.document_id for r in records if isinstance(r, DocumentRecord) and "comma" in r.url)
    assert (place.folder / "ws/markdown/docs/a.pdf.md").read_text() == "first\n\nthird\nline\n"
    books = read_books(place.workspace)
    assert (books.documents, books.pending, books.by_status, books.balanced) == (4, 2, {"ok": 2}, True)


def test_twice_is_once_and_the_index_knows_it_all(place: Place) -> None:
    names = [place.source(f"docs/{name}.pdf") for name in ("a", "b", "lost")]
    place.maker.item(names, {names[0]: ["a"], names[1]: ["b"]})
    first = place.adopt()
    before = place.files()
    told: list[object] = []
    second = place.adopt(on_group=told.append)
    assert (second.known, second.imported, second.groups, second.to_read, told) == (3, [], [], [], [])
    assert place.files() == before
    report = place.index()
    assert (report.documents, report.new_documents, report.gone) == (3, 0, 0)
    assert place.workspace.group_keys() == [first.groups[0], *first.to_read]


def test_an_import_that_dies_is_done_again_from_the_start(place: Place) -> None:
    names = [place.source(f"docs/{number}.pdf") for number in range(6)]
    for name in names:
        place.maker.item([name], {name: [name]})
    seen: list[str] = []

    def dies(group: object) -> None:
        seen.append(str(group))
        if len(seen) == 3:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        place.adopt(on_group=dies)
    assert list(place.workspace.read_index()) == []
    report = place.adopt()
    assert (len(report.groups), len(place.workspace.group_keys())) == (6, 6)
    assert read_books(place.workspace).balanced


def test_a_group_that_was_imported_is_never_read_again_by_itself(place: Place) -> None:
    name = place.source("docs/a.pdf")
    place.maker.item([name], {name: ["text"]})
    key = place.adopt().groups[0]
    group = place.workspace.read_manifest(key)
    assert reusable(place.workspace, group, "some other engine")
    before = place.files()
    finish_group(place.workspace, key, Stages(), ReadSettings(), "m")  # a new Dagster instance does this
    assert place.files() == before


def test_a_source_that_changed_after_it_was_read_is_read_again(place: Place) -> None:
    name, same = place.source("docs/a.pdf", second=4_000_000_000), place.source("docs/b.pdf")
    place.maker.item([name, same], {name: ["old"], same: ["text"]})
    report = place.adopt(write=False)
    assert (place.names(report.changed), place.names(report.imported)) == ([name], [same])
    assert place.names(place.adopt(keep_changed=True).imported) == [name, same]


def test_what_an_import_has_left_for_the_next_run_is_told_by_a_second_one(place: Place) -> None:
    changed, sound = place.source("docs/a.pdf", second=4e9), place.source("docs/b.pdf")
    place.maker.item([changed, sound], {changed: ["old"], sound: ["text"]})
    assert place.names(place.adopt().changed) == [changed]
    before = place.files()
    again = place.adopt(keep_changed=True)
    assert (place.names(again.left), again.known, again.imported, again.to_read) == ([changed], 2, [], [])
    assert place.files() == before
    # Where it was taken at once there is nothing to tell.
    place.workspace = open_workspace(str(place.folder / "other"))
    assert place.names(place.adopt(keep_changed=True).imported) == [changed, sound]
    assert place.adopt(keep_changed=True).left == []


def test_the_date_of_a_result_tells_too_where_the_files_were_copied(place: Place) -> None:
    name = place.source("docs/a.pdf", second=1_700_000_000)  # 2023-11-14
    place.maker.item([name], {name: ["old"]}, created="2023-11-11")
    assert place.names(place.adopt(write=False).changed) == [name]
    place.maker.item([name], {name: ["new"]}, created="2023-11-13")
    assert place.names(place.adopt(write=False).imported) == [name]


def test_absent_sources_are_told_and_their_results_kept(place: Place) -> None:
    here = place.source("docs/here.pdf")
    place.maker.item(["docs/gone.pdf", here, "docs/never.pdf"], {"docs/gone.pdf": ["kept"], here: ["here"]})
    report = place.adopt()
    assert (place.names(report.absent), place.names(report.missing)) == (["docs/gone.pdf"], ["docs/never.pdf"])
    assert [str(standing) for standing in standings_of(Workspace(place.workspace.store)).rows.values()] == ["gone"]
    books = read_books(place.workspace)
    assert (books.documents, books.gone, books.pending) == (3, 1, 1)
    before = place.files()
    assert place.adopt().imported == []
    assert place.files() == before
    # When it is there again, its result stands for it: it is not read.
    place.source("docs/gone.pdf")
    assert place.names(place.adopt().imported) == ["docs/gone.pdf"]
    assert place.index().new_documents == 0


def test_none_of_the_sources_is_there(place: Place) -> None:
    place.maker.item(["docs/a.pdf"], {"docs/a.pdf": ["a"]})
    with pytest.raises(ConfigurationError, match="--base"):
        place.adopt()
    assert place.names(place.adopt(allow_absent=True).absent) == ["docs/a.pdf"]


def test_members_of_archives(place: Place) -> None:
    member = place.folder / "member.pdf"
    member.write_bytes(PDF)
    with tarfile.open(place.folder / "pack.tar.gz", "w:gz") as archive:
        for name in ("in/a.pdf", "in/lost.pdf", "x/same.pdf", "y/same.pdf"):
            archive.add(member, name)
    os.utime(place.folder / "pack.tar.gz", (1, 1))
    results = {f"pack.tar.gz::{name}": [name] for name in ("in/a.pdf", "x/same.pdf", "y/same.pdf")}
    place.maker.item(["pack.tar.gz"], dict(results))
    report = place.adopt()
    assert place.names(report.imported) == ["pack.tar.gz::in/a.pdf"]
    assert place.names(report.lost) == ["pack.tar.gz::in/lost.pdf"]
    assert place.names(report.mixed) == ["pack.tar.gz::x/same.pdf", "pack.tar.gz::y/same.pdf"]
    assert place.index("pack.tar.gz").new_documents == 0


def test_results_without_an_index_row_and_damaged_lines(place: Place) -> None:
    names = [place.source(f"docs/{name}.pdf") for name in ("a", "b", "c")]
    place.maker.item(names[:1], {names[0]: ["a"]})
    orphan = place.maker.item(names[1:], {names[1]: ["b"]})
    place.maker.rows.pop()  # two olmOCR commands that add paths at once lose some of each other's
    path = place.theirs / f"results/output_{orphan}.jsonl"
    wrong = dolma(names[2], ["c", "d"])
    wrong["attributes"]["pdf_page_numbers"][1][0] += 1
    path.write_bytes(path.read_bytes() + json.dumps(wrong).encode() + b'\n{"text": "cut\n')
    report = place.adopt()
    assert (place.names(report.imported), report.damaged) == (names[:2], 2)


def test_pages_from_the_text_layer_where_it_can_be_told(place: Place) -> None:
    name = place.source("docs/a.pdf")
    place.maker.item([name], {name: ["one", "two"]}, fallback=[2])
    key = place.adopt().groups[0]
    (row,) = place.workspace.read_status(key) or []
    assert (row.pages_ok, row.fallback_pages, row.flags) == (1, [2], ["imported"])


def test_a_workspace_that_is_none(place: Place, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="no workspace of olmOCR"):
        list(OlmocrWorkspace(open_store(str(tmp_path / "empty"))).items())
    place.maker.finish()
    (place.theirs / "work_index_list.csv.zstd").write_bytes(b"not zstd")
    with pytest.raises(ConfigurationError, match="damaged"):
        list(OlmocrWorkspace(open_store(str(place.theirs))).items())


def test_locks_of_workers_that_live(place: Place) -> None:
    name = place.source("docs/a.pdf")
    busy, done = place.maker.item([name], None, done=False), place.maker.item(["docs/b.pdf"], None)
    old = place.maker.item(["docs/c.pdf"], None, done=False)
    for key in (busy, done, old):
        place.maker.put(f"worker_locks/worker_{key}.lock", b"")
    os.utime(place.theirs / f"worker_locks/worker_{old}.lock", (1, 1))
    assert OlmocrWorkspace(open_store(str(place.theirs))).locked() == [busy]
