"""Pruning: what is superseded or gone goes, what is beside it stays to the byte, and a death in between does no harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pdfocr_core.flow.group import Stages, finish_group
from pdfocr_core.outputs.books import read_books
from pdfocr_core.outputs.prune import prune
from pdfocr_core.outputs.report import write_report
from pdfocr_core.records import DocumentRecord, Method, PageRecord, PageStatus
from pdfocr_core.settings import IndexSettings, MarkdownSettings, ReadSettings
from pdfocr_core.sources.index import IndexReport, update_index
from pdfocr_core.workspace import Workspace, line_of, open_workspace

ENGINE = "e" * 16
SIZES = {"one.pdf": 20, "two.pdf": 21, "three.pdf": 22, "blank.pdf": 23}


class Place:
    """A folder, a workspace over it, and a reader that reads a file's own words."""

    def __init__(self, folder: Path) -> None:
        self.sources = folder / "in"
        self.sources.mkdir()
        self.root = folder / "ws"
        self.workspace = open_workspace(str(self.root))

    def put(self, name: str, words: str, second: int = 1) -> None:
        path = self.sources / name
        path.write_bytes(b"%PDF-1.4\n" + words.encode())
        os.utime(path, (second, second))

    def index(self) -> IndexReport:
        return update_index(self.workspace, [str(self.sources)], IndexSettings(count_pages=False))

    def read(self, *, failing: str = "") -> None:
        """Read every group that has no results yet."""
        for key in self.workspace.group_keys():
            if self.workspace.read_status(key) is not None:
                continue
            records: list[DocumentRecord | PageRecord] = []
            for document in self.workspace.read_manifest(key).documents:
                text = Path(document.url).read_bytes()[9:].decode()
                common = {"document_id": document.document_id, "content_id": "c", "engine_id": ENGINE}
                records.append(DocumentRecord(url=document.url, version=document.version, pages=1, **common))
                status = PageStatus.BLANK if not text else PageStatus.FAILED if text == failing else PageStatus.OK
                reason = "length" if status is PageStatus.FAILED else None
                text = "" if reason else text
                records.append(
                    PageRecord(page=1, status=status, reason=reason, text=text, method=Method.MODEL, **common)
                )
            lines = [line_of(record) for record in records]
            self.workspace.commit_pages(key, lines, sum(map(len, lines)))
            finish_group(self.workspace, key, Stages(), ReadSettings(), "m")

    def files(self, *folders: str) -> dict[str, bytes]:
        chosen = folders or ("pages", "results", "status", "markdown")
        paths = [path for folder in chosen for path in (self.root / folder).rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in paths}

    def markdown(self) -> dict[str, str]:
        found = self.files("markdown")
        return {Path(name).name.removesuffix(".md"): data.decode().strip() for name, data in found.items()}

    def urls(self) -> list[str]:
        rows = [row for key in self.workspace.group_keys() for row in self.workspace.read_status(key) or ()]
        return sorted(Path(row.url).name for row in rows)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for name, words in {"one.pdf": "first", "two.pdf": "second", "three.pdf": "third", "blank.pdf": ""}.items():
        place.put(name, words)
    place.index()
    place.read()
    return place


def test_nothing_to_prune(place: Place) -> None:
    before = place.files("pages", "results", "status", "markdown", "marks")
    found = prune(place.workspace, remove=True)
    assert (found.documents, found.bytes, found.held) == ([], {}, 0)
    assert place.files("pages", "results", "status", "markdown", "marks") == before


def test_superseded_and_gone_go_and_their_neighbours_stay(place: Place) -> None:
    place.put("one.pdf", "first, second edition", second=2)
    (place.sources / "two.pdf").unlink()
    place.index()
    place.read()
    (old_group, _new_group) = place.workspace.group_keys()
    before = place.files()
    shown = prune(place.workspace, remove=False)
    assert place.files() == before
    assert [(Path(d.url).name, d.why) for d in shown.documents] == [("one.pdf", "superseded"), ("two.pdf", "gone")]

    removed = prune(place.workspace, remove=True)
    assert (removed.documents, removed.bytes, removed.groups) == (shown.documents, shown.bytes, 1)
    after = place.files()
    assert sum(removed.bytes.values()) == sum(map(len, before.values())) - sum(map(len, after.values()))
    assert place.markdown() == {"one.pdf": "first, second edition", "three.pdf": "third"}
    for name in (f"results/output_{old_group}.jsonl", f"status/{old_group}.jsonl"):
        assert set(after[name].splitlines()) < set(before[name].splitlines())
    assert place.urls() == ["blank.pdf", "one.pdf", "three.pdf"]
    records = place.workspace.read_pages(old_group) or []
    assert [Path(r.url).name for r in records if isinstance(r, DocumentRecord)] == ["blank.pdf", "three.pdf"]
    books = read_books(place.workspace)
    assert (books.documents, books.balanced, books.gone, books.superseded, books.pending) == (3, True, 0, 0, 0)

    again = prune(place.workspace, remove=True)
    assert (again.documents, place.files()) == ([], after)
    assert place.index().new_documents == 0
    place.read()
    # The group's documents made anew from its pages are those that are left.
    finish_group(place.workspace, old_group, Stages(), ReadSettings(), "m")
    assert place.files("markdown", "status") == {k: v for k, v in after.items() if k[:2] in ("ma", "st")}


def test_markdown_of_any_form_goes_with_its_figures(place: Place) -> None:
    (key,) = place.workspace.group_keys()
    markdown = MarkdownSettings(markdown_page_breaks="comment", markdown_front_matter=True)
    finish_group(place.workspace, key, Stages(), ReadSettings(markdown=markdown), "m")
    for name in ("one", "two"):
        path = place.root / "markdown" / "in" / f"{name}.pdf.md"
        path.write_text(path.read_text() + f"\n\n![figure 1]({name}.pdf.figures/p1-1.png)\n")
        place.workspace.store.write(f"markdown/in/{name}.pdf.figures/p1-1.png", b"picture")
    (place.sources / "two.pdf").unlink()
    place.index()
    prune(place.workspace, remove=True)
    left = {name.removeprefix("markdown/in/") for name in place.files("markdown")}
    assert left == {"one.pdf.md", "one.pdf.figures/p1-1.png", "three.pdf.md"}


def test_a_superseded_document_waits_until_its_new_version_has_text(place: Place) -> None:
    place.put("one.pdf", "unreadable", second=2)
    place.index()
    assert (prune(place.workspace, remove=True).documents, prune(place.workspace, remove=True).held) == ([], 1)
    place.read(failing="unreadable")
    assert prune(place.workspace, remove=True).held == 1
    assert place.markdown()["one.pdf"] == "first"
    (place.sources / "one.pdf").unlink()
    place.index()
    assert [d.why for d in prune(place.workspace, remove=True).documents] == ["superseded", "gone"]
    assert "one.pdf" not in place.markdown()


def test_the_same_text_in_a_new_version_keeps_its_markdown(place: Place) -> None:
    place.put("one.pdf", "first", second=2)
    place.index()
    place.read()
    assert [d.why for d in prune(place.workspace, remove=True).documents] == ["superseded"]
    assert place.markdown()["one.pdf"] == "first"


def test_an_old_version_that_is_back_has_its_markdown_again(place: Place) -> None:
    from pdfocr_core.session import index_sources
    from pdfocr_core.settings import RenderSettings

    place.put("one.pdf", "other", second=2)
    place.index()
    place.read()
    assert place.markdown()["one.pdf"] == "other"
    place.put("one.pdf", "first")
    report = index_sources(
        place.workspace, [str(place.sources)], IndexSettings(count_pages=False), RenderSettings(workers=1)
    )
    assert (report.new_documents, len(report.returned)) == (0, 1)
    assert place.markdown()["one.pdf"] == "first"
    assert [Path(d.url).read_bytes()[9:] for d in prune(place.workspace, remove=True).documents] == [b"first"]
    assert place.markdown()["one.pdf"] == "first"


def test_a_whole_group_goes_and_is_read_again_when_it_is_back(place: Place) -> None:
    (key,) = place.workspace.group_keys()
    place.put("other.pdf", "other")
    place.index()
    place.read()
    texts = {name: (place.sources / name).read_bytes()[9:].decode() for name in SIZES}
    for name in SIZES:
        (place.sources / name).unlink()
    assert place.index().gone == 4
    prune(place.workspace, remove=True)
    assert place.urls() == ["other.pdf"]
    assert not [name for name in place.files() if key in name]
    for name, words in texts.items():
        place.put(name, words)
    report = place.index()
    assert (report.new_documents, report.groups, place.workspace.reopened()) == (4, [key], {key})
    place.read()
    books = read_books(place.workspace)
    assert (books.documents, books.balanced, len(place.markdown())) == (5, True, 4)


class Died(Exception):
    pass


@pytest.mark.parametrize("deaths", range(1, 7))
def test_a_death_in_the_middle_is_made_good_by_the_next_pruning(
    place: Place, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    """The store fails at the n-th change; then the same command again must end as it would have ended."""
    place.put("one.pdf", "first, second edition", second=2)
    for name in ("two.pdf", "blank.pdf"):
        (place.sources / name).unlink()
    place.index()
    place.read()
    left = deaths
    store = place.workspace.store

    def dying(change: object) -> object:
        def do(*arguments: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise Died
            return change(*arguments)  # type: ignore[operator]

        return do

    with monkeypatch.context() as patched:
        for name in ("write", "delete", "create"):
            patched.setattr(store, name, dying(getattr(store, name)))
        died = False
        try:
            prune(place.workspace, remove=True)
        except Died:
            died = True
    books = read_books(Workspace(store))
    assert books.balanced, books
    prune(Workspace(store), remove=True)
    books = read_books(Workspace(store))
    assert (books.documents, books.balanced, books.gone, books.superseded) == (2, True, 0, 0)
    assert place.markdown() == {"one.pdf": "first, second edition", "three.pdf": "third"}
    assert place.urls() == ["one.pdf", "three.pdf"]
    assert prune(Workspace(store), remove=True).documents == []
    assert died == (deaths <= 5)


def test_the_report_says_what_stands(place: Place) -> None:
    place.put("one.pdf", "first, second edition", second=2)
    (place.sources / "two.pdf").unlink()
    place.index()
    place.read()
    books = write_report(place.workspace).books
    assert (books.gone, books.superseded, books.documents) == (1, 1, 5)
    assert "1 documents are gone from their source" in (place.root / "report" / "index.html").read_text()
    lines = (place.root / "report" / "documents.csv").read_text().splitlines()
    standing = {(Path(line.split(",")[0]).name, line.rsplit(",", 1)[1]) for line in lines[1:]}
    assert {("one.pdf", "superseded"), ("one.pdf", "current"), ("two.pdf", "gone"), ("three.pdf", "current")} < standing


def test_whatever_may_be_writing_to_the_workspace_stops_it() -> None:
    import dagster as dg
    from dagster._core.test_utils import create_run_for_test

    from pdfocr_core.errors import ConfigurationError
    from pdfocr_dagster.liveness import PROCESS_TAG, this_process
    from pdfocr_dagster.pruning import check_idle

    def config(root: str) -> dict[str, object]:
        return {"resources": {"workspace": {"config": {"root": root}}}}

    started = dg.DagsterRunStatus.STARTED
    with dg.DagsterInstance.ephemeral() as instance:
        create_run_for_test(instance, status=started, run_config=config("/elsewhere"))
        create_run_for_test(instance, status=dg.DagsterRunStatus.SUCCESS, run_config=config("/data/ws"))
        host, pid, created = this_process().rsplit(":", 2)
        killed = {PROCESS_TAG: f"{host}:{pid}:{int(created) - 1000}"}
        create_run_for_test(instance, status=started, run_config=config("/data/ws"), tags=killed)
        check_idle(instance, "/data/ws")
        for more in ({"run_config": config("/data/ws/")}, {}):  # without a root it is the environment's, perhaps ours
            run = create_run_for_test(instance, status=started, tags={PROCESS_TAG: this_process()}, **more)
            with pytest.raises(ConfigurationError, match=run.run_id):
                check_idle(instance, "/data/ws")
            instance.report_run_failed(run)
