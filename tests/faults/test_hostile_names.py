"""Whatever a file or a member of an archive is called, a run writes inside its workspace, and its tables hold no formula."""

from __future__ import annotations

import csv
import io
import os
import tarfile
from pathlib import Path

from pdfocr_core.testing.server import MODEL, fault_server
from tests.documents import write_pdf
from tests.integration.conftest import Command

FILES = [
    b"=cmd|' calc'!A0.pdf",
    b"+1+1.pdf",
    b"-2+3.pdf",
    b"@SUM(A1).pdf",
    b"\t=1.pdf",
    b"two\nlines.pdf",
    b"\x1b[31mred\x1b]0;title\x07.pdf",
    b"..%2f..%2fescaped.pdf",
    b"..\\..\\windows.pdf",
    b"...pdf",
    b"$(touch touched).pdf",
    b"`touch touched`;touch touched.pdf",
    b"<img src=x onerror=alert(1)>.pdf",
    b"a.tar::..member.pdf",
    b"no\xfftext.pdf",
    "\u202egnp.fdp.pdf".encode(),
    b"--help.pdf",
    b"x" * 240 + b".pdf",
]
MEMBERS = [
    "../../../outside/evil.pdf",
    "..",
    "{outside}/evil.pdf",
    "C:\\evil.pdf",
    "a/../../../outside/evil.pdf",
    "=1+1.pdf",
    "-rf.pdf",
    "deep/" * 60 + "down.pdf",
]
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def everything_below(folder: Path) -> set[str]:
    return {str(Path(path, name)) for path, _folders, names in os.walk(folder) for name in names}


def test_names_stay_inside_the_workspace_and_out_of_the_tables(pdfocr: Command) -> None:
    outside, home, temporary = (pdfocr.folder / name for name in ("outside", "home", "temporary"))
    for folder in (outside, home, temporary):
        folder.mkdir()
    sources = pdfocr.folder / "sources"
    plain = write_pdf(pdfocr.folder / "plain.pdf", ["text"])
    written = 0
    sources.mkdir()
    for number, name in enumerate(FILES):
        write_pdf(plain, [f"file {number}"])
        Path(os.fsdecode(os.fsencode(sources) + b"/" + name)).write_bytes(plain.read_bytes())
        written += 1
    with tarfile.open(sources / "=packed.tar", "w") as archive:
        for number, name in enumerate(MEMBERS):
            data = write_pdf(plain, [f"member {number}"]).read_bytes()
            entry = tarfile.TarInfo(name.format(outside=outside))
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        link = tarfile.TarInfo("link.pdf")
        link.type, link.linkname = tarfile.SYMTYPE, str(outside / "evil.pdf")
        archive.addfile(link)
    before = everything_below(pdfocr.folder)
    environment = {"HOME": str(home), "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(home / ".cache")}
    with fault_server() as server:
        remote = ("--engine", "remote", "--model", MODEL, "--server", server.url)
        arguments = ("run", sources, *remote, "--workspace", pdfocr.workspace)
        done = pdfocr(*arguments, code=3, extra_environment=environment)
    new = everything_below(pdfocr.folder) - before
    allowed = (f"{pdfocr.workspace}/", f"{pdfocr.workspace}.dagster/")
    assert [path for path in new if not path.startswith(allowed)] == []
    assert not any(Path(path).name == "touched" for path in new)
    assert "\x1b[31mred" not in done.stderr + done.stdout
    assert "\x07" not in done.stderr + done.stdout

    books = pdfocr.books()
    assert books["balanced"]
    assert books["by_status"]["ok"] >= written
    markdown = {path for path in new if path.startswith(f"{pdfocr.workspace}/markdown/")}
    assert len(markdown) == books["by_status"]["ok"]

    tables = list((pdfocr.workspace / "report").glob("*.csv"))
    assert tables
    for path in tables:
        cells = [cell for row in csv.reader(path.open(newline="", encoding="utf-8")) for cell in row]
        assert not [cell for cell in cells if cell.startswith(FORMULA)], path.name
    said = pdfocr("status", pdfocr.workspace, "--csv").stdout
    assert not [cell for row in csv.reader(io.StringIO(said)) for cell in row if cell.startswith(FORMULA)]
