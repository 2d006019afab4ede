"""A benchmark's results as one HTML file: the scores, then every page with failures beside its text.

No network, no script, all text escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pdfocr_core.bench.candidates import Candidate
from pdfocr_core.bench.cases import Case
from pdfocr_core.bench.data import BenchData
from pdfocr_core.bench.score import Outcome, Score
from pdfocr_core.documents import Document
from pdfocr_core.outputs.html_report import environment, page_frame
from pdfocr_core.outputs.pictures import DrawnPage, PagePictures
from pdfocr_core.sources.opening import local_version

__all__ = ["bench_html"]

_SIDE = 900  # pixels
_TEXT = 12_000  # characters of a page's text that are shown
_COMMON = {"pdf", "page", "id", "type", "checked", "url"}


@dataclass(frozen=True, slots=True)
class _FailedPage:
    """A page with the tests that it failed."""

    pdf: str
    page: int
    drawn: DrawnPage
    text: str
    failures: list[tuple[Outcome, str]]


def bench_html(
    data: BenchData, results: Sequence[tuple[Candidate, Score]], pictures: PagePictures, *, pages: int
) -> str:
    """The whole file.

    Args:
        data: the benchmark.
        results: every candidate with its score.
        pictures: draws the pages.
        pages: failed pages that are shown of each candidate.
    """
    drawn: dict[tuple[str, int], DrawnPage] = {}
    sections = []
    for candidate, score in results:
        shown = _pages(data, candidate, score, pictures, pages, drawn)
        failed = len({(outcome.case.pdf, outcome.case.page) for outcome in score.failures})
        sections.append((score, shown, failed))
    categories = sorted({name for _candidate, score in results for name in score.categories})
    types = sorted({name for _candidate, score in results for name in score.types})
    return (
        environment()
        .get_template("bench.html.j2")
        .render(**page_frame(), bench=data.root.name, sections=sections, categories=categories, types=types)
    )


def _pages(
    data: BenchData,
    candidate: Candidate,
    score: Score,
    pictures: PagePictures,
    most: int,
    drawn: dict[tuple[str, int], DrawnPage],
) -> list[_FailedPage]:
    shown: list[_FailedPage] = []
    for place, failures in groupby(score.failures, key=lambda outcome: (outcome.case.pdf, outcome.case.page)):
        if len(shown) == most:
            break
        if place not in drawn:
            drawn[place] = _draw(data, *place, pictures)
        texts = candidate.texts(*place)
        text = texts[0] if texts else ""
        if len(text) > _TEXT:
            text = f"{text[:_TEXT]}\n[… {len(text) - _TEXT:,} more characters]"
        failed = [(outcome, _asked(outcome.case)) for outcome in failures]
        shown.append(_FailedPage(*place, drawn[place], text, failed))
    return shown


def _draw(data: BenchData, pdf: str, page: int, pictures: PagePictures) -> DrawnPage:
    path = data.pdfs[pdf].resolve()
    info = path.stat()
    document = Document(str(path), local_version(info), info.st_size)
    return pictures.draw(document, page, longest_side=_SIDE)


def _asked(case: Case) -> str:
    """What the test asks for, in its own words."""
    given: dict[str, Any] = case.model_dump(exclude=_COMMON, exclude_defaults=True)
    return "; ".join(f"{name}: {value}" for name, value in given.items())
