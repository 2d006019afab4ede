from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from pdfocr_core.rendering.blank import is_blank
from pdfocr_core.rendering.encode import encode, without_colour
from pdfocr_core.rendering.finish import finish_page, fit
from pdfocr_core.rendering.model import RenderOptions


def white(height: int = 1288, width: int = 995, channels: int = 4) -> np.ndarray:
    return np.full((height, width, channels), 255, np.uint8)


def options(**changes: object) -> RenderOptions:
    settings = {
        "longest_side": 1288,
        "min_short_side": 28,
        "rotation": 0,
        "image_format": "png",
        "jpeg_quality": 95,
        "allow_grey": True,
        "want_text": False,
        "max_image_pixels": 1_000_000,
        "max_decoded_bytes": 100_000_000,
    }
    return RenderOptions(**{**settings, **changes})


def decoded(image: bytes) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(image, validate=True)))


def test_white_tinted_and_shaded_pages_are_blank():
    tinted = white()
    tinted[:, :, :3] = (250, 240, 205)
    shaded = np.repeat(np.linspace(255, 205, 995).astype(np.uint8)[None, :, None], 1288, axis=0).repeat(4, axis=2)
    for page in (white(), tinted, shaded, white()[:, :, 0]):
        assert is_blank(page)


@pytest.mark.parametrize("sigma", [3, 8, 15])
def test_scanner_noise_is_blank_and_a_page_number_in_it_is_not(sigma: int):
    noise = np.random.default_rng(sigma).normal(235, sigma, (1288, 995, 1))
    page = np.clip(noise, 0, 255).astype(np.uint8).repeat(4, axis=2)
    assert is_blank(page)
    page[1240:1251, 500:502] = 50
    assert not is_blank(page)


def test_a_lone_digit_is_ink_wherever_the_tiles_fall():
    for row in range(1200, 1233, 4):
        for column in range(480, 513, 4):
            page = white()
            page[row : row + 11, column : column + 2, :3] = 90
            assert not is_blank(page), (row, column)


def test_dust_is_blank_but_much_dust_is_not():
    page = white()
    spots = np.random.default_rng(1).integers(0, 900, (12, 2))
    for row, column in spots:
        page[row : row + 2, column : column + 2, :3] = 0
    assert is_blank(page)
    page[::40, ::40, :3] = 0
    assert not is_blank(page)


def test_coloured_ink_on_any_channel_counts():
    page = white()
    page[600:612, 400:440:2, 2] = 0  # yellow: white in red and green
    assert not is_blank(page)


def test_a_soft_picture_is_not_blank():
    gradient = np.repeat(np.linspace(255, 100, 995).astype(np.uint8)[None, :, None], 1288, axis=0).repeat(4, axis=2)
    assert not is_blank(gradient)


@pytest.mark.parametrize("shape", [(1, 1, 4), (20, 20, 3), (33, 5, 4), (28, 1288, 4)])
def test_pages_smaller_than_a_tile_are_judged_too(shape: tuple[int, int, int]):
    page = np.full(shape, 255, np.uint8)
    assert is_blank(page)


def test_png_is_read_back_as_it_was_in_grey_and_colour():
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (50, 31, 4), dtype=np.uint8)
    grey = rng.integers(0, 256, (31, 50), dtype=np.uint8)
    image = decoded(encode(colour, image_format="png", quality=95, allow_grey=True))
    assert image.mode == "RGB"
    assert np.array_equal(np.asarray(image), colour[:, :, :3])
    image = decoded(encode(grey, image_format="png", quality=95, allow_grey=True))
    assert image.mode == "L"
    assert np.array_equal(np.asarray(image), grey)


@pytest.mark.parametrize("image_format", ["png", "jpeg"])
def test_grey_is_used_only_where_it_is_allowed_and_true(image_format: str):
    page = white()
    page[100:120, 100:300, :3] = 40
    assert without_colour(page)
    assert decoded(encode(page, image_format=image_format, quality=95, allow_grey=True)).mode == "L"
    assert decoded(encode(page, image_format=image_format, quality=95, allow_grey=False)).mode == "RGB"
    assert decoded(encode(page[:, :, 0], image_format=image_format, quality=95, allow_grey=False)).mode == "RGB"
    page[1000, 3, 0] = 254  # one pixel of colour in a row that the sample does not see
    assert not without_colour(page)
    assert decoded(encode(page, image_format=image_format, quality=95, allow_grey=True)).mode == "RGB"


def test_jpeg_keeps_colour_at_full_resolution():
    page = white(64, 64)
    page[:, ::2, :3] = (255, 0, 0)
    page[:, 1::2, :3] = (0, 0, 255)
    image = np.asarray(decoded(encode(page, image_format="jpeg", quality=95, allow_grey=True))).astype(int)
    assert np.abs(image - page[:, :, :3]).mean() < 25  # subsampled colour would blend the columns: above 60


def test_rotation_is_counter_clockwise():
    page = white(100, 200)
    page[10:30, 150:190, :3] = (255, 0, 0)  # upper right
    turned = finish_page(1, page, options(rotation=90))
    assert (turned.width, turned.height) == (100, 200)
    pixels = np.asarray(decoded(turned.image))
    assert tuple(pixels[30, 20]) == (255, 0, 0)  # upper left
    assert finish_page(1, page, options(rotation=360)).width == 200


def test_thin_pages_are_padded_with_white_in_the_middle():
    page = np.zeros((1288, 5, 4), np.uint8)
    strip = finish_page(1, page, options())
    assert (strip.width, strip.height, strip.flags) == (28, 1288, ("padded",))
    columns = np.asarray(decoded(strip.image))[600]
    assert columns[0] == 255
    assert columns[14] == 0
    assert finish_page(1, white(5000, 40), options()).width == 100  # at most one to fifty


def test_sizes_never_leave_the_budget():
    assert fit(612, 792, 1288, 10) == (995, 1288)
    assert fit(3, 4, 1288, 10) == (30, 40)
    assert fit(612, 2147483648, 1288, 10) == (1, 1288)
    assert fit(1e308, 1e-308, 1288, 10) == (1288, 1)
    assert fit(2000, 1000, 1288, 1.0) == (1288, 644)
    assert fit(200, 100, 1288, 1.0) == (200, 100)
