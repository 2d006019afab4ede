"""Pages of real-world documents: which are measured, how they look, and what their text layer says."""

from __future__ import annotations

import asyncio
import base64
import csv
import os
import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pdfocr_core.errors import DocumentError, PageError
from pdfocr_core.layout.model import Line
from pdfocr_core.rendering.model import RenderedPage
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import RenderSettings

__all__ = ["LayerPage", "Pictures", "documents", "find_corpus", "layer_pages", "normal"]

# Classes whose documents were made by programs. Other languages than English are read by models that tesseract is not
# given here, so they are measured but not compared.
_BORN_DIGITAL = ("born_digital", "multi_column", "tables", "math", "forms", "odd", "languages")
_LEAST_WORDS = 50
_MOST_IMAGES = 0.1  # of the page: text in pictures is read, but is not in the layer
_LATIN = 0.97
_TRIES = 12  # pages of a document looked at for one that will do
_SEED = 3
# Where a line ended nobody can tell the hyphen of a word from one that breaks it: words are compared without hyphens.
# The first three are what PDFium writes for a hyphen at a line's end.
_HYPHEN = re.compile(r"(?<=\w)[\ufffe\x02\xad-]\s*(?=\w)")
# Single and double quotation marks, dashes and the minus sign.
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u2212", "''\"\"---", "\r")


@dataclass(frozen=True, slots=True)
class LayerPage:
    """A page whose own text is known.

    Attributes:
        path: below the corpus.
        kind: the document's class there.
        number: 1-based.
        text: the page's own text in the order in which it was written.
        lines: the same with places, in points from the top left.
        size: of the page in points.
    """

    path: str
    kind: str
    number: int
    text: str
    lines: tuple[Line, ...]
    size: tuple[float, float]

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.path} p. {self.number}"


def find_corpus(named: Path | None) -> Path:
    """The folder with the manifest.

    Raises:
        SystemExit: there is none.
    """
    folder = named or Path(os.environ.get("PDFOCR_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
    if not (folder / "manifest.csv").exists():
        raise SystemExit(
            f"There is no manifest.csv in {folder}: name a corpus with --corpus or PDFOCR_CORPUS (docs/quality.md)."
        )
    return folder


def documents(corpus: Path, without: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Path and class of every document."""
    with (corpus / "manifest.csv").open(newline="", encoding="utf-8") as file:
        rows = [(row["path"], row["class"]) for row in csv.DictReader(file)]
    return [(path, kind) for path, kind in rows if kind not in without and (corpus / path).is_file()]


def normal(text: str) -> str:
    """Ligatures, quotation marks and dashes written in one way, and no hyphens: layers and engines do as they like."""
    return _HYPHEN.sub("", unicodedata.normalize("NFKC", text).translate(_QUOTES))


def layer_pages(corpus: Path, each: int) -> list[LayerPage]:
    """Up to `each` pages of every born-digital document, drawn by lot once and for all."""
    found: list[LayerPage] = []
    for path, kind in documents(corpus):
        if kind in _BORN_DIGITAL and path.lower().endswith(".pdf"):
            found += _of_document(corpus, path, kind, each)
    return found


def _of_document(corpus: Path, path: str, kind: str, each: int) -> list[LayerPage]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(corpus / path)
    except pypdfium2.PdfiumError:
        return []
    with document:
        numbers = list(range(1, len(document) + 1))
        random.Random(f"{_SEED} {path}").shuffle(numbers)  # noqa: S311 - which pages, not secrets
        taken: list[LayerPage] = []
        for number in numbers[: _TRIES * each]:
            page = _layer_page(document, path, kind, number)
            if page is not None and all(page.text != other.text for other in taken):
                taken.append(page)
            if len(taken) == each:
                break
        return sorted(taken, key=lambda page: page.number)


def _layer_page(document: Any, path: str, kind: str, number: int) -> LayerPage | None:
    from pdfocr_core.bench.measures import plain_words
    from pdfocr_core.rendering.images_on_page import image_share
    from pdfocr_core.rendering.placing import placer
    from pdfocr_core.rendering.plausible import why_unsound
    from pdfocr_core.rendering.textlayer import page_lines

    page = document[number - 1]
    textpage = page.get_textpage()
    text = normal(textpage.get_text_range())
    share = image_share(page)
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(letter < "\u0250" for letter in letters)
    if len(plain_words(text)) < _LEAST_WORDS or latin < _LATIN * len(letters):
        return None
    if share > _MOST_IMAGES or why_unsound(text, share):
        return None
    return LayerPage(path, kind, number, text, tuple(page_lines(textpage, placer(page))), page.get_size())


class Pictures:
    """Pages drawn as a run draws them; a context manager, as the drawing process lives as long."""

    def __init__(self) -> None:
        self._pool = RenderPool(RenderSettings(workers=1))

    def __enter__(self) -> Self:
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.close()

    def of(
        self, path: Path, numbers: Sequence[int] = (), *, first: int = 1, legible: bool = True
    ) -> Iterator[tuple[int, bytes]]:
        """Numbers and pictures of pages; those that cannot be drawn or are blank are left out.

        Args:
            path: the document.
            numbers: 1-based.
            first: so many first pages, where no numbers are given.
            legible: leave out pages so large that print of the usual size is lost in their pictures.
        """
        for page in asyncio.run(self._drawn(path, numbers, first)):
            if isinstance(page, RenderedPage) and not page.blank and not (legible and "downscaled" in page.flags):
                yield page.page, base64.b64decode(page.image)

    async def _drawn(self, path: Path, numbers: Sequence[int], first: int) -> list[RenderedPage | PageError]:
        try:
            opened = await self._pool.open(path, path.name, [""])
        except DocumentError:
            return []
        wanted = numbers or range(1, min(first, opened.pages) + 1)
        return await self._pool.render(path, opened.kind, wanted)
