"""The benchmark's rules, its data and its scores; beside the peer's they are held in tests/contract/test_bench_peer.py."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pdfocr_core.bench.candidates import MarkdownFolder, missing_pages
from pdfocr_core.bench.cases import load_cases, parse_case
from pdfocr_core.bench.data import BASELINE, open_bench
from pdfocr_core.bench.drawing import Drawing, Glyph, contains
from pdfocr_core.bench.grids import html_grids, markdown_grids
from pdfocr_core.bench.judge import judge
from pdfocr_core.bench.normalise import normalise
from pdfocr_core.bench.score import run_bench
from pdfocr_core.errors import ConfigurationError
from tests.bench_samples import Sample, samples, write_data


def passed(page_text: str, /, **fields: Any) -> bool | None:
    return judge(parse_case({"pdf": "a.pdf", "page": 1, "id": "t", **fields}), page_text, None).passed


def test_the_samples_are_of_every_type_and_of_both_ends() -> None:
    made = samples()
    counts = Counter(sample.case["type"] for sample in made)
    assert len(made) >= 400
    assert set(counts) == {"present", "absent", "order", "table", "math", "baseline", "format", "footnote"}
    assert min(counts.values()) >= 30
    for kind in set(counts) - {"math"}:
        verdicts = [
            judge(parse_case(sample.case), sample.text, None).passed for sample in made if sample.case["type"] == kind
        ]
        assert verdicts.count(True) >= 10, kind
        assert verdicts.count(False) >= 10, kind


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a **bold** and __b__ <b>c</b>", "a bold and b c"),
        ("*over\nlines* _x_", "over lines x"),
        ("one<br>two<br/>three", "one two three"),
        ("\u201cq\u201d \u2018s\u2019 \u2013\u2014\u2212 \uff3f", "\"q\" 's' --- _"),
        ("e\u0301 \u00b5", "\u00e9 \u03bc"),
    ],
)
def test_normalise(text: str, plain: str) -> None:
    assert normalise(text) == plain


def test_texts_may_be_some_edits_away_and_no_more() -> None:
    asked = {"type": "present", "text": "the frozen harbour"}
    assert passed("There lay the frozen harbour.", **asked)
    assert not passed("There lay the frezen harbour.", **asked)
    assert passed("There lay the frezen harbour.", **asked, max_diffs=2)
    assert not passed("There lay the frozen harbour.", **{**asked, "type": "absent"})
    assert not passed("x" * 50 + " the frozen harbour", **asked, first_n=50)


def test_order_is_of_any_two_places() -> None:
    asked = {"type": "order", "before": "alpha", "after": "omega"}
    assert passed("alpha, omega", **asked)
    assert not passed("omega, alpha", **asked)
    assert passed("omega, alpha, omega", **asked)
    assert not passed("alpha", **asked)


def test_a_cell_has_neighbours_and_headings_in_both_spellings() -> None:
    markdown = "| port | 1930 | 1931 |\n|---|---|---|\n| Bremen | 12 | 13 |\n| Lübeck | 22 | 23 |"
    html = (
        "<table><tr><th>port</th><th>1930</th><th>1931</th></tr><tr><td>Bremen</td><td>12</td><td>13</td></tr>"
        "<tr><td>Lübeck</td><td>22</td><td>23</td></tr></table>"
    )
    for page in (markdown, html):
        assert passed(page, type="table", cell="23", up="13", left="22", top_heading="1931", left_heading="Lübeck")
        assert not passed(page, type="table", cell="23", up="12")
        assert not passed(page, type="table", cell="23", top_heading="1930 and no other")
    assert not passed(markdown, type="table", cell="23", ignore_markdown_tables=True)


def test_spans_reach_over_rows_and_columns() -> None:
    (grid,) = html_grids(
        '<table><tr><th rowspan="2">port</th><th colspan="2">ships</th></tr><tr><th>in</th><th>out</th></tr>'
        "<tr><td>Bremen</td><td>12</td><td>13</td></tr></table>"
    )
    assert grid.rows == [["port", "ships", ""], ["port", "in", "out"], ["Bremen", "12", "13"]]
    assert grid.above[2] == ["ships", "out"]
    assert list(html_grids("no table")) == []
    assert [grid.rows for grid in markdown_grids("| a | b |\n|:-:|---|\n| c |")] == [[["a", "b"], ["c", ""]]]


def test_a_span_of_a_billion_costs_nothing() -> None:
    (grid,) = html_grids(
        '<table><tr><td rowspan="900000000" colspan="900000000">a</td></tr><tr><td>b</td></tr></table>'
    )
    assert len(grid.rows) == 2
    assert not passed('<table><tr><td rowspan="x">a</td></tr></table>', type="table", cell="a")


def test_baseline_sees_blank_looping_and_foreign_text() -> None:
    assert passed("Some text.", type="baseline")
    assert not passed(" \n--", type="baseline")
    assert not passed("Some text " + "na" * 40, type="baseline")
    assert not passed("Some 東京", type="baseline")
    assert passed("x ![long](words.png)", type="baseline", max_length=1, max_length_skips_image_alt_tags=True)
    assert not passed("many words", type="baseline", max_length=3)


def test_math_without_a_browser_is_never_passed_unless_it_is_there_to_the_letter() -> None:
    assert passed("So $x^2$.", type="math", math="x^2") is True
    assert passed("So $x^{2}$.", type="math", math="x^2") is None
    assert passed("No formula.", type="math", math="x^2") is False
    assert passed("So $x^2$.", type="math", math="x^2", ignore_dollar_delimited=True) is False


def drawing(*glyphs: tuple[str, float, float]) -> Drawing:
    return Drawing("".join(character for character, _x, _y in glyphs), tuple(Glyph(*glyph) for glyph in glyphs))


def test_a_drawing_is_in_another_by_neighbours_not_by_places() -> None:
    fraction = drawing(("a", 10, 0), ("b", 10, 20))
    turned = drawing(("b", 10, 0), ("a", 10, 20))
    beside = drawing(("q", 0, 50), ("a", 90, 0), ("b", 91, 30))
    assert contains(beside, fraction)
    assert not contains(turned, fraction)
    assert not contains(fraction, beside)
    # The first mapping of the first glyph leads nowhere: it has to go back.
    row = drawing(*(("a", 10.0 * place, 0.0) for place in range(4)), ("b", 40, 0))
    assert contains(row, drawing(("a", 0, 0), ("a", 10, 0), ("b", 20, 0)))
    assert Drawing.of("<mi> x </mi>", [("xy", 0, 0, 10, 4), ("\u200b", 0, 0, 1, 1)]).glyphs == (
        Glyph("x", 2.5, 2),
        Glyph("y", 7.5, 2),
    )


def test_a_bad_line_is_named_with_its_number(tmp_path: Path) -> None:
    file = tmp_path / "tests.jsonl"
    good = {"pdf": "a.pdf", "page": 1, "id": "one", "type": "present", "text": "word"}
    for bad, said in (
        ({**good, "id": "two", "text": "****"}, "blank"),
        ({**good, "id": "two", "max_difs": 3}, "max_difs"),
        ({**good, "id": "two", "type": "colour"}, "colour"),
        (good, "already"),
        ({**good, "id": "two", "type": "order", "before": "a", "after": "b", "max_diffs": 2}, "order"),
    ):
        file.write_text(json.dumps(good) + "\n\n" + json.dumps(bad) + "\n")
        with pytest.raises(ConfigurationError, match="line 3") as caught:
            load_cases(file)
        assert said in str(caught.value)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    chosen = [
        Sample({"id": "one", "type": "present", "page": 1, "text": "harbour"}, "The harbour."),
        Sample({"id": "two", "type": "present", "page": 1, "text": "harbour"}, "The harbor was."),
        Sample({"id": "three", "type": "absent", "page": 1, "text": "harbour"}, "The mill."),
        Sample({"id": "four", "type": "math", "page": 1, "math": "x^2"}, "So $x^{2}$."),
    ]
    return write_data(tmp_path / "bench", chosen)


def test_every_category_counts_the_same_and_baselines_are_added(bench: Path) -> None:
    data = open_bench(bench)
    assert {name: len(cases) for name, cases in data.categories.items()} == {
        "absent.jsonl": 1,
        "math.jsonl": 1,
        "present.jsonl": 2,
        BASELINE: 4,
    }
    score = run_bench(data, MarkdownFolder(bench / "candidate"), lambda _wanted, _found: "")
    # The first document was read twice and only one reading is right: half is not enough.
    assert {name: tally.rate for name, tally in score.categories.items()} == {
        "absent.jsonl": 1.0,
        "math.jsonl": 1.0,
        "present.jsonl": 0.0,
        BASELINE: 1.0,
    }
    assert score.score == 0.75
    assert score.complete
    assert score.low is not None
    assert score.high is not None
    assert score.low <= 0.75 <= score.high
    assert score.to_json() == run_bench(data, MarkdownFolder(bench / "candidate"), lambda *_: "").to_json()


def test_what_was_not_run_makes_a_score_incomplete(bench: Path) -> None:
    score = run_bench(open_bench(bench), MarkdownFolder(bench / "candidate"), None)
    assert score.total.not_run == 1
    assert score.categories["math.jsonl"].rate is None
    assert not score.complete


def test_a_candidate_that_lacks_pages_has_no_score_unless_they_count_as_empty(bench: Path) -> None:
    (bench / "candidate" / "papers" / "three_pg1_repeat1.md").unlink()
    data, candidate = open_bench(bench), MarkdownFolder(bench / "candidate")
    assert missing_pages(candidate, data) == ["papers/three.pdf, page 1"]
    assert run_bench(data, candidate, lambda *_: "").score is None
    counted = run_bench(data, candidate, lambda *_: "", missing_as_empty=True)
    assert counted.score is not None
    assert counted.categories[BASELINE].passed == 3
    assert not counted.complete


def test_data_that_does_not_fit_is_refused(bench: Path) -> None:
    (bench / "pdfs" / "papers" / "one.pdf").rename(bench / "pdfs" / "other.pdf")
    with pytest.raises(ConfigurationError, match=r"papers/one\.pdf"):
        open_bench(bench)
    with pytest.raises(ConfigurationError, match="no benchmark"):
        open_bench(bench / "pdfs")
