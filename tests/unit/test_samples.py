"""The samples are what their README and `expected.json` say, and their generator still makes them."""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from PIL import Image, ImageSequence

from pdfocr_core.errors import Reason
from pdfocr_core.records import DocumentStatus

SAMPLES = Path(__file__).parents[2] / "samples"
ABOUT = {"README.md", "expected.json"}
EXPECTED: dict[str, dict[str, Any]] = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
PICTURES = {"scan.pdf", "turned.pdf", "photo.jpg", "ledger.tiff"}


def _content(document: str) -> bytes:
    file, _, member = document.partition("::")
    if not member:
        return (SAMPLES / file).read_bytes()
    with tarfile.open(SAMPLES / file) as archive:
        found = archive.extractfile(member)
        assert found is not None
        return found.read()


def _text(pdf: pypdfium2.PdfDocument, page: int) -> str:
    """The text layer with PDFium's mark for a hyphen at a line end mended, and white space folded."""
    text = pdf[page - 1].get_textpage().get_text_range()
    return re.sub(r"\s+", " ", text.replace("\ufffe", "").replace("\x02", ""))


def test_every_file_is_listed_and_nothing_else() -> None:
    files = {path.name for path in SAMPLES.iterdir()} - ABOUT
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert {document.partition("::")[0] for document in EXPECTED} == files
    assert set(re.findall(r"^\| `([^`]+)` \|", readme, re.MULTILINE)) == files


def test_the_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLES.iterdir()) < 3_000_000


def test_expectations_use_the_public_codes() -> None:
    for document, expected in EXPECTED.items():
        if DocumentStatus(expected["status"]) is DocumentStatus.FAILED:
            assert Reason(expected["reason"]), document
        else:
            assert sorted(expected["phrases"], key=int) == [str(n + 1) for n in range(expected["pages"])], document


def test_archive_members_that_are_documents_are_all_expected() -> None:
    with tarfile.open(SAMPLES / "parish.tar.gz") as archive:
        members = {f"parish.tar.gz::{name}" for name in archive.getnames() if name != "README"}
    assert members == {document for document in EXPECTED if "::" in document}


@pytest.mark.parametrize(
    "document", [name for name, e in EXPECTED.items() if e["status"] == "ok" and name not in PICTURES]
)
def test_phrases_stand_in_the_text_layer(document: str) -> None:
    expected = EXPECTED[document]
    with pypdfium2.PdfDocument(_content(document)) as pdf:
        assert len(pdf) == expected["pages"]
        for page, phrases in expected["phrases"].items():
            text = _text(pdf, int(page))
            assert [phrase for phrase in phrases if phrase not in text] == []
            assert bool(text.strip()) is bool(phrases)


@pytest.mark.parametrize(("name", "lying"), [("scan.pdf", False), ("turned.pdf", True)])
def test_scans_are_pictures_only(name: str, lying: bool) -> None:
    with pypdfium2.PdfDocument(SAMPLES / name) as pdf:
        page = pdf[0]
        assert len(pdf) == 1
        assert page.get_rotation() == 0
        assert page.get_textpage().count_chars() == 0
        assert (page.get_width() > page.get_height()) is lying


def test_pictures_have_the_frames_and_modes_promised() -> None:
    with Image.open(SAMPLES / "ledger.tiff") as ledger:
        modes = [(frame.mode, frame.info["compression"]) for frame in ImageSequence.Iterator(ledger)]
    assert modes == [("L", "tiff_lzw"), ("1", "group4"), ("L", "tiff_lzw")]
    with Image.open(SAMPLES / "photo.jpg") as photo:
        assert (photo.format, photo.mode) == ("JPEG", "RGB")


def test_locked_needs_its_password() -> None:
    with pytest.raises(pypdfium2.PdfiumError, match="password"):
        pypdfium2.PdfDocument(SAMPLES / "locked.pdf")
    with pypdfium2.PdfDocument(SAMPLES / "locked.pdf", password="lighthouse") as pdf:
        assert "the word that opens it" in _text(pdf, 1)


def test_truncated_does_not_open() -> None:
    content = (SAMPLES / "truncated.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert b"%%EOF" not in content
    with pytest.raises(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(io.BytesIO(content))


def test_the_generator_makes_the_committed_bytes() -> None:
    reportlab = pytest.importorskip("reportlab", reason="reportlab (extra `dev`) is not installed")
    from tools import make_samples

    assert set(make_samples.SAMPLES) == {path.name for path in SAMPLES.iterdir()} - ABOUT
    if reportlab.Version != make_samples.MADE_WITH:
        pytest.skip(f"the samples were made with reportlab {make_samples.MADE_WITH}, here is {reportlab.Version}")
    for name, build in make_samples.PLAIN_PDFS.items():
        assert build() == (SAMPLES / name).read_bytes(), f"{name}: run `python -m tools.make_samples`"


def test_pictures_are_made_the_same_each_time() -> None:
    pytest.importorskip("reportlab", reason="reportlab (extra `dev`) is not installed")
    from tools import make_samples, sample_pictures

    try:
        sample_pictures.font_path("DejaVuSerif")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    for name in ("ledger.tiff", "scan.pdf", "pismo_ru.pdf"):
        assert make_samples.SAMPLES[name]() == make_samples.SAMPLES[name](), name
