from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from pdfocr_core.errors import ConfigurationError, DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits, IndexSettings
from pdfocr_core.sources.archive_listing import list_archive
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.index import update_index
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.opening import Stores
from pdfocr_core.store import Store
from pdfocr_core.workspace import open_workspace

PDF = b"%PDF-1.4\n"


class Bucket:
    """A bucket in memory, opened by its URL as a real one would be."""

    def __init__(self, *names: str) -> None:
        self.store = Store(MemoryStore(), "s3://b")
        for name in names:
            self.store.write(name, PDF)

    def __call__(self, url: str) -> Store:
        assert url == "s3://b"
        return self.store

    def list(self, *sources: str, **options: str) -> list[str]:
        found = expand(sources, opener=self, **options)  # type: ignore[arg-type]
        return [item.url.removeprefix("s3://b/") for item in found if item.what is not What.IGNORED]


def test_prefixes_objects_and_patterns() -> None:
    bucket = Bucket("a/1.pdf", "a/2.PNG", "a/b/3.pdf", "a/x.csv", "ab/4.pdf", "a/.h/5.pdf", "a/._1.pdf")
    assert bucket.list("s3://b") == ["a/1.pdf", "a/2.PNG", "a/b/3.pdf", "ab/4.pdf"]
    assert bucket.list("s3://b/a") == bucket.list("s3://b/a/") == ["a/1.pdf", "a/2.PNG", "a/b/3.pdf"]
    assert bucket.list("s3://b/a/1.pdf") == ["a/1.pdf"]
    assert bucket.list("s3://b/a/*.pdf") == ["a/1.pdf"]
    assert bucket.list("s3://b/**/[34].pdf") == ["a/b/3.pdf", "ab/4.pdf"]
    assert bucket.list("s3://b/a", "s3://b/**") == ["a/1.pdf", "a/2.PNG", "a/b/3.pdf", "ab/4.pdf"]
    assert bucket.list("s3://b/", exclude="s3://b/a") == ["ab/4.pdf"]


def test_odd_keys() -> None:
    names = ["with space,#%25?.pdf", "Отчёт.pdf", "-rf.pdf", "x" * 900 + ".pdf"]
    assert sorted(Bucket(*names).list("s3://b")) == sorted(names)


def test_nothing_there() -> None:
    for source in ("s3://b/none", "s3://b/none/*.pdf", "s3://b/none.txt"):
        with pytest.raises(ConfigurationError) as caught:
            Bucket("a.pdf").list(source)
        assert caught.value.code == "source_not_found"


def test_a_pattern_that_matches_nothing_among_other_objects() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Bucket("a/1.pdf").list("s3://b/a/*.png")
    assert caught.value.code == "source_not_found"


def test_lists_in_buckets_and_lists_of_urls(tmp_path: Path) -> None:
    bucket = Bucket("a/1.pdf", "a/2.pdf", "c/3.pdf")
    bucket.store.write("a/list.txt", b"1.pdf\ns3://b/c/*.pdf\ngone.pdf\n")
    assert bucket.list("s3://b/a/list.txt") == ["a/1.pdf", "c/3.pdf", "a/gone.pdf"]
    (tmp_path / "local.txt").write_text("s3://b/a/2.pdf\n")
    assert bucket.list(str(tmp_path / "local.txt")) == ["a/2.pdf"]


def test_objects_are_fetched_at_their_version(tmp_path: Path) -> None:
    bucket = Bucket("a.pdf")
    (found,) = expand(["s3://b/a.pdf"], opener=bucket)
    with Fetcher(opener=bucket) as fetcher:
        fetched = fetcher.fetch(found.document, tmp_path)
        assert fetched.temporary
        assert fetched.path.read_bytes() == PDF
        fetched.path.unlink()
        bucket.store.write("a.pdf", PDF + b"2")
        with pytest.raises(DocumentError) as caught:
            fetcher.fetch(found.document, tmp_path)
        assert caught.value.reason is Reason.SOURCE_CHANGED
        bucket.store.delete("a.pdf")
        with pytest.raises(DocumentError) as caught:
            fetcher.fetch(found.document, tmp_path)
        assert caught.value.reason is Reason.SOURCE_MISSING
    assert list(tmp_path.iterdir()) == []


def archive_bytes(kind: str, count: int) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as packed:
            for number in range(count):
                packed.writestr(f"{number}.pdf", PDF + bytes([number]))
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w:gz" if kind == "tar.gz" else "w") as archive:
        for number in range(count):
            entry = tarfile.TarInfo(f"{number}.pdf")
            entry.size = len(PDF) + 1
            archive.addfile(entry, io.BytesIO(PDF + bytes([number])))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_archives_in_buckets(tmp_path: Path, kind: str) -> None:
    bucket = Bucket()
    bucket.store.write(f"x.{kind}", archive_bytes(kind, 5))
    (found,) = expand(["s3://b/"], opener=bucket)
    documents = list_archive(found, Stores(bucket), ArchiveLimits()).documents
    assert [document.url for document in documents] == [f"s3://b/x.{kind}::{number}.pdf" for number in range(5)]
    with Fetcher(opener=bucket) as fetcher:
        for number, document in enumerate(documents):
            assert fetcher.fetch(document, tmp_path).path.read_bytes() == PDF + bytes([number])


def test_an_archive_replaced_while_it_is_read_is_noticed() -> None:
    bucket = Bucket()
    bucket.store.write("x.tar", archive_bytes("tar", 200) + bytes(9 * 1024**2))
    opened = Stores(bucket).open("s3://b/x.tar")
    opened.stream.read(1000)
    bucket.store.write("x.tar", archive_bytes("tar", 100) + bytes(9 * 1024**2))
    with pytest.raises(DocumentError) as caught:
        opened.stream.read()
    assert caught.value.reason is Reason.SOURCE_CHANGED


def test_the_index_of_a_bucket_is_incremental(tmp_path: Path) -> None:
    bucket = Bucket("a.pdf", "b.pdf", "empty.pdf", "x.heic")
    bucket.store.write("empty.pdf", b"")
    bucket.store.write("x.tgz", archive_bytes("tar.gz", 3))
    bucket.store.write("really.zip", PDF)
    workspace = open_workspace(str(tmp_path / "ws"))
    report = update_index(workspace, ["s3://b/"], IndexSettings(), opener=bucket)
    problems = {row.url.removeprefix("s3://b/"): row.problem for row in workspace.read_index()}
    assert problems == {
        "a.pdf": None,
        "b.pdf": None,
        "empty.pdf": "empty_file",
        "really.zip": None,
        "x.heic": "unsupported_image",
        "x.tgz::0.pdf": None,
        "x.tgz::1.pdf": None,
        "x.tgz::2.pdf": None,
    }
    bucket.store.write("b.pdf", PDF + b"2")
    again = update_index(workspace, ["s3://b/"], IndexSettings(), opener=bucket)
    assert (again.documents, again.new_documents) == (report.documents, 1)
