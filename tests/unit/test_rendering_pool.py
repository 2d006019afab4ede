from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from pdfocr_core.errors import DocumentError, PageError, Reason
from pdfocr_core.rendering.model import OpenedDocument, RenderedPage
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import RenderSettings
from tests import bad_images, bad_pdfs
from tests.bad_inputs import CASES, Case

CORPUS = Path(os.environ.get("PDFOCR_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


@pytest.fixture(scope="module")
def pool() -> Iterator[RenderPool]:
    with RenderPool(RenderSettings(workers=2, render_memory_mb=1024)) as opened:
        yield opened


def opened(pool: RenderPool, path: Path, *passwords: str) -> OpenedDocument:
    return asyncio.run(pool.open(path, path.name, passwords))


def rendered(pool: RenderPool, path: Path, *numbers: int, kind: str = "pdf", **how: object) -> list[object]:
    return asyncio.run(pool.render(path, kind, numbers, **how))


def pixels(page: object) -> np.ndarray:
    assert isinstance(page, RenderedPage), page
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(page.image))))


def numbered(path: Path, pages: int) -> Path:
    canvas = Canvas(str(path), pagesize=A4)
    for number in range(1, pages + 1):
        canvas.setFont("Helvetica", 40)
        canvas.drawString(100, 700, f"This is page {number}")
        canvas.showPage()
    canvas.save()
    return path


SINGLE_FILES = [case for case in CASES if not case.members and not case.exhausting and case.expect_status is not None]
DOCUMENTS = [case for case in SINGLE_FILES if not case.filename.endswith((".tar", ".tar.gz", ".zip"))]


@pytest.mark.parametrize("case", DOCUMENTS, ids=lambda case: case.name)
def test_every_bad_input_ends_as_it_must(pool: RenderPool, tmp_path: Path, case: Case):
    path = tmp_path / case.filename
    path.write_bytes(case.build())
    if case.pages == 0:
        with pytest.raises(DocumentError) as caught:
            opened(pool, path)
        assert caught.value.reason is case.expect_reason
        assert str(tmp_path) not in caught.value.detail
        return
    document = opened(pool, path)
    pages = rendered(pool, path, *range(1, document.pages + 1), kind=document.kind, want_text=True)
    assert document.content_id == hashlib.sha256(path.read_bytes()).hexdigest()
    assert document.pages == case.pages
    good = [page for page in pages if isinstance(page, RenderedPage)]
    flags = {*document.flags, *(flag for page in good for flag in page.flags)}
    assert flags >= case.expect_flags
    assert len(good) == (case.pages if case.expect_reason is None else case.pages - 1)
    if case.phrase and document.kind == "pdf":
        assert any(case.phrase in page.text.markdown for page in good if page.text)


def test_pages_come_in_the_order_asked_and_at_the_size_asked(pool: RenderPool, tmp_path: Path):
    path = numbered(tmp_path / "five.pdf", 5)
    pages = rendered(pool, path, 4, 1, 5, longest_side=700, want_text=True)
    assert [page.page for page in pages] == [4, 1, 5]
    assert [page.text.markdown.split()[-1] for page in pages] == ["4", "1", "5"]
    assert all((page.width, page.height) == (495, 700) for page in pages)
    assert all(page.text is None for page in rendered(pool, path, 1, 2))


def test_rotation_and_format_are_as_asked(pool: RenderPool, tmp_path: Path):
    path = numbered(tmp_path / "one.pdf", 1)
    (upright,) = rendered(pool, path, 1, image_format="png")
    (turned,) = rendered(pool, path, 1, rotation=90, image_format="png")
    assert (turned.width, turned.height) == (upright.height, upright.width)
    assert np.array_equal(pixels(turned), np.rot90(pixels(upright)))
    (jpeg,) = rendered(pool, path, 1, allow_grey=False)
    assert (jpeg.format, pixels(jpeg).ndim) == ("jpeg", 3)


def test_form_values_are_drawn(pool: RenderPool, tmp_path: Path):
    path = tmp_path / "form.pdf"
    path.write_bytes(bad_pdfs.filled_form())
    (page,) = rendered(pool, path, 1)
    assert not page.blank


def test_passwords_are_tried_in_turn(pool: RenderPool, tmp_path: Path):
    path = tmp_path / "locked.pdf"
    canvas = Canvas(str(path), encrypt="opensésame")
    canvas.drawString(100, 700, "locked words")
    canvas.save()
    document = opened(pool, path, "wrong", "opensésame")
    assert document.password_index == 1
    assert "permissions_restricted" not in document.flags
    (page,) = rendered(pool, path, 1, want_text=True, password="opensésame")
    assert "locked words" in page.text.markdown
    with pytest.raises(DocumentError) as caught:
        opened(pool, path, "wrong")
    assert caught.value.reason is Reason.PASSWORD_REQUIRED
    assert "wrong" not in str(caught.value)
    (refused,) = rendered(pool, path, 1, password="wrong")
    assert refused.reason is Reason.PASSWORD_REQUIRED


def test_pages_that_are_not_there_are_page_errors(pool: RenderPool, tmp_path: Path):
    path = numbered(tmp_path / "two.pdf", 2)
    good, missing = rendered(pool, path, 2, 3)
    assert isinstance(good, RenderedPage)
    assert isinstance(missing, PageError)
    assert missing.reason is Reason.PAGE_UNREADABLE
    (gone,) = rendered(pool, tmp_path / "nowhere.pdf", 1)
    assert gone.reason is Reason.SOURCE_UNREADABLE
    with pytest.raises(DocumentError) as caught:
        opened(pool, tmp_path / "nowhere.pdf")
    assert caught.value.reason is Reason.SOURCE_MISSING


def test_limits_have_their_own_reasons(tmp_path: Path):
    path = numbered(tmp_path / "five.pdf", 5)
    with RenderPool(RenderSettings(workers=1, max_pages=4)) as small, pytest.raises(DocumentError) as caught:
        opened(small, path)
    assert caught.value.reason is Reason.TOO_MANY_PAGES
    with RenderPool(RenderSettings(workers=1, max_bytes=500)) as small, pytest.raises(DocumentError) as caught:
        opened(small, path)
    assert caught.value.reason is Reason.TOO_MANY_BYTES


def test_pages_are_counted_in_order(pool: RenderPool, tmp_path: Path):
    paths, expected = [], []
    for number in range(70):  # more than one batch
        path = tmp_path / f"{number}.pdf"
        if number % 10 == 3:
            path.write_bytes(bad_pdfs.html())
            expected.append(None)
        elif number % 10 == 5:
            path.write_bytes(bad_images.multi_frame_tiff())
            expected.append(3)
        else:
            numbered(path, 1 + number % 4)
            expected.append(1 + number % 4)
        paths.append(str(path))
    paths.append(str(tmp_path / "nowhere.pdf"))
    assert pool.count_pages_sync(paths) == [*expected, None]
    assert asyncio.run(pool.count_pages(paths)) == [*expected, None]
    assert pool.count_pages_sync([]) == []


def test_undecodable_names_are_opened(pool: RenderPool, tmp_path: Path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pdf"))
    path.write_bytes(bad_pdfs.plain())
    assert opened(pool, path).pages == 1
    assert isinstance(rendered(pool, path, 1)[0], RenderedPage)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here; set PDFOCR_CORPUS")
@pytest.mark.parametrize(
    ("name", "sound"),
    [
        ("born_digital/olmo-page-1.pdf", False),
        ("multi_column/large_prompt_hint3.pdf", False),
        ("born_digital/edgar.pdf", True),
        ("born_digital/letter-en.pdf", True),
        ("languages/de_letter.pdf", True),
        ("languages/fr_olap.pdf", True),
        ("languages/ar_right_to_left_01.pdf", True),
        ("languages/ja_issue16538.pdf", True),
        ("languages/ko_normal_4pages.pdf", True),
        ("languages/ru_pdfcpu_form.pdf", True),
        ("languages/zh_chinese-tables.pdf", True),
    ],
)
def test_text_layers_of_the_corpus_are_judged_rightly(pool: RenderPool, name: str, sound: bool):
    (page,) = rendered(pool, CORPUS / name, 1, want_text=True)
    assert page.text.sound is sound, page.text.reason


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here; set PDFOCR_CORPUS")
def test_odd_pages_of_the_corpus(pool: RenderPool):
    (blank,) = rendered(pool, CORPUS / "odd/blanktext.pdf", 1)
    assert blank.blank
    assert blank.flags == ()
    (fontless,) = rendered(pool, CORPUS / "languages/ja_noembed-sjis.pdf", 1)
    if fontless.blank:  # a machine with a Japanese font draws it
        assert "blank_render" in fontless.flags
        assert "あいうえお" in fontless.text.markdown
    (huge,) = rendered(pool, CORPUS / "broken/huge_page_2147483648pt.pdf", 1)
    assert (huge.blank, huge.height) == (True, 1288)
    (skinny,) = rendered(pool, CORPUS / "odd/skinnypage.pdf", 2)
    assert skinny.width >= 28
    assert "xfa_placeholder" in opened(pool, CORPUS / "forms/xfa_email_recommended.pdf").flags
    (scan,) = rendered(pool, CORPUS / "scans/horribleocr.pdf", 1, want_text=True)
    assert scan.text.over_image
