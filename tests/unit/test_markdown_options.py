"""What Markdown files may look like: all made from the same Dolma document."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from pdfocr_core.outputs.markdown import document_markdown
from pdfocr_core.outputs.tables_html import to_html, to_pipes
from pdfocr_core.settings import MarkdownSettings


def record(*pages: str) -> dict[str, Any]:
    spans, text = [], ""
    for number, page in enumerate(pages, start=1):
        start, text = len(text), text + page + ("\n" if page else "")
        spans.append([start, len(text), number])
    metadata = {
        "Source-File": "/docs/über: a.pdf",
        "pdf-total-pages": len(pages),
        "content-id": "c" * 64,
        "engine-id": "e",
        "model": "m",
        "failed-pages": [2],
        "fallback-pages": [],
        "olmocr-version": "pdfocr-1",
    }
    attributes = {"pdf_page_numbers": spans}
    made = {"id": "d", "text": text, "created": "2026-01-02", "metadata": metadata, "attributes": attributes}
    return json.loads(json.dumps(made))


def test_pages_are_parted_as_asked() -> None:
    document = record("one", "", "three")
    made = {
        breaks: document_markdown(document, MarkdownSettings(markdown_page_breaks=breaks))
        for breaks in ("blank", "rule", "comment")
    }
    assert made == {
        "blank": "one\n\nthree\n",
        "rule": "one\n\n---\n\nthree\n",
        "comment": "<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\n<!-- page 3 -->\n\nthree\n",
    }


def test_front_matter_says_where_the_text_is_from() -> None:
    text = document_markdown(record("one", "", "three"), MarkdownSettings(markdown_front_matter=True))
    _, head, body = text.split("---\n", 2)
    facts = yaml.safe_load(head)
    assert facts["source"] == "/docs/über: a.pdf"
    assert (facts["pages"], facts["failed_pages"], facts["model"]) == (3, [2], "m")
    assert body == "\none\n\nthree\n"


def test_normalising_changes_nothing_that_is_seen() -> None:
    document = record(
        "e\u0301te\u0301 \nsoft\u00adhyphen\u200b  \nline break above\t\n\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    )
    assert document_markdown(document) == document["text"]
    assert document_markdown(document, MarkdownSettings(markdown_normalize=True)) == (
        "été\nsofthyphen  \nline break above\n\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n"
    )


PLAIN = (
    "<table><thead><tr><th>Name</th><th>a|b</th></tr></thead>"
    "<tbody><tr><td>x<sub>1</sub></td><td>R&amp;D\n *</td></tr></tbody></table>"
)


def test_a_plain_table_becomes_pipes() -> None:
    expected = "| Name | a\\|b |\n| --- | --- |\n| x<sub>1</sub> | R&amp;D \\* |"
    assert to_pipes(f"Before\n{PLAIN}\nAfter") == f"Before\n\n{expected}\n\nAfter"
    assert to_pipes(f"{PLAIN}\n\n{PLAIN}") == f"{expected}\n\n{expected}"
    assert document_markdown(record(PLAIN), MarkdownSettings(markdown_tables="pipes")) == f"{expected}\n"


@pytest.mark.parametrize(
    "table",
    [
        "<table><tr><td>no header</td></tr><tr><td>a</td></tr></table>",
        "<table><tr><th colspan='2'>wide</th></tr><tr><td>a</td><td>b</td></tr></table>",
        "<table><tr><th>a</th><th>b</th></tr><tr><td>one cell</td></tr></table>",
        "<table><tr><th>a</th></tr><tr><td><ul><li>list</li></ul></td></tr></table>",
        "<table><tr><th>a</th></tr><tr><td><table><tr><td>inner</td></tr></table></td></tr></table>",
        "<table><tr><th>a</th></tr><tr><td>\\(x_1\\)</td></tr></table>",
        "<table><caption>Words</caption><tr><th>a</th></tr><tr><td>b</td></tr></table>",
        "<table><tr><th>a</th></tr><tr><td style='color:red'>b</td></tr></table>",
        "<table><tr><th>a</th></tr><tr><th>row header</th></tr></table>",
        "<table></table>",
        "<table><tr><th>never closed",
        f"```\n{PLAIN}\n```",
    ],
)
def test_a_table_that_pipes_cannot_say_stays(table: str) -> None:
    assert to_pipes(table) == table


def test_pipes_become_html_and_mathematics_stays() -> None:
    table = "| a | b |\n|---|:-:|\n| **x** | 1 \\| 2 |"
    made = to_html(f"Text\n\n{table}\n\nMore")
    assert made.startswith("Text\n\n<table>")
    assert "<strong>x</strong>" in made
    assert "1 | 2</td>" in made
    assert made.endswith("</table>\n\nMore")
    for kept in ("| a |\n|---|\n| $x_1$ |", "```\n| a |\n|---|\n```", "a | b", "> | a |\n> |---|\n> | b |"):
        assert to_html(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "<table" * 20_000,
        "<table>" * 20_000,
        "<table>" * 20_000 + "</table>" * 20_000,
        "<table>" + "<a" * 50_000 + "</table>",
        "<table>" + "<!--" * 20_000 + "</table>",
        "```\n<table>\n" * 20_000,
        "|" * 50_000 + "\n" + "|-" * 20_000,
        "| - " * 5_000 + "x",
        "|a" * 2_000 + "\n" + "|-" * 2_000 + "\n" + "|" * 2_000,
    ],
)
def test_hostile_tables_end_soon(text: str) -> None:
    to_pipes(text)
    to_html(text)
