from __future__ import annotations

import os
import random
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pdfocr_core.documents import Document
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.counting import count_pages
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.grouping import group_documents
from pdfocr_core.sources.index import update_index
from pdfocr_core.workspace import Workspace, open_workspace

PDF = b"%PDF-1.4\n"
CORPUS = Path(os.environ.get("PDFOCR_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the test corpus is not on this machine")


def pdf(name: str, pages: int = 0, size: int = 0, **more: object) -> Document:
    return Document(f"/d/{name}", "1-1", size, pages, **more)  # type: ignore[arg-type]


def batches(workspace: Workspace) -> list[str]:
    return sorted(stored.name for stored in workspace.store.list("index"))


def test_groups_are_whole_documents_up_to_the_target() -> None:
    documents = [pdf("a", 4), pdf("b", 4), pdf("c", 4), pdf("d", 25), pdf("e", 10), pdf("f", 0)]
    groups = group_documents(documents, 10)
    assert [[document.url[3:] for document in group.documents] for group in groups] == [
        ["a", "b"],
        ["c"],
        ["d"],
        ["e"],
        ["f"],
    ]


def test_groups_do_not_depend_on_the_order_of_listing() -> None:
    documents = [pdf(f"{number}.pdf", number % 7) for number in range(200)]
    documents += [Document(f"/d/x.tar::{n}.pdf", f"1-1#{n}", 1, 2, member=n) for n in range(50)]
    keys = [group.key for group in group_documents(documents, 20)]
    random.Random(3).shuffle(documents)
    groups = group_documents(documents, 20)
    assert [group.key for group in groups] == keys
    members = [document.member for group in groups for document in group.documents if document.member is not None]
    assert members == list(range(50))


def test_pages_are_counted_or_estimated_at_the_rate_of_those_counted() -> None:
    asked: list[list[str]] = []

    def counter(paths: list[str]) -> list[int | None]:
        asked.append(paths)
        return [10 if path.endswith("a.pdf") else None for path in paths]

    documents = [
        pdf("a.pdf", size=100_000),
        pdf("broken.pdf", size=35_000),
        pdf("p.png", 1, size=9),
        pdf("bad.pdf", size=9, problem="empty_file"),
        Document("/d/x.tar::m.pdf", "1#0", 200_000, member=0),
        Document("s3://b/o.pdf", "e-1", 10),
        pdf("scan.tif", size=9_000_000),
    ]
    assert [document.pages for document in count_pages(documents, counter)] == [10, 4, 1, 0, 20, 1, 1]
    assert asked == [["/d/a.pdf", "/d/broken.pdf", "/d/scan.tif"]]
    assert [document.pages for document in count_pages(documents, None)] == [2, 1, 1, 0, 4, 1, 1]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.pdf", "sub/b.pdf", "ü\udcff.pdf"):
        (folder / name).write_bytes(PDF)
    (folder / "bad.pdf").write_bytes(b"")
    (folder / "README").write_text("hello")
    with tarfile.open(folder / "x::y.tar.gz", "w:gz") as archive:
        archive.add(folder / "a.pdf", "a.pdf")
        archive.add(folder / "sub/b.pdf", "a.pdf")
        archive.add(folder / "README", "README")
    return folder


def test_the_index_holds_every_document_and_its_manifest(sources: Path, tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "ws"))
    report = update_index(workspace, [str(sources)], IndexSettings(pages_per_group=2), lambda paths: [1] * len(paths))
    rows = list(workspace.read_index())
    assert report.documents == report.new_documents == len(rows) == 6
    assert report.ignored == 2
    assert {row.url.removeprefix(f"{sources}/"): row.problem for row in rows} == {
        "a.pdf": None,
        "bad.pdf": "empty_file",
        "sub/b.pdf": None,
        "x::y.tar.gz::a.pdf": None,
        "x::y.tar.gz::a.pdf~2": None,
        "ü\udcff.pdf": None,
    }
    manifests = [workspace.read_manifest(key) for key in workspace.group_keys()]
    assert [manifest.key for manifest in manifests] == report.groups
    assert [document.document_id for group in manifests for document in group.documents] == [
        r.document_id for r in rows
    ]


def test_an_unchanged_collection_writes_nothing(sources: Path, tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "ws"))
    first = update_index(workspace, [str(sources)], IndexSettings())
    before = batches(workspace)
    again = update_index(workspace, [str(sources)], IndexSettings(), lambda _: pytest.fail("counted again"))
    assert (again.documents, again.new_documents, again.groups) == (first.documents, 0, [])
    assert batches(workspace) == before


def test_only_what_is_new_or_changed_is_added(sources: Path, tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "ws"))
    update_index(workspace, [str(sources)], IndexSettings())
    old = {row.document_id for row in workspace.read_index()}
    (sources / "new.pdf").write_bytes(PDF)
    (sources / "a.pdf").write_bytes(PDF + b"more")
    report = update_index(workspace, [str(sources)], IndexSettings())
    assert [
        os.path.relpath(d.url, sources) for g in map(workspace.read_manifest, report.groups) for d in g.documents
    ] == ["a.pdf", "new.pdf"]
    assert report.documents == 7
    assert len(batches(workspace)) == 2
    assert old < {row.document_id for row in workspace.read_index()}


def test_a_changed_archive_is_new_as_a_whole(sources: Path, tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "ws"))
    update_index(workspace, [str(sources)], IndexSettings())
    with tarfile.open(sources / "x::y.tar.gz", "w:gz") as archive:
        archive.add(sources / "a.pdf", "a.pdf")
    report = update_index(workspace, [str(sources)], IndexSettings())
    assert report.new_documents == 1


def test_a_missing_source_leaves_the_workspace_as_it_was(sources: Path, tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "ws"))
    with pytest.raises(ConfigurationError):
        update_index(workspace, [str(sources), str(tmp_path / "gone")], IndexSettings())
    assert list(workspace.store.list()) == []


def test_the_workspace_inside_the_sources_is_not_indexed(sources: Path) -> None:
    workspace = open_workspace(str(sources / "ws"))
    update_index(workspace, [str(sources)], IndexSettings())
    workspace.store.write("markdown/figure.png", b"\x89PNG\r\n\x1a\n")
    assert update_index(workspace, [str(sources)], IndexSettings()).new_documents == 0


@needs_corpus
def test_the_corpus_is_accounted_for_file_by_file(tmp_path: Path) -> None:
    import csv

    workspace = open_workspace(str(tmp_path / "ws"))
    update_index(workspace, [str(CORPUS)], IndexSettings())
    rows = list(workspace.read_index())
    files = {row.url.split("::")[0].removeprefix(f"{CORPUS}/") for row in rows}
    with (CORPUS / "manifest.csv").open(newline="", encoding="utf-8") as manifest:
        assert files == {line["path"] for line in csv.DictReader(manifest)}
    readable: dict[str, int] = {}
    for row in rows:
        if "/tarballs/" in row.url and row.problem is None:
            archive = row.url.split("::")[0].rsplit("/", 1)[1]
            readable[archive] = readable.get(archive, 0) + 1
    assert readable == {
        "duplicate_names.tar.gz": 4,
        "nested.tar": 1,
        "path_traversal.tar": 1,
        "plain.tar": 4,
        "several_subdirs.tar.gz": 4,
        "symlinks.tar": 2,
        "truncated.tar.gz": 2,
    }


@needs_corpus
def test_every_document_of_the_corpus_is_fetched_at_its_size(tmp_path: Path) -> None:
    workspace = open_workspace(str(tmp_path / "ws"))
    report = update_index(workspace, [str(CORPUS)], IndexSettings())
    work = tmp_path / "work"
    work.mkdir()
    failed: list[str] = []
    with Fetcher() as fetcher:
        for document in (
            document for group in map(workspace.read_manifest, report.groups) for document in group.documents
        ):
            if document.problem:
                continue
            try:
                fetched = fetcher.fetch(document, work)
            except Exception as error:  # noqa: BLE001
                failed.append(f"{document.url.rsplit('/', 1)[1]}: {error.code}")  # type: ignore[attr-defined]
                continue
            assert fetched.path.stat().st_size == document.bytes
            if fetched.temporary:
                fetched.path.unlink()
    assert failed == ["tagged.pdf: archive_truncated"]
    assert list(work.iterdir()) == []


def test_two_indexings_at_once_put_no_document_into_two_groups(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for number in range(40):
        (sources / f"{number:02}.pdf").write_bytes(b"%PDF-1.4\n" + bytes([number]))
    start = threading.Barrier(4)

    def index(pages_per_group: int) -> int:
        workspace = open_workspace(str(tmp_path / "ws"))
        start.wait()
        settings = IndexSettings(pages_per_group=pages_per_group, count_pages=False)
        return update_index(workspace, [str(sources)], settings).new_documents

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(index, (1, 2, 3, 5))) == 40
    rows = list(open_workspace(str(tmp_path / "ws")).read_index())
    assert len(rows) == len({row.document_id for row in rows}) == 40


def test_many_documents_are_appended_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdfocr_core.sources.index._BATCH_DOCUMENTS", 7)
    sources = tmp_path / "sources"
    sources.mkdir()
    for number in range(20):
        (sources / f"{number:02}.pdf").write_bytes(b"%PDF-1.4\n" + bytes([number]))
    workspace = open_workspace(str(tmp_path / "ws"))
    report = update_index(workspace, [str(sources)], IndexSettings(count_pages=False))
    assert (report.new_documents, len(workspace.index_batches())) == (20, 3)
    assert workspace.group_keys() == report.groups
    again = update_index(workspace, [str(sources)], IndexSettings(count_pages=False))
    assert (again.documents, again.new_documents) == (20, 0)


@pytest.mark.parametrize("several", [False, True])
def test_an_indexing_that_died_between_batches_ends_as_if_it_had_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, several: bool
) -> None:
    monkeypatch.setattr("pdfocr_core.sources.index._BATCH_DOCUMENTS", 7)
    monkeypatch.setattr("pdfocr_core.sources.identities._WAITING", 5)
    folder = tmp_path / "sources"
    for number in range(40):
        (folder / f"{number % 4}").mkdir(parents=True, exist_ok=True)
        (folder / f"{number % 4}" / f"{number:02}.pdf").write_bytes(PDF + bytes([number]))
    overlapping = [str(folder / "1"), f"{folder}/**/*.pdf", str(folder / "3"), f"{folder}/2/*.pdf"]
    sources = overlapping if several else [str(folder)]
    settings = IndexSettings(count_pages=False, pages_per_group=3)
    whole = open_workspace(str(tmp_path / "whole"))
    assert update_index(whole, sources, settings).new_documents == 40

    class Killed(BaseException):
        pass

    workspace = open_workspace(str(tmp_path / "ws"))
    append, deaths, documents = Workspace.append_index, 0, 0

    def die_after(*arguments: object) -> bool:
        append(*arguments)  # type: ignore[arg-type]
        raise Killed

    while documents < 40:
        with monkeypatch.context() as patched:
            patched.setattr(Workspace, "append_index", die_after)
            with pytest.raises(Killed):
                update_index(workspace, sources, settings)
        deaths += 1
        documents = sum(1 for _ in workspace.read_index())
    assert deaths == len(workspace.index_batches()) == len(whole.index_batches())
    assert list(workspace.read_index()) == list(whole.read_index())
    assert update_index(workspace, sources, settings).new_documents == 0


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["one prefix", "several prefixes", "prefixes that overlap"])
def test_a_first_indexing_keeps_at_most_sixteen_bytes_a_key(what: str, tmp_path: Path) -> None:
    from tools.bench_listing import measured

    few, many = (measured(what, keys, str(tmp_path / str(keys)))["peak"] for keys in (100_000, 600_000))
    assert (many - few) / 500_000 <= 16
