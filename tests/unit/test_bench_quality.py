"""The benchmark of text quality: its pages have the tests that a right reading passes, and its measures tell right from wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from benchmarks.quality.corpus import LayerPage, normal
from benchmarks.quality.order import columns_of, line_order
from benchmarks.quality.readers import FAST, OURS, RAPIDOCR, TESSERACT
from benchmarks.quality.samples import write_samples
from benchmarks.quality.summary import of_orientation, of_text, worst
from pdfocr_core.bench.candidates import MarkdownFolder
from pdfocr_core.bench.data import open_bench
from pdfocr_core.bench.score import Score, run_bench
from pdfocr_core.layout.model import Line


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples") / "data"
    assert write_samples(folder, 1) == 20
    return folder


def scored(samples: Path, name: str, turn: int = 1) -> Score:
    """The clean pages' own text as a candidate, with its lines in order or backwards."""
    data = open_bench(samples)
    candidate = samples / name
    candidate.mkdir()
    for pdf, path in data.pdfs.items():
        with pypdfium2.PdfDocument(path) as document:
            lines = normal(document[0].get_textpage().get_text_range()).splitlines()
        (candidate / f"{pdf.removesuffix('.pdf')}_pg1_repeat1.md").write_text(
            "\n".join(lines[::turn]), encoding="utf-8"
        )
    return run_bench(data, MarkdownFolder(candidate), None)


def test_the_text_that_was_drawn_passes(samples: Path) -> None:
    score = scored(samples, "drawn")
    passed = {(outcome.case.type, outcome.case.id): outcome.passed for outcome in score.outcomes}
    clean = {name: found for name, found in passed.items() if "_clean_" in name[1]}
    assert all(found for (kind, _), found in clean.items() if kind in ("present", "order"))
    # Plain text has no tables in it, and its running heads are still there.
    assert not any(found for (kind, _), found in passed.items() if kind == "table")
    assert not any(found for (kind, _), found in clean.items() if kind == "absent")
    # A scan has no text of its own.
    assert score.categories["text_scan.jsonl"].rate == 0


def test_lines_in_another_order_fail(samples: Path) -> None:
    score = scored(samples, "backwards", -1)
    assert (score.categories["multi_column_clean.jsonl"].rate or 0) < 0.4
    assert (score.categories["text_clean.jsonl"].rate or 0) < 0.3


def test_samples_are_the_same_every_time(samples: Path, tmp_path: Path) -> None:
    write_samples(tmp_path / "again", 1, ["clean"])
    for path in [*samples.glob("*_clean.jsonl"), *samples.glob("pdfs/*_clean.pdf")]:
        assert (tmp_path / "again" / path.relative_to(samples)).read_bytes() == path.read_bytes()


def words(column: int, row: int) -> str:
    return " ".join(f"w{column}x{row}x{place}" for place in range(6))


def two_columns() -> LayerPage:
    lines = [Line(words(side, row), 50 + 260 * side, 60 + 12 * row, 290 + 260 * side, 70 + 12 * row)
             for side in (0, 1) for row in range(20)]  # fmt: skip
    head = Line("page 12", 500, 20, 550, 30)
    text = "\n".join(line.text for line in [*lines, head])
    return LayerPage("two.pdf", "multi_column", 1, text, (*lines, head), (600, 800))


def test_order_of_lines() -> None:
    page = two_columns()
    assert columns_of(page) == 2
    assert line_order(page, page.text) == 1
    across = "\n".join(f"{words(0, row)} {words(1, row)}" for row in range(20))
    assert 0.4 < (line_order(page, across) or 0) < 0.6
    assert line_order(page, "\n".join(reversed(page.text.splitlines()))) == -1
    assert line_order(page, "nothing of it") is None


def test_order_does_not_depend_on_where_a_layer_has_its_figures() -> None:
    page = two_columns()
    caption = Line("Figure 3 was put here by the layout and is written last", 50, 40, 290, 50)
    late = LayerPage(page.path, page.kind, 1, f"{page.text}\n{caption.text}", (*page.lines, caption), page.size)
    assert line_order(late, f"{caption.text}\n{page.text}") == 1


def test_words_are_compared_without_hyphens() -> None:
    assert normal("com\ufffe\r\nplete, di\ufb03cult") == "complete, difficult"
    assert normal("high-\nresolution \u2014 well-known") == normal("highresolution - wellknown")


def row(language: str, columns: int | None, ours: float, theirs: float) -> dict[str, Any]:
    row: dict[str, Any] = {"path": f"{language}.pdf", "page": 1, "language": language, "columns": columns}
    for name, f1, seconds in ((OURS, ours, 2.0), (FAST, ours, 1.0), (RAPIDOCR, theirs, 5.0), (TESSERACT, theirs, 1.0)):
        row |= {f"F1 {name}": f1, f"order {name}": f1, f"CPU s {name}": seconds}
    return row


def test_measures_from_pages() -> None:
    rows = [row("en", 1, 0.9, 0.8), row("en", 2, 0.7, 0.8), row("en", 1, 0.95, 0.95), row("fr", 1, 0.6, 0.1)]
    lines = {line["measure"]: line for line in of_text(rows, [{"columns": 2, f"order {OURS}": 1.0}])}
    assert lines["word F1, median"][OURS] == pytest.approx(0.8)
    assert lines["word F1, median of English pages"][OURS] == 0.9
    # On the French page tesseract has the wrong model.
    assert lines["share of English pages at or above tesseract"][OURS] == pytest.approx(2 / 3)
    assert lines["order of lines on pages with columns, median"][OURS] == pytest.approx(0.85)
    cost = lines["CPU time against RapidOCR's defaults"]
    assert (cost[OURS], cost[FAST], cost[RAPIDOCR]) == (0.4, 0.2, 1.0)
    assert [line["page"] for line in worst(rows)][:2] == ["fr.pdf p. 1", "en.pdf p. 1"]


def test_turned_pages_that_count() -> None:
    right = {"known script": True, "has text": True, "found 0": 0, "found 90": 90, "found 180": 180, "found 270": 270}
    wrong = right | {"found 0": 180, "found 180": 0}
    rows = [right, wrong, right | {"known script": False, "found 90": 0}, right | {"has text": False, "found 90": 0}]
    lines = of_orientation([{**found, "peak MB": 100.0 * place} for place, found in enumerate(rows)])
    assert [(line["pages"], line[OURS]) for line in lines] == [(6, pytest.approx(5 / 6)), (2, 0.5), (4, 300.0)]
