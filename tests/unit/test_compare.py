"""Two workspaces compared: which pages are the same, how far they agree, what each took."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfocr_core.documents import Document
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.compare import Comparison, agreement, compare
from pdfocr_core.outputs.html_compare import comparison_html, difference
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.records import PageStatus
from pdfocr_core.workspace import open_workspace
from pdfocr_dagster.comparing import comparison_tables, parse_prices
from tests.record_makers import add_group, made_page


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    first, second = open_workspace(str(tmp_path / "one")), open_workspace(str(tmp_path / "other"))
    a, b = Document("/x/a.pdf", "1", pages=3), Document("/x/b.pdf", "1", pages=1)
    same_a, c = Document("/elsewhere/a.pdf", "2", pages=3), Document("/y/c.pdf", "1", pages=1)
    add_group(
        first,
        {
            a: [made_page(a, 1, "the same text"), made_page(a, 2, "one two three four"), made_page(a, 3, "", PageStatus.BLANK)],
            b: [made_page(b, 1, "only here")],
        },
        "00000000",
    )  # fmt: skip
    add_group(
        second,
        {
            same_a: [
                made_page(same_a, 1, "the same\n\ntext", tokens=30, model="large"),
                made_page(same_a, 2, "one two <three> four", tokens=30, model="large", start=5),
                made_page(same_a, 3, "", PageStatus.BLANK),
            ],
            c: [made_page(c, 1, "only there")],
        },
        "00000000",
    )
    return compare(first, second, (Prices(1.0, 1.0), Prices(gpu_hour=3600.0)))


def test_pages_are_matched_by_bytes_and_number(comparison: Comparison) -> None:
    assert (comparison.pages, comparison.identical) == (2, 1)
    assert (comparison.first.only_here, comparison.second.only_here) == (1, 1)
    assert comparison.mean == pytest.approx((1.0 + 0.75) / 2)
    assert (comparison.agreements[7], comparison.agreements[9]) == (1, 1)
    assert [pair.first.page for pair in comparison.least] == [2, 1]


def test_figures_of_both_sides(comparison: Comparison) -> None:
    assert (comparison.first.models, comparison.second.models) == ({"model": 2}, {"large": 2})
    assert (comparison.first.tokens_out, comparison.second.tokens_out) == (20, 60)
    assert comparison.first.cost == pytest.approx((200 + 20) / 1e6)
    assert comparison.second.cost == pytest.approx(2.0)  # two separate seconds
    data = comparison.to_json()
    assert data["least_agreement"][0] == {
        "url": "/x/a.pdf",
        "page": 2,
        "agreement": 0.75,
        "document_ids": data["least_agreement"][0]["document_ids"],
        "statuses": ["ok", "ok"],
        "tokens_out": [10, 30],
        "seconds": [0.5, 0.5],
    }


def test_html_shows_differences_and_escapes_them(comparison: Comparison) -> None:
    html = comparison_html(comparison)
    assert "<del>three </del>" in html
    assert "<ins>&lt;three&gt; </ins>" in html
    assert "<script" not in html


def test_the_table_names_both(comparison: Comparison) -> None:
    from rich.console import Console

    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(comparison_tables(comparison))
    text = captured.get()
    assert "2 pages in both; agreement 87.5%, 1 pages the same" in text
    assert "large" in text


def test_nothing_in_common(tmp_path: Path) -> None:
    empty = compare(open_workspace(str(tmp_path / "a")), open_workspace(str(tmp_path / "b")))
    assert (empty.pages, empty.mean) == (0, None)
    assert "No page was read by both" in comparison_html(empty)
    assert "No page was read in both" in str(comparison_tables(empty))


def test_differences_join_to_the_texts() -> None:
    first, second = "a b  c\n\nd", "  a x c d e"
    left, right = difference(first, second)
    assert "".join(text for _kind, text in left) == first
    assert "".join(text for _kind, text in right) == second
    assert difference("", "") == ([], [])


def test_agreement() -> None:
    assert agreement("", "") == 1.0
    assert agreement("a b", "a  b\n") == 1.0
    assert agreement("a b", "c d") == 0.0
    assert agreement("a b c", "a b") == pytest.approx(0.8)


@pytest.mark.parametrize("text", ["", "1", "1,2,3,4", "a,b", "-1,2", "nan,1", "inf,1"])
def test_prices_that_are_none(text: str) -> None:
    with pytest.raises(ConfigurationError, match="are no prices"):
        parse_prices(text)


def test_prices() -> None:
    assert parse_prices("0.1, 0.4") == Prices(0.1, 0.4)
    assert parse_prices("0.1,0.4,2") == Prices(0.1, 0.4, 2.0)
    assert parse_prices(None) == Prices()
