"""Phrases of real born-digital papers and reports, many of which run over line ends and beside other columns."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from pdfocr_core.layout.page import to_markdown
from pdfocr_core.rendering.placing import placer
from pdfocr_core.rendering.textlayer import page_lines

CORPUS = Path(os.environ.get("PDFOCR_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
CLASSES = ("born_digital", "multi_column")

pytestmark = pytest.mark.skipif(
    not (CORPUS / "manifest.csv").exists(), reason="no corpus: set PDFOCR_CORPUS to a folder with a manifest.csv"
)

QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00ad": ""})


def normal(text: str) -> str:
    """Words alone: a phrase may stand in several cells of a table."""
    text = re.sub(r"</?t[rdh][^>]*>", " ", text)
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).translate(QUOTES))


def phrases() -> list[tuple[str, int, str]]:
    with (CORPUS / "manifest.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["class"] in CLASSES and "text layer" in row["must_basis"]]
    items = [(row["path"], item.partition(":")) for row in rows for item in row["must_contain"].split("|")]
    return [(path, int(page), phrase) for path, (page, _, phrase) in items]


def markdown_of(path: Path, number: int) -> str:
    with pdfium.PdfDocument(path) as document:
        page = document[number - 1]
        lines = list(page_lines(page.get_textpage(), placer(page)))
        return to_markdown(lines, *page.get_size()).markdown


def test_phrases_of_born_digital_pages_survive() -> None:
    wanted = phrases()
    missing = [item for item in wanted if normal(item[2]) not in normal(markdown_of(CORPUS / item[0], item[1]))]
    assert len(wanted) > 20
    assert not missing
