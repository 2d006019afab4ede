from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest

from pdfocr_core.errors import Reason
from pdfocr_core.sources.judge import What, judge
from pdfocr_core.sources.names import is_litter, name_problem, split_glob
from pdfocr_core.sources.sniff import Kind, sniff


def tar_of(name: str, data: bytes, form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def zip_of(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"%PDF-1.4 x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", Kind.EMPTY),
        (b"%PDF-1.7\n", Kind.PDF),
        (b"\x00" * 1000 + b"%PDF-1.4", Kind.PDF),
        (b"\x00" * 1200 + b"%PDF-1.4", Kind.OTHER),
        (b"\x89PNG\r\n\x1a\n....", Kind.PNG),
        (b"\xff\xd8\xff\xe0", Kind.JPEG),
        (b"II*\0....", Kind.TIFF),
        (b"MM\0*....", Kind.TIFF),
        (b"RIFF\0\0\0\0WEBPVP8 ", Kind.WEBP),
        (b"RIFF\0\0\0\0WAVEfmt ", Kind.OTHER),
        (b"GIF89a..", Kind.GIF),
        (b"\0\0\0\x18ftypheic", Kind.HEIC),
        (b"\0\0\0\x18ftypavif", Kind.AVIF),
        (b"\0\0\0\x18ftypmp42", Kind.OTHER),
        (b"\0\0\0\x0cJXL \r\n\x87\n", Kind.JXL),
        (b'<?xml version="1.0"?>\n<svg xmlns="x">', Kind.SVG),
        (b"<html><p>no</p>", Kind.OTHER),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind.OTHER),
        (b"BMW cars are listed below, one a line", Kind.OTHER),
        (tar_of("a.pdf", b"%PDF-1.4"), Kind.TAR),
        (tar_of("a.pdf", b"%PDF-1.4", tarfile.USTAR_FORMAT), Kind.TAR),
        (gzip.compress(tar_of("a.pdf", b"x"), mtime=0), Kind.TAR_GZIP),
        (gzip.compress(b"a,b,c\n" * 300, mtime=0), Kind.GZIP),
        (zip_of("a.pdf"), Kind.ZIP),
        (zip_of(), Kind.ZIP),
        (zip_of("mimetype", "OEBPS/x.pdf"), Kind.OTHER),
        (zip_of("[Content_Types].xml", "word/document.xml"), Kind.OTHER),
        (zip_of("_rels/.rels", "[Content_Types].xml"), Kind.OTHER),
    ],
)
def test_type_is_told_by_content(head: bytes, kind: Kind) -> None:
    assert sniff(head[:4096]) is kind


def test_a_tar_without_magic_word_is_known_by_its_checksum() -> None:
    block = bytearray(tar_of("old.pdf", b"x", tarfile.USTAR_FORMAT))
    block[257:265] = bytes(8)
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block[:512])
    assert sniff(bytes(block)) is Kind.TAR
    block[0] ^= 1
    assert sniff(bytes(block)) is Kind.OTHER


@pytest.mark.parametrize(
    ("name", "kind", "named", "what", "problem"),
    [
        ("a.pdf", Kind.OTHER, False, What.DOCUMENT, None),  # opening it tells what it really is
        ("a.pdf", Kind.EMPTY, False, What.DOCUMENT, Reason.EMPTY_FILE),
        ("a", Kind.EMPTY, False, What.IGNORED, None),
        ("a", Kind.PDF, False, What.DOCUMENT, None),
        ("notes.txt", Kind.OTHER, False, What.IGNORED, None),
        ("notes.txt", Kind.OTHER, True, What.DOCUMENT, Reason.NOT_A_PDF),
        ("x.heic", Kind.HEIC, False, What.DOCUMENT, Reason.UNSUPPORTED_IMAGE),
        ("x.tar.gz", Kind.OTHER, False, What.ARCHIVE, None),
        ("x.csv.gz", Kind.GZIP, False, What.IGNORED, None),
        ("x.csv.gz", Kind.GZIP, True, What.ARCHIVE, None),
        ("x.bin", Kind.TAR, False, What.ARCHIVE, None),
        ("x.tar", Kind.PDF, False, What.DOCUMENT, None),
        ("._a.pdf", Kind.PDF, False, What.IGNORED, None),
        ("x.TIFF", None, False, What.DOCUMENT, None),
        ("x.tgz", None, False, What.ARCHIVE, None),
        ("x.csv", None, False, What.IGNORED, None),
    ],
)
def test_judgement(name: str, kind: Kind | None, named: bool, what: What, problem: Reason | None) -> None:
    verdict = judge(name, kind, named=named)
    assert (verdict.what, verdict.problem) == (what, problem)


@pytest.mark.parametrize(
    ("pattern", "base", "matches", "misses"),
    [
        ("/d/*.pdf", "/d", ["a.pdf", ".pdf"], ["x/a.pdf", "a.pdfx", "a.PDF"]),
        ("/d/**/*.pdf", "/d", ["a.pdf", "x/a.pdf", "x/y/a.pdf"], ["a.txt"]),
        ("/d/**", "/d", ["a", "x/y"], []),
        ("d/x/[ab]?.pdf", "d/x", ["a1.pdf", "b\n.pdf"], ["c1.pdf", "a/.pdf", "ab1.pdf"]),
        ("[!a].pdf", "", ["b.pdf"], ["a.pdf", "/.pdf"]),
        ("/*", "/", ["etc"], ["etc/x"]),
        ("x/[[]1].pdf", "x", ["[1].pdf"], ["1.pdf"]),
        ("x/[1.pdf", "x", ["[1.pdf"], ["1.pdf"]),
        ("x/a.b*", "x", ["a.b", "a.bc"], ["axb"]),
        ("x/[z-a].pdf", "x", [], ["m.pdf"]),
    ],
)
def test_patterns(pattern: str, base: str, matches: list[str], misses: list[str]) -> None:
    glob = split_glob(pattern)
    assert glob is not None
    assert glob.base == base
    assert all(glob.regex.fullmatch(path) for path in matches)
    assert not any(glob.regex.fullmatch(path) for path in misses)


def test_plain_names_are_no_patterns() -> None:
    assert split_glob("/d/a b#%.pdf") is None


@pytest.mark.parametrize("name", ["../a", "a/../b", "/a", "a\\b", "a\0.pdf", "C:/a.pdf", "", ".."])
def test_unsafe_member_names(name: str) -> None:
    assert name_problem(name) is Reason.UNSAFE_NAME


@pytest.mark.parametrize("name", ["a", "./a", "a..b/c", "A: intro.pdf", "-rf --help.pdf", "\udcff.pdf"])
def test_safe_member_names(name: str) -> None:
    assert name_problem(name) is None


def test_litter() -> None:
    assert is_litter("x/._a.pdf")
    assert is_litter("__MACOSX/a.pdf")
    assert is_litter(".DS_Store")
    assert not is_litter(".hidden.pdf")
