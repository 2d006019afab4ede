"""Documents whose source is gone, changed, or there again: what an indexing says of them, and when it says nothing."""

from __future__ import annotations

import os
import tarfile
import time
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from pdfocr_core.errors import ConfigurationError, StoreUnavailable
from pdfocr_core.marks import Mark, MarkKind
from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.index import IndexReport, update_index
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.store import Store
from pdfocr_core.workspace import Workspace, open_workspace

PDF = b"%PDF-1.4\n"


class Place:
    """A folder of files and a workspace over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = folder / "in"
        self.sources.mkdir()
        self.workspace = open_workspace(str(folder / "ws"))

    def put(self, name: str, data: bytes = PDF, *, second: int = 1) -> Path:
        path = self.sources / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (second, second))
        return path

    def index(self, *sources: str | Path, **settings: object) -> IndexReport:
        named = [str(source) for source in sources or (self.sources,)]
        return update_index(self.workspace, named, IndexSettings(count_pages=False, **settings))  # type: ignore[arg-type]

    def standings(self) -> dict[str, str]:
        return _standings(self.workspace, f"{self.sources}/")


def _standings(workspace: Workspace, root: str) -> dict[str, str]:
    fresh = Workspace(workspace.store)
    return {f"{row.url.removeprefix(root)}@{row.version}": str(kind) for row, kind in standings_of(fresh).rows.items()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_deleted_file_is_gone_once_and_live_again_when_it_is_back(place: Place) -> None:
    for name in ("a.pdf", "b.pdf", "deep/c.pdf"):
        place.put(name)
    assert place.index().gone == 0
    (place.sources / "deep/c.pdf").unlink()
    report = place.index()
    assert (report.gone, report.new_documents) == (1, 0)
    assert place.standings() == {"deep/c.pdf@9-1000000000": "gone"}
    before = place.workspace.history()
    assert place.index().gone == 0
    assert place.workspace.history() == before  # nothing is said twice
    place.put("deep/c.pdf")
    report = place.index()
    assert (report.new_documents, [Path(mark.url).name for mark in report.returned]) == (0, ["c.pdf"])
    assert place.standings() == {}


def test_a_changed_file_is_superseded_and_not_gone(place: Place) -> None:
    place.put("a.pdf")
    place.put("b.pdf")
    place.index()
    place.put("a.pdf", PDF + b"new", second=2)
    report = place.index()
    assert (report.gone, report.new_documents) == (0, 1)
    assert place.standings() == {"a.pdf@9-1000000000": "superseded"}
    place.put("a.pdf")  # the old version is put back
    report = place.index()
    assert (report.new_documents, len(report.returned)) == (0, 1)
    assert place.standings() == {"a.pdf@12-2000000000": "superseded"}
    (place.sources / "a.pdf").unlink()
    assert place.index().gone == 1
    assert place.standings() == {"a.pdf@12-2000000000": "superseded", "a.pdf@9-1000000000": "gone"}


def test_what_was_not_listed_to_its_end_says_nothing(place: Place) -> None:
    kept = place.put("kept/a.pdf")
    gone = place.put("other/b.pdf")
    place.index()
    gone.unlink()
    assert place.index(place.sources / "kept").gone == 0  # a source no longer named
    assert place.index(kept).gone == 0  # a single file
    with pytest.raises(ConfigurationError):
        place.index(place.sources, place.sources / "not there")  # one listing failed
    assert place.index(place.sources / "*.txt", require_sources=False).gone == 0
    assert (
        place.index(place.sources / "other", place.sources / "kept").gone == 0
    )  # nothing at all in the one that lost it
    assert place.standings() == {}
    assert place.index(place.sources / "*" / "*.pdf").gone == 1


def test_a_pattern_speaks_only_of_what_it_would_match(place: Place) -> None:
    for name in ("x/1.pdf", "x/2.pdf", "y/3.pdf", "x/deep/4.pdf"):
        place.put(name)
    place.index()
    for name in ("x/2.pdf", "y/3.pdf", "x/deep/4.pdf"):
        (place.sources / name).unlink()
    assert place.index(place.sources / "x" / "[0-9].pdf").gone == 1
    assert place.standings() == {"x/2.pdf@9-1000000000": "gone"}
    assert place.index(place.sources / "x*").gone == 1  # a folder that matches is taken whole
    assert place.index(f"{place.sources}/**").gone == 1


def test_what_is_there_but_not_visited_is_not_gone(place: Place) -> None:
    hidden = place.put(".hidden/a.pdf")
    place.put("b.pdf")
    elsewhere = place.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.pdf").write_bytes(PDF)
    (place.sources / "link").symlink_to(elsewhere)
    place.index(hidden, place.sources, place.sources / "link/")
    assert place.index().gone == 0
    assert place.standings() == {}


def test_members_go_with_their_archive_or_with_its_new_version(place: Place) -> None:
    def pack(*names: str, second: int) -> Path:
        member = place.folder / "member.pdf"
        member.write_bytes(PDF)
        path = place.sources / "packed.tar"
        with tarfile.open(path, "w") as archive:
            for name in names:
                archive.add(member, name)
        os.utime(path, (second, second))
        return path

    place.put("other.pdf")
    pack("a.pdf", "b.pdf", second=1)
    place.index()
    assert place.index().gone == 0
    pack("a.pdf", second=2)
    assert (place.index().gone, sorted(place.standings().values())) == (1, ["gone", "superseded"])
    archive = place.sources / "packed.tar"
    archive.write_bytes(archive.read_bytes()[:100])
    report = place.index()  # cut short: nothing is said of what it held
    assert (report.gone, report.new_documents) == (0, 1)
    archive.unlink()
    report = place.index()
    gone = {name.split("@")[0] for name, standing in place.standings().items() if standing == Standing.GONE}
    assert (report.gone, gone) == (2, {"packed.tar::a.pdf", "packed.tar::b.pdf", "packed.tar"})


class Bucket:
    """A bucket in memory, which can fail in the middle of a listing."""

    def __init__(self, folder: Path) -> None:
        self.backend = MemoryStore()
        self.workspace = open_workspace(str(folder / "ws"))
        self.fail_after: int | None = None

    def put(self, *keys: str, data: bytes = PDF) -> None:
        for key in keys:
            obstore.put(self.backend, key, data)

    def open(self, url: str) -> Store:
        bucket = self
        store = Store(self.backend, url)
        whole = store.list

        def listing(prefix: str = "", *, offset: str | None = None) -> object:
            for number, stored in enumerate(whole(prefix, offset=offset)):
                if number == bucket.fail_after:
                    raise FileNotFoundError("the bucket went away")
                yield stored

        store.list = listing  # type: ignore[method-assign, assignment]
        return store

    def index(self, *sources: str) -> IndexReport:
        return update_index(self.workspace, sources, IndexSettings(), opener=self.open)


def test_objects(tmp_path: Path) -> None:
    bucket = Bucket(tmp_path)
    bucket.put("in/a.pdf", "in/b.pdf", "in/deep/c.pdf", "in.pdf", "inside/d.pdf")
    bucket.index("memory://b")
    for key in ("in/b.pdf", "in.pdf", "inside/d.pdf"):
        obstore.delete(bucket.backend, key)
    bucket.fail_after = 1
    with pytest.raises(StoreUnavailable):
        bucket.index("memory://b/in")
    assert standings_of(bucket.workspace).rows == {}
    bucket.fail_after = None
    assert bucket.index("memory://b/in").gone == 1
    assert bucket.index("memory://b/in/*.pdf").gone == 0
    assert bucket.index("memory://b/in/deep/c.pdf").gone == 0
    with pytest.raises(ConfigurationError):
        bucket.index("memory://b/*")  # no key matches any more
    assert bucket.index("memory://b").gone == 2
    bucket.put("in.pdf")
    # The memory store counts up: the same bytes are another version, so this is a new document.
    assert [(r.new_documents, r.gone) for r in [bucket.index("memory://b/in.pdf")]] == [(1, 0)]


def test_what_another_indexing_appends_meanwhile_is_not_gone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put("a.pdf")
    place.put("b.pdf")
    place.index()
    late = place.folder / "late"

    def listed_while_another_indexes(*arguments: object, **more: object) -> object:
        monkeypatch.undo()
        yield from expand(*arguments, **more)  # type: ignore[arg-type]
        place.put("late.pdf")
        changed = place.put("a.pdf", PDF + b"new", second=2)
        update_index(Workspace(place.workspace.store), [str(place.sources / "late.pdf"), str(changed)], IndexSettings())
        (place.sources / "late.pdf").rename(late)  # so that nothing but the order of things saves it

    monkeypatch.setattr("pdfocr_core.sources.index.expand", listed_while_another_indexes)
    report = place.index()
    assert (report.gone, report.returned) == (0, [])
    assert place.standings() == {"a.pdf@9-1000000000": "superseded"}


def test_of_two_indexings_that_mark_at_once_one_is_heard(place: Place) -> None:
    place.put("a.pdf")
    place.index()
    (row,) = place.workspace.read_index()
    mark = Mark(MarkKind.GONE, "", row.group, row.document_id, row.url, row.version)
    names = place.workspace.marks.names()
    place.workspace.marks.names = lambda: names  # type: ignore[method-assign]
    assert place.workspace.marks.append([mark], place.workspace.next_batch())
    assert not place.workspace.marks.append([mark], place.workspace.next_batch())


def test_pruned_documents_are_new_again_and_the_index_counts_them_once(place: Place) -> None:
    place.put("a.pdf")
    place.put("b.pdf")
    place.index()
    workspace = place.workspace
    rows = list(workspace.read_index())
    pruned = [
        Mark(MarkKind.PRUNED, "", r.group, r.document_id, r.url, r.version) for r in rows if r.url.endswith("a.pdf")
    ]
    workspace.marks.append(pruned, workspace.next_batch())
    assert [row.url for row in workspace.read_index()] == [str(place.sources / "b.pdf")]
    assert [one.url for one in workspace.read_manifest(rows[0].group).documents] == [str(place.sources / "b.pdf")]
    assert workspace.read_manifest(rows[0].group).key == rows[0].group
    known = Known()
    known.refresh(workspace)
    assert not known.holds(pruned[0].url, pruned[0].version)
    report = place.index()
    assert (report.new_documents, len(report.groups)) == (1, 1)
    assert sorted(row.url for row in workspace.read_index()) == sorted(row.url for row in rows)
    assert place.index().new_documents == 0
    # All of a group pruned and back at once is the same group, and has to be read again.
    (again,) = report.groups
    (back,) = [row for row in workspace.read_index() if row.group == again]
    workspace.marks.append([Mark(MarkKind.PRUNED, "", *back[:4])], workspace.next_batch())
    assert again not in workspace.group_keys()
    assert place.index().groups == [again]
    assert (again in workspace.group_keys(), workspace.reopened()) == (True, {again})
    assert sorted(row.url for row in workspace.read_index()) == sorted(row.url for row in rows)
    workspace.write_status(again, [])
    assert workspace.reopened() == set()


def test_many_documents_at_once(place: Place) -> None:
    for number in range(3000):
        place.put(f"{number:04}.pdf")
    place.index()
    for number in range(0, 3000, 3):
        (place.sources / f"{number:04}.pdf").unlink()
    started = time.monotonic()
    assert place.index().gone == 1000
    assert time.monotonic() - started < 60
    assert set(place.standings().values()) == {"gone"}
