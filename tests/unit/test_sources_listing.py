from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path

import pytest

from pdfocr_core.errors import ConfigurationError, Reason
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.listing import expand

PDF = b"%PDF-1.4\n%%EOF\n"


def put(root: Path, *names: str, data: bytes = PDF) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def documents(found: Iterable[Found], root: Path) -> list[str]:
    return [os.path.relpath(item.url, root) for item in found if item.what is not What.IGNORED]


def test_a_folder_is_walked_in_the_order_of_names_and_litter_is_counted(tmp_path: Path) -> None:
    put(tmp_path, "b.pdf", "a/z.PDF", "a/noext", "dir.pdf/inner.pdf", ".git/x.pdf", "a/._z.PDF")
    put(tmp_path, "README.md", "a/data.csv", data=b"hello")
    found = list(expand([str(tmp_path)]))
    assert documents(found, tmp_path) == ["a/noext", "a/z.PDF", "b.pdf", "dir.pdf/inner.pdf"]
    assert sum(item.what is What.IGNORED for item in found) == 3


def test_urls_are_absolute_and_versions_are_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.pdf")
    os.utime(tmp_path / "a.pdf", ns=(5, 123456789))
    monkeypatch.chdir(tmp_path)
    (item,) = expand(["./a.pdf"])
    assert (item.url, item.version, item.bytes) == (str(tmp_path / "a.pdf"), f"{len(PDF)}-123456789", len(PDF))


def test_links_to_files_count_and_links_to_folders_do_not(tmp_path: Path) -> None:
    put(tmp_path, "in/real.pdf", "out/other.pdf")
    (tmp_path / "in/link.pdf").symlink_to(tmp_path / "out/other.pdf")
    (tmp_path / "in/circle").symlink_to(tmp_path / "in")
    (tmp_path / "in/gone.pdf").symlink_to(tmp_path / "nowhere")
    found = list(expand([str(tmp_path / "in")]))
    assert documents(found, tmp_path / "in") == ["gone.pdf", "link.pdf", "real.pdf"]
    assert [item.problem for item in found if item.url.endswith("gone.pdf")] == [Reason.SOURCE_MISSING]


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf")
    os.mkfifo(tmp_path / "pipe.pdf")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        found = {Path(item.url).name: item for item in expand([str(tmp_path)])}
    assert found["pipe.pdf"].problem is Reason.NOT_REGULAR
    assert found["s"].what is What.IGNORED


def test_odd_names_survive(tmp_path: Path) -> None:
    odd = ["-rf --help.pdf", "100%25 a&b;$(id)`x`#1?.pdf", "Отчёт — 報告書 ✓.pdf", "[1].pdf", "a\nb\r.pdf", "a::b.pdf"]
    put(tmp_path, *odd)
    with open(os.fsencode(tmp_path) + b"/\xff\xfe.pdf", "wb") as file:  # noqa: PTH123
        file.write(PDF)
    assert set(documents(expand([str(tmp_path)]), tmp_path)) == {*odd, "\udcff\udcfe.pdf"}
    for name in odd:  # a name that is also a pattern means the file when there is one
        assert documents(expand([str(tmp_path / name)]), tmp_path) == [name]


def test_patterns_match_files_and_whole_folders(tmp_path: Path) -> None:
    put(tmp_path, "x/a.pdf", "x/b.pdf", "x/deep/c.pdf", "y2024/d.pdf", "y2025/e/f.pdf", ".h/g.pdf")
    put(tmp_path, "x/a.csv", data=b"1,2")
    assert documents(expand([f"{tmp_path}/x/*.pdf"]), tmp_path) == ["x/a.pdf", "x/b.pdf"]
    assert documents(expand([f"{tmp_path}/**/[c-f].pdf"]), tmp_path) == ["x/deep/c.pdf", "y2024/d.pdf", "y2025/e/f.pdf"]
    assert documents(expand([f"{tmp_path}/y*"]), tmp_path) == ["y2024/d.pdf", "y2025/e/f.pdf"]


def test_a_source_that_is_not_there_ends_the_run(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf")
    for source in (tmp_path / "no.pdf", tmp_path / "*.png", tmp_path / "no/*.pdf"):
        with pytest.raises(ConfigurationError) as caught:
            list(expand([str(source)]))
        assert caught.value.code == "source_not_found"
        assert caught.value.remedy
    with pytest.raises(ConfigurationError) as caught:
        list(expand(["ftp://host/a.pdf"]))
    assert caught.value.code == "unsupported_source"


def test_named_files_are_never_ignored(tmp_path: Path) -> None:
    put(tmp_path, "table.csv", data=b"1,2")
    put(tmp_path, "nothing", data=b"")
    named = [str(tmp_path / name) for name in ("table.csv", "nothing")]
    assert [item.problem for item in expand(named)] == [Reason.NOT_A_PDF, Reason.EMPTY_FILE]


def test_the_same_file_named_twice_is_one(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf", "b.pdf")
    assert documents(expand([f"{tmp_path}/b.pdf", str(tmp_path), f"{tmp_path}/*.pdf"]), tmp_path) == ["b.pdf", "a.pdf"]


def test_lists_are_relative_to_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "lists/a.pdf", "lists/sub/b.pdf", "lists/sub/c.pdf", "d.pdf")
    (tmp_path / "lists/all.txt").write_bytes(
        b"\xef\xbb\xbf# papers\r\n\r\n a.pdf \r\nsub/[c].pdf\n../d.pdf\n" + os.fsencode(tmp_path) + b"/lists/sub\n"
    )
    monkeypatch.chdir("/")
    found = expand([str(tmp_path / "lists/all.txt")])
    assert documents(found, tmp_path) == ["lists/a.pdf", "lists/sub/c.pdf", "d.pdf", "lists/sub/b.pdf"]


def test_a_list_keeps_the_line_whose_file_is_gone_and_does_not_nest(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf")
    (tmp_path / "inner.txt").write_text("a.pdf\n")
    (tmp_path / "list.txt").write_text("a.pdf\ngone.pdf\ninner.txt\n")
    found = list(expand([str(tmp_path / "list.txt")]))
    assert [item.problem for item in found] == [None, Reason.SOURCE_MISSING, Reason.NOT_A_PDF]


@pytest.mark.parametrize("text", ["", "# nothing\n", "gone.pdf\nalso gone.pdf\n"])
def test_a_list_that_finds_nothing_ends_the_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        list(expand([str(tmp_path / "list.txt")]))
    assert caught.value.code == "source_not_found"


def test_a_pdf_named_txt_is_a_document(tmp_path: Path) -> None:
    put(tmp_path, "really.txt")
    assert documents(expand([str(tmp_path / "really.txt")]), tmp_path) == ["really.txt"]


def test_the_workspace_is_never_entered(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf", "ws/markdown/a.png", "ws/in/b.pdf")
    ws = tmp_path / "ws"
    assert documents(expand([str(tmp_path)], exclude=ws), tmp_path) == ["a.pdf"]
    assert documents(expand([f"{tmp_path}/**/*.p*"], exclude=ws), tmp_path) == ["a.pdf"]
    assert documents(expand([str(ws / "in")], exclude=ws), tmp_path) == ["ws/in/b.pdf"]
    with pytest.raises(ConfigurationError) as caught:
        list(expand([str(ws)], exclude=ws))
    assert caught.value.code == "source_is_workspace"


def test_deep_folders_need_no_recursion(tmp_path: Path) -> None:
    folders = [tmp_path]
    for _ in range(1100):
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    file = folders[-1] / "a.pdf"
    file.write_bytes(PDF)
    found = list(expand([str(tmp_path)]))
    file.unlink()
    for folder in reversed(folders[1:]):  # pytest's own clean-up would recurse
        folder.rmdir()
    assert [item.url for item in found] == [str(file)]


def test_what_is_known_is_not_opened(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf", data=b"")  # would be an empty file if it were looked at
    (item,) = expand([str(tmp_path)], is_known=lambda *_: True)
    assert item.known
    assert item.problem is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_row(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf", "closed/b.pdf")
    (tmp_path / "a.pdf").chmod(0)
    (tmp_path / "closed").chmod(0)
    try:
        found = list(expand([str(tmp_path)]))
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert [item.problem for item in found] == [Reason.SOURCE_UNREADABLE] * 2
