"""The bad inputs are as bad as they claim: PDFium, Pillow and the archive modules stumble over them as we assume.

Whatever may hang, crash or eat memory is opened in a process of its own with little memory and time.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pdfocr_core.errors import Reason
from pdfocr_core.records import DocumentStatus
from tests import bad_archives, bad_images, bad_pdfs
from tests.bad_inputs import CASES, Case

MEMORY_BYTES = 1 << 30
# Prints one line of JSON per file: pages and the text of each (pictures: the mode of each frame), or the error.
LOOK = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import pypdfium2, PIL.Image
def pdf(path, only):
    document = pypdfium2.PdfDocument(path)
    if document.get_formtype():
        document.init_forms()
    texts = []
    for index in range(min(len(document), 3)) if only is None else [only]:
        try:
            page = document[index]
            page.render(scale=0.2)
            texts.append(page.get_textpage().get_text_range())
        except (pypdfium2.PdfiumError, ZeroDivisionError, ValueError) as error:
            texts.append(f"error: {error!r}")
    return {"pages": len(document), "each": texts}
def picture(path):
    with PIL.Image.open(path) as image:
        frames = getattr(image, "n_frames", 1)
        modes = []
        for frame in range(frames):
            image.seek(frame)
            image.load()
            modes.append(image.mode)
        return {"pages": frames, "each": modes, "size": image.size}
for path in sys.argv[3:]:
    try:
        found = picture(path) if sys.argv[2] == "picture" else pdf(path, json.loads(sys.argv[2]))
    except Exception as error:
        found = {"error": repr(error)}
    print(json.dumps(found), flush=True)
"""
PDFS = [case for case in CASES if case.build.__module__ == "tests.bad_pdfs"]
PICTURES = [case for case in CASES if case.build.__module__ == "tests.bad_images"]
CALM = [case for case in PDFS if not case.exhausting]
EXHAUSTING = [case for case in PDFS if case.exhausting]
# PDFium believes any count.
OPENS_ALL_THE_SAME: dict[str, int] = {"count_lies": 1_000_000}


def _look(folder: Path, how: str, cases: list[Case]) -> tuple[int, list[dict[str, Any]]]:
    paths = []
    for case in cases:
        paths.append(folder / case.filename)
        paths[-1].write_bytes(case.build())
    arguments = [sys.executable, "-c", LOOK, str(MEMORY_BYTES), how, *map(str, paths)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the libraries make of every file that is not exhausting."""
    found: dict[str, dict[str, Any]] = {}
    for how, cases in (("null", CALM), ("picture", PICTURES)):
        code, lines = _look(tmp_path_factory.mktemp("bad"), how, cases)
        assert code == 0
        found.update(zip((case.name for case in cases), lines, strict=True))
    return found


def _named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def test_the_table_is_sound() -> None:
    assert len({case.name for case in CASES}) == len({case.filename for case in CASES}) == len(CASES)
    for case in CASES:
        assert (case.expect_reason is None) is (case.expect_status in (None, DocumentStatus.OK)), case.name
        assert case.expect_status is not None or case.members, case.name
        for outcome in case.members.values():
            assert (outcome.reason is None) is (outcome.status is DocumentStatus.OK), case.name


@_named(CASES)
def test_every_build_is_the_same(case: Case) -> None:
    assert case.build() == case.build()


@_named(CALM)
def test_pdfium_reacts_as_assumed(case: Case, seen: dict[str, dict[str, Any]]) -> None:
    found = seen[case.name]
    if case.pages == 0:
        assert "Failed to load document" in found["error"]
        # For a document without pages PDFium leaves whatever error an earlier document left.
        if case.expect_reason is not Reason.NO_PAGES:
            assert ("password" in found["error"]) is (case.expect_reason is Reason.PASSWORD_REQUIRED)
            assert ("security" in found["error"]) is (case.expect_reason is Reason.UNSUPPORTED_ENCRYPTION)
        return
    assert found["pages"] == OPENS_ALL_THE_SAME.get(case.name, case.pages)
    pages = found["each"][: case.pages]
    failed = [text for text in pages if text.startswith("error")]
    if case.expect_status is DocumentStatus.OK:
        assert not failed
    else:
        assert (len(failed) == case.pages) is (case.expect_status is DocumentStatus.FAILED)
    if case.phrase and case.phrase != bad_pdfs.FIELD_VALUE:
        assert case.phrase in pages[0]


@_named(EXHAUSTING)
def test_exhausting_pages_bring_their_process_down(case: Case, tmp_path: Path) -> None:
    code, lines = _look(tmp_path, "0", [case])
    assert code != 0
    assert lines == []


def test_the_page_beside_a_bomb_can_be_read(tmp_path: Path) -> None:
    (bomb,) = [case for case in EXHAUSTING if case.build is bad_pdfs.flate_bomb]
    code, lines = _look(tmp_path, "1", [bomb])
    assert (code, lines[0]["pages"]) == (0, 2)
    assert bomb.phrase in lines[0]["each"][0]


def test_the_right_password_opens(tmp_path: Path) -> None:
    import pypdfium2

    with pypdfium2.PdfDocument(bad_pdfs.user_password(), password="lantern") as pdf:
        assert bad_pdfs.PHRASE in pdf[0].get_textpage().get_text_range()


@_named(PICTURES)
def test_pillow_reacts_as_assumed(case: Case, seen: dict[str, dict[str, Any]]) -> None:
    found = seen[case.name]
    if case.pages == 0:
        word = "DecompressionBombError" if case.expect_reason is Reason.TOO_MANY_PIXELS else "UnidentifiedImageError"
        assert word in found["error"]
    elif case.expect_flags == {"truncated_image"}:
        assert "truncated" in found["error"]
    else:
        assert found["pages"] == case.pages


@pytest.mark.parametrize(
    ("build", "mode"),
    [
        (bad_images.cmyk_jpeg, "CMYK"),
        (bad_images.grey_16_bit_png, "I;16"),
        (bad_images.palette_png_with_alpha, "P"),
    ],
)
def test_pictures_have_the_awkward_modes(
    build: Callable[[], bytes], mode: str, seen: dict[str, dict[str, Any]]
) -> None:
    assert seen[build.__name__]["each"] == [mode]


def test_the_turned_picture_stands_upright_by_its_note_only() -> None:
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(bad_images.exif_turned_jpeg())) as image:
        assert image.height > image.width
        upright = ImageOps.exif_transpose(image)
    assert upright.width > upright.height


@pytest.mark.parametrize(
    "build",
    [
        bad_archives.parent_folder_tar,
        bad_archives.absolute_path_tar,
        bad_archives.links_and_devices_tar,
        bad_archives.non_utf8_names_tar,
        bad_archives.nested_tar,
    ],
)
def test_tars_hold_the_members_of_the_table(build: Callable[[], bytes]) -> None:
    (case,) = [case for case in CASES if case.build is build]
    with tarfile.open(fileobj=io.BytesIO(build()), encoding="utf-8", errors="surrogateescape") as archive:
        members = {entry.name: entry.isreg() for entry in archive}
    assert set(members) == set(case.members)
    for name, regular in members.items():
        assert regular is (case.members[name].reason is not Reason.NOT_REGULAR), name


def test_duplicate_members_differ() -> None:
    with tarfile.open(fileobj=io.BytesIO(bad_archives.duplicate_names_tar())) as archive:
        contents = [archive.extractfile(entry).read() for entry in archive]  # type: ignore[union-attr]
        assert archive.getnames() == ["same.pdf", "same.pdf"]
    assert contents[0] != contents[1]


def test_tarfile_stops_silently_at_damage_and_loudly_at_a_cut() -> None:
    with tarfile.open(fileobj=io.BytesIO(bad_archives.damaged_middle_tar())) as archive:
        assert archive.getnames() == ["good.pdf"]
    with tarfile.open(fileobj=io.BytesIO(bad_archives.truncated_tar_gz()), mode="r|gz") as archive:
        assert archive.next().name == "good.pdf"  # type: ignore[union-attr]
        with pytest.raises((EOFError, tarfile.ReadError)):
            archive.extractfile(archive.next()).read()  # type: ignore[arg-type,union-attr]


def test_the_bombs_unpack_a_thousandfold() -> None:
    packed = bad_archives.bomb_tar_gz()
    with gzip.open(io.BytesIO(packed)) as stream:
        assert sum(len(stream.read(1 << 20)) for _ in range(256)) > 1000 * len(packed)
    with zipfile.ZipFile(io.BytesIO(bad_archives.bomb_zip())) as archive:
        (entry,) = archive.infolist()
        assert entry.file_size > 1000 * entry.compress_size
        assert archive.testzip() is None


def test_zipfile_and_tarfile_refuse_as_assumed() -> None:
    with zipfile.ZipFile(io.BytesIO(bad_archives.lying_zip())) as archive:
        assert archive.infolist()[0].file_size == 10
        with pytest.raises(zipfile.BadZipFile):
            archive.read("small.pdf")
    with zipfile.ZipFile(io.BytesIO(bad_archives.encrypted_zip())) as archive, pytest.raises(RuntimeError):
        archive.read("secret.pdf")
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(io.BytesIO(bad_archives.truncated_zip()))
    assert not tarfile.is_tarfile(io.BytesIO(bad_archives.text_named_tar_gz()))
