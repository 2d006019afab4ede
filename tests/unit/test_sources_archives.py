from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from pdfocr_core.documents import Document
from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archive_listing import list_archive, member_name_matches
from pdfocr_core.sources.archives import iter_members
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.opening import Stores
from pdfocr_core.sources.sniff import Kind, sniff

LIMITS = ArchiveLimits()
PDF = b"%PDF-1.4\n"


def tar_of(*entries: tuple[str, bytes | tarfile.TarInfo], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in entries:
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tuple[str, tarfile.TarInfo]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return name, entry


def read(data: bytes, limits: ArchiveLimits = LIMITS) -> tuple[list[tuple[int, str, bytes | Reason]], Reason | None]:
    """All members as (index, name, bytes or reason), and what ended the archive."""
    members: list[tuple[int, str, bytes | Reason]] = []
    try:
        members.extend(
            (member.index, member.name, member.reason or b"".join(member.chunks()))
            for member in iter_members(io.BytesIO(data), sniff(data[:4096]), limits)
        )
    except DocumentError as error:
        return members, error.reason
    return members, None


def listed(path: Path) -> tuple[list[Document], int]:
    (found,) = expand([str(path)])
    contents = list_archive(found, Stores(), LIMITS)
    return contents.documents, contents.ignored


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_tar_in_any_wrapping_gives_its_members_in_order(tmp_path: Path, pack: object) -> None:
    big = os.urandom(1_500_000)
    data = pack(tar_of(("d/b.pdf", PDF), special("d", tarfile.DIRTYPE), ("a.pdf", big), ("b.pdf", b"")))  # type: ignore[operator]
    kind = {b"BZh": Kind.BZIP2, b"\xfd7z": Kind.XZ}.get(data[:3]) or sniff(data[:4096])
    members = [(m.index, m.name, b"".join(m.chunks())) for m in iter_members(io.BytesIO(data), kind, LIMITS)]
    assert members == [(0, "d/b.pdf", PDF), (2, "a.pdf", big), (3, "b.pdf", b"")]


def test_members_need_not_be_read(tmp_path: Path) -> None:
    data = tar_of(("a.pdf", os.urandom(700_000)), ("b.pdf", PDF), mode="w:gz")
    members = list(iter_members(io.BytesIO(data), Kind.TAR_GZIP, LIMITS))
    assert [member.name for member in members] == ["a.pdf", "b.pdf"]


def test_what_is_no_regular_file_or_has_an_unsafe_name_is_never_read() -> None:
    data = tar_of(
        special("link.pdf", tarfile.SYMTYPE, "/etc/passwd"),
        special("hard.pdf", tarfile.LNKTYPE, "a.pdf"),
        special("device.pdf", tarfile.CHRTYPE),
        special("pipe.pdf", tarfile.FIFOTYPE),
        ("../up.pdf", PDF),
        ("/abs.pdf", PDF),
        ("back\\slash.pdf", PDF),
        ("ok.pdf", PDF),
    )
    members, ended = read(data)
    assert [reason for _, _, reason in members] == [Reason.NOT_REGULAR] * 4 + [Reason.UNSAFE_NAME] * 3 + [PDF]
    assert ended is None


def test_names_that_are_no_text_are_kept() -> None:
    data = tar_of(("x.pdf", PDF)).replace(b"x.pdf", b"\xff.pdf", 1)
    block = bytearray(data)
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block[:512])
    assert read(bytes(block))[0] == [(0, "\udcff.pdf", PDF)]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_cut_tar_gives_the_members_before_the_cut(mode: str) -> None:
    data = tar_of(("a.pdf", os.urandom(200_000)), ("b.pdf", os.urandom(200_000)), mode=mode)
    members = iter_members(io.BytesIO(data[:300_000]), sniff(data[:4096]), LIMITS)
    assert len(b"".join(next(members).chunks())) == 200_000
    assert next(members).name == "b.pdf"
    with pytest.raises(DocumentError) as caught:
        next(members)
    assert caught.value.reason is Reason.ARCHIVE_TRUNCATED


def test_a_member_that_is_cut_says_so() -> None:
    data = tar_of(("a.pdf", os.urandom(200_000)), mode="w:gz")
    assert read(data[:100_000]) == ([], Reason.ARCHIVE_TRUNCATED)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_damaged_header_in_the_middle_is_not_taken_for_the_end(pack: object) -> None:
    data = bytearray(tar_of(("a.pdf", PDF), ("b.pdf", PDF), ("c.pdf", PDF)))
    data[1024] ^= 0xFF
    members, ended = read(pack(bytes(data)))  # type: ignore[operator]
    assert [name for _, name, _ in members] == ["a.pdf"]
    assert ended is Reason.ARCHIVE_DAMAGED


def test_two_tars_in_one_file_and_junk_behind_the_end() -> None:
    data = tar_of(("a.pdf", PDF)) + tar_of(("b.pdf", PDF)) + b"signature" * 200
    members, ended = read(data)
    assert [name for _, name, _ in members] == ["a.pdf", "b.pdf"]
    assert ended is None


def test_a_damaged_gzip_checksum_is_told() -> None:
    data = bytearray(tar_of(("a.pdf", PDF), mode="w:gz"))
    data[-6] ^= 0xFF
    assert read(bytes(data)) == ([(0, "a.pdf", PDF)], Reason.ARCHIVE_DAMAGED)


@pytest.mark.parametrize("data", [b"plain text " * 100, gzip.compress(b"plain text " * 100, mtime=0), b"short"])
def test_what_is_no_archive(data: bytes) -> None:
    assert read(data) == ([], Reason.NOT_AN_ARCHIVE)


def test_a_header_that_lies_about_its_size_takes_no_memory() -> None:
    long = tarfile.TarInfo("x")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 8 * 1024**3
    data = tar_of(("a.pdf", PDF))[:1024] + long.tobuf(tarfile.GNU_FORMAT) + bytes(4096)
    members, ended = read(data)
    assert [name for _, name, _ in members] == ["a.pdf"]
    assert ended is Reason.ARCHIVE_DAMAGED


def test_limits() -> None:
    data = tar_of(("a.pdf", bytes(5000)), ("b.pdf", PDF), ("c.pdf", bytes(5000)), mode="w:gz")
    assert [reason for _, _, reason in read(data, ArchiveLimits(max_member_bytes=4000))[0]] == [
        Reason.ARCHIVE_LIMIT,
        PDF,
        Reason.ARCHIVE_LIMIT,
    ]
    assert read(data, ArchiveLimits(max_members=2))[1] is Reason.ARCHIVE_LIMIT
    assert read(data, ArchiveLimits(max_total_bytes=6000))[1] is Reason.ARCHIVE_LIMIT


def test_a_bomb_is_stopped_by_what_it_really_unpacks() -> None:
    entry = tarfile.TarInfo("bomb.pdf")
    entry.size = 10 * 1024**3
    packer = bz2.BZ2Compressor()
    zeros = bytes(8 * 1024**2)
    data = packer.compress(entry.tobuf()) + b"".join(packer.compress(zeros) for _ in range(16)) + packer.flush()
    members = iter_members(io.BytesIO(data), Kind.BZIP2, ArchiveLimits(max_member_bytes=2**40))
    member = next(members)
    with pytest.raises(DocumentError) as caught:
        sum(len(chunk) for chunk in member.chunks())
    assert caught.value.reason is Reason.ARCHIVE_LIMIT


def test_memory_stays_the_same_however_many_members() -> None:
    data = tar_of(*((f"{number}.pdf", PDF) for number in range(10_000)), mode="w:gz")
    tracemalloc.start()
    try:
        assert sum(1 for _ in iter_members(io.BytesIO(data), Kind.TAR_GZIP, LIMITS)) == 10_000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def zip_of(*entries: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return out.getvalue()


def test_zip_members() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.mkdir("d")
        archive.writestr("d/a.pdf", PDF)
        link = zipfile.ZipInfo("link.pdf")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("../up.pdf", PDF)
        archive.writestr("é.pdf", PDF)
    members, ended = read(out.getvalue())
    assert members == [
        (1, "d/a.pdf", PDF),
        (2, "link.pdf", Reason.NOT_REGULAR),
        (3, "../up.pdf", Reason.UNSAFE_NAME),
        (4, "é.pdf", PDF),
    ]
    assert ended is None


def test_zip_with_encrypted_damaged_and_unsupported_members(tmp_path: Path) -> None:
    data = bytearray(zip_of(("a.pdf", PDF), ("b.pdf", PDF * 50), ("c.pdf", PDF), ("d.pdf", PDF)))
    places = [place for place in range(len(data)) if data.startswith(b"PK\x01\x02", place)]
    data[places[0] + 8] |= 1
    data[places[1] + 16] ^= 0xFF  # checksum
    data[places[2] + 10] = 9  # a method that Python does not know
    local = int.from_bytes(data[places[2] + 42 : places[2] + 46], "little")
    data[local + 8] = 9
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    documents, _ = listed(path)
    assert [document.problem for document in documents] == [
        "archive_encrypted",
        "archive_damaged",
        "archive_unsupported",
        None,
    ]


def test_cut_and_empty_zips(tmp_path: Path) -> None:
    data = zip_of(("a.pdf", os.urandom(5000)))
    assert read(data[:3000]) == ([], Reason.ARCHIVE_TRUNCATED)
    (tmp_path / "e.zip").write_bytes(zip_of())
    assert [document.problem for document in listed(tmp_path / "e.zip")[0]] == ["empty_archive"]


def test_zip_limits() -> None:
    data = zip_of(("bomb.pdf", bytes(70 * 1024**2)), ("ok.pdf", PDF))
    limits = ArchiveLimits(max_ratio=900)
    assert [reason for _, _, reason in read(data, limits)[0]] == [Reason.ARCHIVE_LIMIT, PDF]
    assert read(data, ArchiveLimits(max_total_bytes=1000))[1] is Reason.ARCHIVE_LIMIT
    assert read(data, ArchiveLimits(max_members=1))[1] is Reason.ARCHIVE_LIMIT


def test_documents_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(
        tar_of(
            ("doc.pdf", PDF),
            ("README", b"hello"),
            ("doc.pdf", PDF + b"2"),
            ("doc.pdf~2", PDF),
            ("._doc.pdf", b"junk"),
            ("no extension", PDF),
            special("link.pdf", tarfile.SYMTYPE, "doc.pdf"),
            special("link", tarfile.SYMTYPE, "doc.pdf"),
            ("inner.zip", zip_of(("a.pdf", PDF))),
            ("sheet.xlsx", zip_of(("[Content_Types].xml", b""))),
            ("empty.pdf", b""),
            ("p.png", b"\x89PNG\r\n\x1a\n"),
            mode="w:gz",
        )
    )
    documents, ignored = listed(path)
    (found,) = expand([str(path)])
    assert [(d.url.removeprefix(f"{path}::"), d.member, d.pages, d.problem) for d in documents] == [
        ("doc.pdf", 0, 0, None),
        ("doc.pdf~2", 2, 0, None),
        ("doc.pdf~2~2", 3, 0, None),
        ("no extension", 5, 0, None),
        ("link.pdf", 6, 0, "not_regular"),
        ("inner.zip", 8, 0, "nested_archive"),
        ("empty.pdf", 10, 0, "empty_file"),
        ("p.png", 11, 1, None),
    ]
    assert ignored == 4
    assert documents[1].version == f"{found.version}#2"
    assert documents[1].bytes == len(PDF) + 1
    assert len({document.document_id for document in documents}) == len(documents)


def test_trouble_with_the_archive_is_a_document_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "cut.tar"
    path.write_bytes(tar_of(("a.pdf", PDF), ("b.pdf", os.urandom(90000)))[:50000])
    documents, _ = listed(path)
    assert [(d.member, d.problem) for d in documents] == [(0, None), (1, None), (None, "archive_truncated")]
    assert documents[2].url == str(path)


def test_another_programs_zip_without_documents_is_no_loss(tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_bytes(zip_of(("weights.npy", b"123")))
    (found,) = expand([str(tmp_path)])
    assert list_archive(found, Stores(), LIMITS).documents == []


def test_duplicate_marks() -> None:
    assert member_name_matches("a.pdf", "a.pdf")
    assert member_name_matches("a.pdf~12", "a.pdf")
    assert not member_name_matches("a.pdf~x", "a.pdf")
    assert not member_name_matches("b.pdf", "a.pdf")
