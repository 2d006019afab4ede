"""Figures: cut out of the pages at print resolution, written beside a document's Markdown, pointed at by it.

Which regions are figures is in the page records (`boxes`). Their coordinates are fractions of the picture that was read,
so the page is drawn and turned in the same way, larger, and cut there. That happens in the isolated renderer, from the
source, when Markdown is written: with other settings it can be had again without any model.
"""

from __future__ import annotations

import asyncio
import binascii
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pdfocr_core.documents import Document
from pdfocr_core.errors import ConfigurationError, DocumentError, PageError, StoreUnavailable
from pdfocr_core.records import Box, DocumentRecord, PageRecord
from pdfocr_core.rendering.model import Region
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.scratch import scratch_folder
from pdfocr_core.settings import ReadSettings
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.workspace import Workspace

__all__ = ["FigureCutter", "figure_folder", "figures_in", "without_figures"]

logger = logging.getLogger(__name__)

FIGURE_LABELS = frozenset(("figure", "picture", "image", "chart", "diagram", "photo", "illustration"))
_OLMOCR = re.compile(r"!\[([^\]\n]*)\]\(page_(\d+)_(\d+)_(\d+)_(\d+)(?:\.\w+)?\)")
_OURS = re.compile(r"!\[[^\]\n]*\]\([^)\s]*\.figures/p\d+-\d+\.png\)")
# Pixels of a page's longest side at most: A0 at 200 dots per inch would take 350 MB.
_LONGEST_SIDE = 6000


def figure_folder(markdown_path: str) -> str:
    """The folder, below `markdown/`, with the figures of a Markdown file."""
    return markdown_path.removesuffix(".md") + ".figures"


def figures_in(record: PageRecord) -> list[Box]:
    """The boxes of a page that are figures, in reading order; a figure's number is its place in this list."""
    # White added to very thin pages has moved everything.
    return [] if "padded" in record.flags else [box for box in record.boxes if box.label.casefold() in FIGURE_LABELS]


def without_figures(text: str) -> str:
    """A Markdown text as it would be without any figures, for comparisons."""
    return re.sub(r"\s+", " ", _OLMOCR.sub("", _OURS.sub("", text))).strip()


@dataclass(slots=True)
class FigureCutter:
    """Cuts the figures of documents and writes them into a workspace.

    Attributes:
        pool: draws; untrusted bytes stay in its processes.
        fetcher: brings the sources.
        settings: passwords and the resolution.
    """

    workspace: Workspace
    pool: RenderPool
    fetcher: Fetcher
    settings: ReadSettings

    def edits(self, key: str) -> Callable[[str, str], Callable[[int, str], str] | None]:
        """For a group: what, given a document's id and its Markdown path, writes its figures and says how pages change.

        Documents whose source cannot be had any more keep their text without figures, and the log says why.
        """
        sources = {document.document_id: document for document in self.workspace.read_manifest(key).documents}
        pages = self._pages_with_figures(key)

        def edit_of(document_id: str, markdown_path: str) -> Callable[[int, str], str] | None:
            source, records = sources.get(document_id), pages.get(document_id)
            if source is None or not records:
                return None
            folder = figure_folder(markdown_path)
            written = self._write(source, records, folder)
            links = {number: f"{quote(folder.rpartition('/')[2])}/p{number}-" for number in records}
            return lambda number, text: _linked(text, records.get(number), links.get(number, ""), written)

        return edit_of

    def _pages_with_figures(self, key: str) -> dict[str, dict[int, PageRecord]]:
        found: dict[str, dict[int, PageRecord]] = {}
        for record, _line in self.workspace.read_page_lines(key):
            if isinstance(record, DocumentRecord) or not figures_in(record):
                continue
            # Of a page only its boxes and size matter from here on.
            bare = record.model_copy(update={"text": "", "raw": None, "attempts": []})
            found.setdefault(record.document_id, {})[record.page] = bare
        return found

    def _write(self, source: Document, records: dict[int, PageRecord], folder: str) -> set[tuple[int, int]]:
        """Cut and write a document's figures; returns page and number of each that is there."""
        written: set[tuple[int, int]] = set()
        try:
            for page, number, data in self._cut(source, list(records.values())):
                self.workspace.store.write(f"markdown/{folder}/p{page}-{number}.png", data)
                written.add((page, number))
        except (ConfigurationError, StoreUnavailable):
            raise
        except (DocumentError, OSError) as error:
            logger.warning("no figures of %r: %s", source.url, error, extra={"document_id": source.document_id})
        return written

    def _cut(self, source: Document, records: Sequence[PageRecord]) -> Iterator[tuple[int, int, bytes]]:
        with scratch_folder() as directory:
            fetched = self.fetcher.fetch(source, directory)
            try:
                opened = asyncio.run(self.pool.open(fetched.path, source.url, self.settings.passwords))
                index = opened.password_index
                password = None if index is None else self.settings.passwords[index]
                for record in records:
                    if record.content_id == opened.content_id:
                        yield from self._cut_page(fetched.path, opened.kind, password, record)
            finally:
                if fetched.temporary:
                    fetched.path.unlink(missing_ok=True)

    def _cut_page(
        self, path: Path, kind: str, password: str | None, record: PageRecord
    ) -> Iterator[tuple[int, int, bytes]]:
        regions: list[Region] = [(box.x0, box.y0, box.x1, box.y1) for box in figures_in(record)]
        (drawn,) = asyncio.run(
            self.pool.render(
                path,
                kind,
                [record.page],
                rotation=record.rotation_applied,
                longest_side=_LONGEST_SIDE,
                password=password,
                image_format="png",
                allow_grey=True,
                crops=regions,
                dpi=self.settings.markdown.figure_dpi,
            )
        )
        if isinstance(drawn, PageError):
            logger.warning("no figures of page %d: %s", record.page, drawn)
            return
        for number, data in enumerate(drawn.crops, start=1):
            yield record.page, number, binascii.a2b_base64(data)


def _linked(text: str, record: PageRecord | None, link: str, written: set[tuple[int, int]]) -> str:
    """A page's text that points at its figures: where the model named them, the others at its end."""
    if record is None:
        return text
    boxes = figures_in(record)
    left = [number for number in range(1, len(boxes) + 1) if (record.page, number) in written]

    def point(match: re.Match[str]) -> str:
        number = _number_of(match, record, boxes, left)
        if number is None:
            return match.group()
        left.remove(number)
        return f"![{match[1]}]({link}{number}.png)"

    text = _OLMOCR.sub(point, text)
    rest = [f"![{boxes[number - 1].label} {number}]({link}{number}.png)" for number in left]
    return "\n\n".join(part for part in (text, *rest) if part)


def _number_of(match: re.Match[str], record: PageRecord, boxes: Sequence[Box], left: Iterable[int]) -> int | None:
    """Which box olmOCR's name of a figure stands for; it counts pixels of the picture: x, y, width, height."""
    x, y, width, height = (float(match[group]) for group in (2, 3, 4, 5))
    across, down = max(record.image_width, 1), max(record.image_height, 1)
    named = (x / across, y / down, (x + width) / across, (y + height) / down)
    clamped = [round(min(max(value, 0.0), 1.0), 5) for value in named]
    for number in left:
        box = boxes[number - 1]
        if clamped == [box.x0, box.y0, box.x1, box.y1]:
            return number
    return None
