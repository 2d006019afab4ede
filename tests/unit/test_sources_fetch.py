from __future__ import annotations

import io
import random
import tarfile
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pdfocr_core.documents import Document
from pdfocr_core.errors import ConfigurationError, DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archive_listing import list_archive
from pdfocr_core.sources.archive_reader import ArchiveReader
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.opening import Stores

LIMITS = ArchiveLimits()


def content(number: int) -> bytes:
    return b"%PDF-1.4\n" + str(number).encode() * 500


def make_tar(path: Path, count: int) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for number in range(count):
            entry = tarfile.TarInfo(f"d/{number}.pdf")
            entry.size = len(content(number))
            archive.addfile(entry, io.BytesIO(content(number)))


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def documents_of(path: Path) -> list[Document]:
    (found,) = expand([str(path)])
    return list_archive(found, Stores(), LIMITS).documents


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_a_plain_file_is_read_where_it_is(tmp_path: Path, work: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content(1))
    (found,) = expand([str(path)])
    with Fetcher() as fetcher:
        fetched = fetcher.fetch(found.document, work)
        assert (fetched.path, fetched.temporary) == (path, False)
        path.write_bytes(content(2) + b"changed")
        with pytest.raises(DocumentError) as caught:
            fetcher.fetch(found.document, work)
        assert caught.value.reason is Reason.SOURCE_CHANGED
        path.unlink()
        with pytest.raises(DocumentError) as caught:
            fetcher.fetch(found.document, work)
        assert caught.value.reason is Reason.SOURCE_MISSING


def test_a_document_with_a_problem_is_never_opened(work: Path) -> None:
    with Fetcher() as fetcher, pytest.raises(DocumentError) as caught:
        fetcher.fetch(Document("/dev/zero", "1", problem="not_regular", detail="A device."), work)
    assert caught.value.reason is Reason.NOT_REGULAR


@pytest.mark.parametrize("name", ["x.tar.gz", "a::b.tar.gz", "::.tgz"])
def test_members_are_spooled_under_our_names(tmp_path: Path, work: Path, name: str) -> None:
    make_tar(tmp_path / name, 5)
    with Fetcher() as fetcher:
        for number, document in enumerate(documents_of(tmp_path / name)):
            fetched = fetcher.fetch(document, work)
            assert fetched.temporary
            assert fetched.path.parent == work
            assert fetched.path.name.startswith(document.document_id[:16])
            assert fetched.path.read_bytes() == content(number)


def test_members_in_order_come_from_one_pass(tmp_path: Path) -> None:
    make_tar(tmp_path / "x.tgz", 50)
    (found,) = expand([str(tmp_path / "x.tgz")])
    reader = ArchiveReader(found.url, found.version, Stores(), LIMITS)
    for index in [*range(0, 40, 2), 41, 43, 42, 45, 44, 47, 46, 49, 48]:
        with reader.member(index, f"d/{index}.pdf") as member:
            assert b"".join(member.chunks()) == content(index)
    assert reader.passes_started == 2  # the second absorbs all the steps back
    reader.close()


def test_many_threads_get_each_its_own_member(tmp_path: Path, work: Path) -> None:
    for name in ("x.tgz", "y.tgz"):
        make_tar(tmp_path / name, 60)
    jobs = [(number, d) for name in ("x.tgz", "y.tgz") for number, d in enumerate(documents_of(tmp_path / name))]
    random.Random(1).shuffle(jobs)
    with Fetcher() as fetcher, ThreadPoolExecutor(8) as threads:
        fetched = list(threads.map(lambda job: fetcher.fetch(job[1], work).path.read_bytes(), jobs))
    assert fetched == [content(number) for number, _ in jobs]


def test_few_archives_are_open_at_a_time(tmp_path: Path, work: Path) -> None:
    for number in range(40):
        make_tar(tmp_path / f"{number}.tgz", 2)
    documents = [documents_of(tmp_path / f"{number}.tgz")[0] for number in range(40)]
    before = open_files()
    with Fetcher() as fetcher:
        for document in documents:
            fetcher.fetch(document, work)
        assert open_files() - before <= 17
    assert open_files() <= before + 1


def test_another_archive_under_the_same_name_is_noticed(tmp_path: Path, work: Path) -> None:
    path = tmp_path / "x.tgz"
    make_tar(path, 3)
    documents = documents_of(path)
    with Fetcher() as fetcher:
        fetcher.fetch(documents[0], work).path.unlink()
        make_tar(path, 4)
        with pytest.raises(DocumentError) as caught:
            fetcher.fetch(documents[1], work)
        assert caught.value.reason is Reason.SOURCE_CHANGED
        path.unlink()
        with pytest.raises(DocumentError) as caught:
            fetcher.fetch(documents[1], work)
        assert caught.value.reason is Reason.SOURCE_MISSING
    assert list(work.iterdir()) == []


def test_a_member_that_is_another_one_now_is_noticed(tmp_path: Path, work: Path) -> None:
    make_tar(tmp_path / "x.tgz", 3)
    document = documents_of(tmp_path / "x.tgz")[1]
    with Fetcher() as fetcher:
        for wrong in (replace(document, url=document.url + "x"), replace(document, member=99)):
            with pytest.raises(DocumentError) as caught:
                fetcher.fetch(wrong, work)
            assert caught.value.reason is Reason.SOURCE_CHANGED
        assert fetcher.fetch(document, work).path.read_bytes() == content(1)


def test_a_damaged_member_leaves_nothing_behind_and_its_neighbours_whole(tmp_path: Path, work: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.pdf", content(0) * 100)
        archive.writestr("b.pdf", content(1))
    data = bytearray(path.read_bytes())
    data[20_000] ^= 0xFF
    path.write_bytes(data)
    first, second = documents_of(path)
    with Fetcher() as fetcher:
        with pytest.raises(DocumentError) as caught:
            fetcher.fetch(first, work)
        assert caught.value.reason is Reason.ARCHIVE_DAMAGED
        assert list(work.iterdir()) == []
        assert fetcher.fetch(second, work).path.read_bytes() == content(1)


def test_a_folder_that_takes_nothing_is_no_fault_of_the_document(tmp_path: Path) -> None:
    make_tar(tmp_path / "x.tgz", 1)
    (document,) = documents_of(tmp_path / "x.tgz")
    with Fetcher() as fetcher, pytest.raises(ConfigurationError) as caught:
        fetcher.fetch(document, tmp_path / "not there")
    assert caught.value.code == "temporary_folder"


def test_the_fetcher_closes_while_others_wait(tmp_path: Path, work: Path) -> None:
    make_tar(tmp_path / "x.tgz", 20)
    documents = documents_of(tmp_path / "x.tgz")
    fetcher = Fetcher()
    threads = [threading.Thread(target=fetcher.fetch, args=(document, work)) for document in documents]
    for thread in threads:
        thread.start()
    fetcher.close()
    for thread in threads:
        thread.join()
    assert len(list(work.iterdir())) == 20
    fetcher.close()
