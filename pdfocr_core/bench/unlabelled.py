"""A workspace's text measured where nobody has written tests: against sound text layers, and for loops and languages."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pdfocr_core.bench.measures import character_error_rate, reading_order, word_f1
from pdfocr_core.bench.teds import table_similarity
from pdfocr_core.documents import Document
from pdfocr_core.engines.repetition import repeats
from pdfocr_core.outputs.pictures import PagePictures
from pdfocr_core.records import Method, PageRecord, PageStatus
from pdfocr_core.workspace import Workspace

__all__ = ["MEASURES", "Measured", "MeasuredPage", "measure_workspace", "shared_tables"]

MEASURES: dict[str, Callable[[str, str], float | None]] = {
    "character_error_rate": character_error_rate,
    "word_f1": word_f1,
    "reading_order": reading_order,
}
_SIDE = 64  # pixels; the picture is not looked at, only the text layer is
_WORST = 10
_SAMPLE = 1500  # characters by which a language is told
_LEAST = 60  # characters of a text whose language can be told


@dataclass(frozen=True, slots=True)
class MeasuredPage:
    """One page.

    Attributes:
        values: by measure; only where the page has a sound text layer that was not itself the answer.
        loops: the text ends in a loop.
        foreign: languages of layer and text, where they differ.
    """

    url: str
    page: int
    values: dict[str, float] = field(default_factory=dict)
    loops: bool = False
    foreign: tuple[str, str] | None = None


@dataclass(slots=True)
class Measured:
    """A workspace's pages as far as they were looked at."""

    workspace: str
    pages: list[MeasuredPage] = field(default_factory=list)

    def values(self, name: str) -> list[float]:
        """One measure over all pages that have it."""
        return [page.values[name] for page in self.pages if name in page.values]

    @property
    def worst(self) -> list[MeasuredPage]:
        """The pages with the lowest word F1, those first."""
        known = [page for page in self.pages if "word_f1" in page.values]
        return sorted(known, key=lambda page: page.values["word_f1"])[:_WORST]

    @property
    def looping(self) -> list[MeasuredPage]:
        """Pages that end in a loop."""
        return [page for page in self.pages if page.loops]

    @property
    def foreign(self) -> list[MeasuredPage]:
        """Pages in another language than their layer."""
        return [page for page in self.pages if page.foreign]

    def to_json(self) -> dict[str, Any]:
        """Figures, and where the worst pages are."""
        made: dict[str, Any] = {"workspace": self.workspace, "pages": len(self.pages)}
        for name in MEASURES:
            values = self.values(name)
            made[name] = {"pages": len(values), "median": _round(statistics.median(values)) if values else None}
            made[name]["mean"] = _round(statistics.fmean(values)) if values else None
        made["looping"] = [[page.url, page.page] for page in self.looping]
        made["other_language"] = [[page.url, page.page, *(page.foreign or ())] for page in self.foreign]
        made["worst"] = [[page.url, page.page, _round(page.values["word_f1"])] for page in self.worst]
        return made


def measure_workspace(workspace: Workspace, pictures: PagePictures, most: int) -> Measured:
    """Measure up to so many pages, spread evenly over the workspace."""
    total = sum(
        row.pages - row.pages_blank for key in workspace.group_keys() for row in workspace.read_status(key) or ()
    )
    step = max(1.0, total / most)
    made = Measured(workspace.url)
    for place, (document, record) in enumerate(_pages(workspace)):
        if int(place / step) == len(made.pages) and len(made.pages) < most:
            made.pages.append(_measure(document, record, pictures))
    return made


def shared_tables(first: Workspace, second: Workspace, most: int) -> list[float]:
    """TEDS of the tables of pages that both have read, of up to so many pages with tables."""
    texts = {(record.content_id, record.page): record.text for _document, record in _pages(second)}
    found: list[float] = []
    for _document, record in _pages(first):
        other = texts.get((record.content_id, record.page))
        likeness = None if other is None or len(found) >= most else table_similarity(record.text, other)
        if likeness is not None:
            found.append(likeness)
    return found


def _measure(document: Document, record: PageRecord, pictures: PagePictures) -> MeasuredPage:
    layer = None
    if record.method is Method.MODEL:
        layer = pictures.draw(document, record.page, longest_side=_SIDE, want_text=True).layer
    values: dict[str, float] = {}
    foreign = None
    if layer:
        found = ((name, measure(layer, record.text)) for name, measure in MEASURES.items())
        values = {name: value for name, value in found if value is not None}
        languages = (_language(layer), _language(record.text))
        foreign = languages if all(languages) and languages[0] != languages[1] else None
    return MeasuredPage(document.url, record.page, values, repeats(record.text), foreign)


def _pages(workspace: Workspace) -> Iterator[tuple[Document, PageRecord]]:
    for key in workspace.group_keys():
        documents = {document.document_id: document for document in workspace.read_manifest(key).documents}
        try:
            lines = workspace.read_page_lines(key)
        except FileNotFoundError:
            continue  # not read yet
        for record, _line in lines:
            if not isinstance(record, PageRecord) or record.status is PageStatus.BLANK:
                continue
            if record.document_id in documents:
                yield documents[record.document_id], record


def _language(text: str) -> str:
    if len(text) < _LEAST:
        return ""
    found = _detector().detect_language_of(text[:_SAMPLE])
    return "" if found is None else str(found.iso_code_639_1.name).lower()


@cache
def _detector() -> Any:
    from lingua import LanguageDetectorBuilder

    # Only what stands out is told: two languages that are much alike do not make a page a foreign one.
    return LanguageDetectorBuilder.from_all_languages().with_minimum_relative_distance(0.2).build()


def _round(value: float) -> float:
    return round(value, 4)
