from __future__ import annotations

import base64
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.rendering.image import check_size, count_frames, open_image, render_image_pages
from pdfocr_core.rendering.model import Failure, RenderedPage, RenderOptions


def options(**changes: object) -> RenderOptions:
    settings = {
        "longest_side": 200,
        "min_short_side": 1,
        "rotation": 0,
        "image_format": "png",
        "jpeg_quality": 95,
        "allow_grey": True,
        "want_text": False,
        "max_image_pixels": 400_000_000,
        "max_decoded_bytes": 800_000_000,
    }
    return RenderOptions(**{**settings, **changes})


def saved(image: Image.Image, path: Path, **how: object) -> Path:
    image.save(path, **how)
    return path


def drawn(path: Path, pages: tuple[int, ...] = (1,), **changes: object) -> list[RenderedPage | Failure]:
    ready, *results = render_image_pages(path, pages, options(**changes))
    assert ready is None
    return results


def pixels(page: RenderedPage | Failure) -> np.ndarray:
    assert isinstance(page, RenderedPage), page
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(page.image))))


def sheet(mode: str, white: object, black: object, size: tuple[int, int] = (100, 60)) -> Image.Image:
    image = Image.new(mode, size, white)
    image.paste(black, (20, 20, 60, 40))
    return image


@pytest.mark.parametrize(
    ("mode", "white", "black", "ending"),
    [
        ("1", 1, 0, "png"),
        ("1", 1, 0, "tiff"),
        ("L", 255, 0, "png"),
        ("RGB", (255, 255, 255), (0, 0, 0), "webp"),
        ("CMYK", (0, 0, 0, 0), (0, 0, 0, 255), "tiff"),
        ("RGBA", (9, 9, 9, 0), (0, 0, 0, 255), "png"),
        ("LA", (0, 0), (0, 255), "png"),
        ("I;16", 65535, 0, "png"),
        ("I;16", 65535, 0, "tiff"),
        ("F", 1.0, 0.0, "tiff"),
    ],
)
def test_paper_is_white_and_ink_is_black_in_every_mode(
    tmp_path: Path, mode: str, white: object, black: object, ending: str
):
    how = {"lossless": True} if ending == "webp" else {}
    (page,) = drawn(saved(sheet(mode, white, black), tmp_path / f"page.{ending}", **how))
    seen = pixels(page)
    assert seen[5, 5].min() >= 250
    assert seen[30, 30].max() <= 5
    assert not page.blank


def test_16_bit_grey_is_scaled_not_cut(tmp_path: Path):
    ramp = np.linspace(0, 65535, 160).astype(np.uint16)[None, :].repeat(20, axis=0)
    (page,) = drawn(saved(Image.fromarray(ramp), tmp_path / "ramp.png"))
    assert np.abs(pixels(page)[10].astype(int) - np.linspace(0, 255, 160)).max() <= 2


def test_palette_transparency_lies_on_white(tmp_path: Path):
    image = Image.new("P", (100, 60), 0)
    image.putpalette([10, 10, 10, 0, 0, 0])
    image.paste(1, (20, 20, 60, 40))
    (page,) = drawn(saved(image, tmp_path / "page.png", transparency=0))
    assert pixels(page)[5, 5].min() == 255
    assert pixels(page)[30, 30].max() == 0


def test_exif_orientation_is_applied_once(tmp_path: Path):
    image = sheet("RGB", (255, 255, 255), (0, 0, 0))
    exif = Image.Exif()
    exif[0x0112] = 6  # stored lying on its left side
    (page,) = drawn(saved(image, tmp_path / "page.jpg", exif=exif, quality=95))
    assert (page.width, page.height) == (60, 100)
    assert pixels(page)[30, 30].max() < 60
    assert pixels(page)[80, 30].min() > 200


@pytest.mark.parametrize("size", [(3000, 1800), (3001, 1799), (1000, 60), (211, 199)])
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_large_pictures_come_down_whole(tmp_path: Path, size: tuple[int, int], ending: str):
    image = Image.new("L", size, 255)
    width, height = size
    image.paste(0, (width // 2, 0, width, height))  # right half black
    (page,) = drawn(saved(image, tmp_path / f"page.{ending}"))
    assert max(page.width, page.height) == 200
    assert page.width / page.height == pytest.approx(width / height, rel=0.03)
    seen = pixels(page)
    assert seen[-1, 20] > 240
    assert seen[0, -20] < 15


def test_small_pictures_are_not_enlarged(tmp_path: Path):
    (page,) = drawn(saved(sheet("L", 255, 0), tmp_path / "page.png"), longest_side=1288)
    assert (page.width, page.height) == (100, 60)


@pytest.mark.parametrize(("ending", "count"), [("tiff", 3), ("gif", 3), ("webp", 3), ("png", 1)])
def test_frames_are_pages(tmp_path: Path, ending: str, count: int):
    frames = [Image.new("RGB", (60, 60), colour) for colour in ("red", "lime", "blue")]
    how = {"lossless": True} if ending == "webp" else {}
    path = saved(frames[0], tmp_path / f"frames.{ending}", save_all=True, append_images=frames[1:], **how)
    with open_image(path) as image:
        assert count_frames(image) == count
    wanted = tuple(range(count, 0, -1))  # backwards: frames are found, not met
    colours = [tuple(pixels(page)[30, 30]) for page in drawn(path, wanted, allow_grey=False)]
    assert colours == [[(255, 0, 0), (0, 255, 0), (0, 0, 255)][number - 1] for number in wanted]


@pytest.mark.parametrize(("ending", "keep"), [("jpg", 0.6), ("png", 0.5)])
def test_a_picture_whose_end_is_missing_gives_the_part_that_is_there(tmp_path: Path, ending: str, keep: float):
    noise = np.random.default_rng(0).integers(0, 256, (120, 160), dtype=np.uint8)
    path = saved(Image.fromarray(noise), tmp_path / f"page.{ending}")
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    (page,) = drawn(path)
    assert page.flags == ("truncated_image",)
    assert pixels(page)[:40].std() > 30


def test_one_damaged_frame_does_not_take_the_others_along(tmp_path: Path):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    frames = [Image.fromarray(noise) for _ in range(3)]
    path = saved(frames[0], tmp_path / "frames.tiff", save_all=True, append_images=frames[1:], compression="tiff_lzw")
    with Image.open(path) as image:
        image.seek(1)
        offset = image.tag_v2[273][0]
    data = bytearray(path.read_bytes())
    data[offset : offset + 400] = bytes(400)
    path.write_bytes(data)
    first, second, third = drawn(path, (1, 2, 3))
    assert np.array_equal(pixels(first), noise)
    assert np.array_equal(pixels(third), noise)
    damaged = second.reason is Reason.CORRUPT_IMAGE if isinstance(second, Failure) else second.flags
    assert damaged


def png_header(width: int, height: int, colour_type: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("width", "height", "colour_type"), [(100_000, 100_000, 0), (15_000, 15_000, 2)])
def test_bombs_are_refused_by_their_header(tmp_path: Path, width: int, height: int, colour_type: int):
    path = tmp_path / "bomb.png"
    path.write_bytes(png_header(width, height, colour_type))
    with open_image(path) as image, pytest.raises(DocumentError) as caught:
        check_size(image, 400_000_000, 800_000_000)
    assert caught.value.reason is Reason.TOO_MANY_PIXELS
    (page,) = drawn(path)
    assert page.reason is Reason.TOO_MANY_PIXELS


def test_a_damaged_header_is_said_plainly(tmp_path: Path):
    path = tmp_path / "page.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 40)
    with pytest.raises(DocumentError) as caught:
        open_image(path)
    assert caught.value.reason is Reason.CORRUPT_IMAGE
    assert str(tmp_path) not in str(caught.value)
