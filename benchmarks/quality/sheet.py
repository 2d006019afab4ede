"""A page that is drawn: text in columns, tables, strokes; as a program writes it, or as a poor scanner sees it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

__all__ = ["MARGIN", "PAGE", "Sheet", "scanned"]

PAGE = (595.0, 842.0)  # A4 in points
MARGIN = 62.0
_SCAN_DPI = 130
_SCAN_QUALITY = 45


class Sheet:
    """One page with a pen; y is counted from the top."""

    def __init__(self, size: float = 10.5, font: str = "Times") -> None:
        from reportlab.pdfgen.canvas import Canvas

        self._data = io.BytesIO()
        self._canvas = Canvas(self._data, pagesize=PAGE, invariant=1)
        self.size = size
        family = {"Times": ("Times-Roman", "Times-Bold"), "Helvetica": ("Helvetica", "Helvetica-Bold")}
        self.plain, self.bold = family[font]

    def write(
        self, text: str, x: float, y: float, *, size: float | None = None, bold: bool = False, to: str = ""
    ) -> None:
        """One line; `to` is `right` or `middle` when `x` is that end of it."""
        self._canvas.setFont(self.bold if bold else self.plain, size or self.size)
        draw = {
            "": self._canvas.drawString,
            "right": self._canvas.drawRightString,
            "middle": self._canvas.drawCentredString,
        }
        draw[to](x, PAGE[1] - y, text)

    def broken(self, text: str, width: float, size: float | None = None) -> list[str]:
        """The lines that a text takes in a column."""
        from reportlab.lib.utils import simpleSplit

        return [str(line) for line in simpleSplit(text, self.plain, size or self.size, width)]

    def lines(self, lines: Sequence[str], x: float, y: float, *, size: float | None = None) -> float:
        """Lines one below the other; returns where the next would stand."""
        for line in lines:
            self.write(line, x, y, size=size)
            y += 1.25 * (size or self.size)
        return y

    def paragraph(self, text: str, x: float, y: float, width: float, *, size: float | None = None) -> float:
        """A text broken into lines; returns where the next paragraph begins."""
        return self.lines(self.broken(text, width, size), x, y, size=size) + 0.6 * (size or self.size)

    def hyphenated(self, text: str, width: float) -> list[str]:
        """The lines that a text takes when its words may be broken, between a vowel and a consonant."""
        lines, line = [], ""
        for word in text.split():
            longer = f"{line} {word}".strip()
            if self.width_of(longer) <= width:
                line = longer
                continue
            cut = next((c for c in _breaks(word) if self.width_of(f"{line} {word[:c]}-") <= width), 0)
            lines.append(f"{line} {word[:cut]}-" if cut else line)
            line = word[cut:]
        return [*lines, line]

    def justified(self, lines: Sequence[str], x: float, y: float, width: float) -> float:
        """Lines spread over the column's width, but for the last; returns where the next would stand."""
        for line in lines:
            pen = self._canvas.beginText(x, PAGE[1] - y)
            pen.setFont(self.plain, self.size)
            gaps = line.count(" ")
            pen.setWordSpace((width - self.width_of(line)) / gaps if gaps and line is not lines[-1] else 0)
            pen.textOut(line)
            self._canvas.drawText(pen)
            y += 1.2 * self.size
        return y

    def stroke(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """A thin straight line."""
        self._canvas.setLineWidth(0.7)
        self._canvas.line(x0, PAGE[1] - y0, x1, PAGE[1] - y1)

    def raised(self, text: str, x: float, y: float) -> None:
        """A small mark above the line."""
        self._canvas.setFont(self.plain, 0.65 * self.size)
        self._canvas.drawString(x, PAGE[1] - y + 0.35 * self.size, text)

    def width_of(self, text: str) -> float:
        """How far a line reaches."""
        return float(self._canvas.stringWidth(text, self.plain, self.size))

    def figure(self, x: float, y: float, width: float, height: float, points: Sequence[float]) -> None:
        """A curve in a frame, with nothing to read in it."""
        self._canvas.rect(x, PAGE[1] - y - height, width, height)
        step = width / (len(points) - 1)
        for number, (here, there) in enumerate(pairwise(points)):
            self.stroke(x + number * step, y + here * height, x + (number + 1) * step, y + there * height)

    def save(self) -> bytes:
        """The PDF."""
        self._canvas.showPage()
        self._canvas.save()
        return self._data.getvalue()


def _breaks(word: str) -> list[int]:
    """Where a word may be broken, the latest place first: behind a vowel, before a consonant with a vowel."""
    sounds = ["v" if letter in "aeiou" else "c" if letter.isalpha() else "" for letter in word]
    return [place for place in range(len(word) - 3, 2, -1) if sounds[place - 1 : place + 2] == ["v", "c", "v"]]


def scanned(pdf: bytes, path: Path, seed: int) -> None:
    """Write the page as a picture that lies a little askew, is not quite sharp, has specks and was saved small."""
    import numpy as np
    import pypdfium2
    from PIL import Image, ImageFilter

    chance = np.random.default_rng(seed)
    with pypdfium2.PdfDocument(pdf) as document:
        image = document[0].render(scale=_SCAN_DPI / 72).to_pil().convert("L")
    askew = float(chance.choice([-1, 1]) * chance.uniform(0.3, 1.2))
    image = image.rotate(askew, Image.Resampling.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(0.6))
    pixels = np.asarray(image, dtype=np.float32) * 0.82 + 30  # grey paper, faded ink
    pixels += chance.normal(0, 7, pixels.shape)
    specks = chance.random(pixels.shape) < 0.0002
    noisy = Image.fromarray(np.where(specks, 60, pixels).clip(0, 255).astype(np.uint8))
    noisy.save(path, "PDF", resolution=_SCAN_DPI, quality=_SCAN_QUALITY)
