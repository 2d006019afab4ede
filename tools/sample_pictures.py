"""Pages as a scanner, a camera or a fax would leave them, drawn with Pillow from the words in `sample_texts.toml`.

Everything random comes from seeded generators, so the same Pillow and the same fonts give the same pixels.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

__all__ = ["font_path", "ledger_frames", "photograph", "scanned_page", "turned_page"]

FONT_FOLDERS = (
    Path("/usr/share/fonts/truetype/dejavu"),
    Path("/usr/share/fonts/dejavu"),
    Path("/usr/share/fonts/TTF"),
)
WHITE = 255
PAPER = 244
INK = 38


def font_path(name: str) -> Path:
    """Where the DejaVu font `name` lies on this machine.

    Raises:
        FileNotFoundError: the font is not there; the message says what to install.
    """
    for folder in FONT_FOLDERS:
        path = folder / f"{name}.ttf"
        if path.is_file():
            return path
    raise FileNotFoundError(f"{name}.ttf was not found. Install Debian's fonts-dejavu-core, or add its folder here.")


def _font(name: str, pixels: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(font_path(name), pixels, layout_engine=ImageFont.Layout.BASIC)


def _wrapped(text: str, font: ImageFont.FreeTypeFont, width: int, indent: int) -> Iterator[list[str]]:
    """The words of each line; the first line is shorter by `indent`."""
    line: list[str] = []
    room = width - indent
    for word in text.split():
        if line and font.getlength(" ".join([*line, word])) > room:
            yield line
            line, room = [], width
        line.append(word)
    if line:
        yield line


def _write_justified(
    draw: ImageDraw.ImageDraw, x: float, y: float, words: list[str], font: ImageFont.FreeTypeFont, width: float
) -> None:
    """One line whose words are spread over the whole width, as a typesetter would."""
    spare = width - sum(font.getlength(word) for word in words)
    gap = spare / max(1, len(words) - 1)
    for word in words:
        draw.text((x, y), word, font=font, fill=INK)
        x += font.getlength(word) + gap


def _print_page(
    size: tuple[int, int], head: str, paragraphs: Iterable[str], *, margin: int, pixels: int, page: str = ""
) -> Image.Image:
    """A freshly printed page: a centred heading, justified paragraphs, perhaps a page number."""
    image = Image.new("L", size, PAPER)
    draw = ImageDraw.Draw(image)
    body, bold = _font("DejaVuSerif", pixels), _font("DejaVuSerif-Bold", round(pixels * 1.25))
    width, leading = size[0] - 2 * margin, round(pixels * 1.55)
    draw.text(((size[0] - bold.getlength(head)) / 2, margin), head, font=bold, fill=INK)
    y = margin + 3 * leading
    for paragraph in paragraphs:
        indent = 2 * pixels
        lines = list(_wrapped(paragraph, body, width, indent))
        for number, words in enumerate(lines):
            shift = indent if number == 0 else 0
            if number == len(lines) - 1:
                draw.text((margin + shift, y), " ".join(words), font=body, fill=INK)
            else:
                _write_justified(draw, margin + shift, y, words, body, width - shift)
            y += leading
        y += leading // 2
    if page:
        draw.text(((size[0] - body.getlength(page)) / 2, size[1] - margin), page, font=body, fill=INK)
    return image


def _noise(size: tuple[int, int], seed: int, strength: float) -> Image.Image:
    """Grain around middle grey; the mean of two uniform fields is close enough to a camera's."""
    generator = random.Random(seed)  # noqa: S311 - grain, not a secret
    first, second = (Image.frombytes("L", size, generator.randbytes(size[0] * size[1])) for _ in range(2))
    return Image.blend(first, second, 0.5).point([round(128 + (value - 128) * strength) for value in range(256)])


def _grained(image: Image.Image, seed: int, strength: float) -> Image.Image:
    return ImageChops.add(image, _noise(image.size, seed, strength), scale=1, offset=-128)


def _shade(size: tuple[int, int], darkest: int) -> Image.Image:
    """Light that falls off towards the left edge, as along the gutter of a book under a scanner's lid."""
    strip = Image.new("L", (64, 1), WHITE)
    for x in range(64):
        closeness = max(0.0, 1 - x / 14)
        strip.putpixel((x, 0), round(WHITE - (WHITE - darkest) * closeness**2 - x * 0.25))
    return strip.resize(size, Image.Resampling.BICUBIC)


def _speckled(image: Image.Image, seed: int, count: int) -> Image.Image:
    generator = random.Random(seed)  # noqa: S311 - dust, not a secret
    draw = ImageDraw.Draw(image)
    for _ in range(count):
        x, y = generator.randrange(image.width), generator.randrange(image.height)
        radius = generator.choice((0.5, 0.5, 1.0, 1.5))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=generator.randrange(60, 190))
    return image


def scanned_page(head: str, paragraphs: Iterable[str], page: str) -> Image.Image:
    """A book page at 160 dpi: slightly askew, darker along the gutter, grainy, with dust on the glass."""
    image = _print_page((1322, 1870), head, paragraphs, margin=170, pixels=27, page=page)
    image = image.filter(ImageFilter.GaussianBlur(0.7))
    image = image.rotate(0.6, Image.Resampling.BICUBIC, fillcolor=PAPER)
    image = _speckled(ImageChops.multiply(image, _shade(image.size, 120)), seed=27, count=160)
    return _grained(image, seed=28, strength=0.10)


def turned_page(head: str, paragraphs: Iterable[str]) -> Image.Image:
    """A page that went through the feeder sideways: it must be turned counter-clockwise by 90 degrees to be read."""
    image = _print_page((1240, 1754), head, paragraphs, margin=130, pixels=28)
    image = _grained(image.filter(ImageFilter.GaussianBlur(0.5)), seed=90, strength=0.04)
    return image.transpose(Image.Transpose.ROTATE_270)


def _table_top(size: tuple[int, int]) -> Image.Image:
    """Something like oak: grain stretched along the boards, and the gaps between them."""
    grain = _noise((size[0] // 60, size[1]), seed=5, strength=0.25).resize(size, Image.Resampling.BICUBIC)
    wood = Image.merge(
        "RGB", [grain.point([max(0, value + shift) for value in range(256)]) for shift in (-20, -50, -80)]
    )
    draw = ImageDraw.Draw(wood)
    for y in range(0, size[1], 310):
        draw.line((0, y, size[0], y), fill=(40, 25, 15), width=5)
    return wood


def photograph(head: str, paragraphs: Iterable[str]) -> Image.Image:
    """A sheet on a table, seen from a standing reader's eye: keystoned, warm, darker to the corners."""
    sheet = _print_page((1200, 1560), head, paragraphs, margin=110, pixels=37).filter(ImageFilter.GaussianBlur(0.6))
    paper = Image.merge(
        "RGB", [sheet.point([round(value * tint) for value in range(256)]) for tint in (1.0, 0.97, 0.89)]
    )
    scene = _table_top((1600, 1960))
    shadow = Image.new("L", scene.size, 0)
    ImageDraw.Draw(shadow).rectangle((214, 216, 1424, 1786), fill=150)
    scene = Image.composite(
        Image.new("RGB", scene.size, (20, 14, 10)), scene, shadow.filter(ImageFilter.GaussianBlur(14))
    )
    scene.paste(paper, (200, 200))
    # The corners of what the camera sees, in the scene: upper left, lower left, lower right, upper right.
    corners = (70, 90, 150, 1880, 1500, 1850, 1560, 60)
    photo = scene.transform((1200, 1500), Image.Transform.QUAD, corners, Image.Resampling.BICUBIC)
    fall_off = (
        Image.radial_gradient("L").resize(photo.size).point([round(WHITE - value * 0.35) for value in range(256)])
    )
    photo = ImageChops.multiply(photo, Image.merge("RGB", [fall_off] * 3))
    return Image.merge("RGB", [_grained(band, seed=70 + n, strength=0.06) for n, band in enumerate(photo.split())])


def ledger_frames(pages: Iterable[dict[str, Any]]) -> list[Image.Image]:
    """The frames of the ledger: grey, but the second one black and white as from a fax."""
    frames = [_print_page((1100, 780), **page, margin=90, pixels=30) for page in pages]
    frames = [frame.point([min(WHITE, value + WHITE - PAPER) for value in range(256)]) for frame in frames]
    frames[1] = frames[1].convert("1", dither=Image.Dither.NONE)
    return frames
