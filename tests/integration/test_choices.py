"""What is left out, what is read of the rest, and in which forms it is written: through the command."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from tests.counting_server import counting_server
from tests.integration.conftest import Command
from tests.unit.test_figures import write_figures
from tests.unit.test_filters import ENGLISH, GERMAN

REMOTE = ("--engine", "remote", "--model", "pdfocr-cpu")


def test_filters_page_ranges_figures_and_exports(pdfocr: Command) -> None:
    sources = pdfocr.folder / "sources"
    sources.mkdir()
    for name, text in (("english", ENGLISH), ("german", GERMAN)):
        canvas = Canvas(str(sources / f"{name}.pdf"), invariant=1)
        for number in range(3):
            canvas.drawString(40, 800, f"{name} {number}")
            writing = canvas.beginText(40, 780)
            writing.textLines([text[start : start + 90] for start in range(0, len(text), 90)])
            canvas.drawText(writing)
            canvas.showPage()
        canvas.save()
    write_figures(sources / "figures.pdf")
    with counting_server() as server:
        remote = (*REMOTE, "--server", server.url)
        options = ("--filter-language", "en", "--pages", "1,3", "--figures", "--page-breaks", "comment", "--quiet")
        pdfocr.run(sources, *remote, *options)  # ends with 0: what was left out was left out as asked
        assert server.requests == 3
        rows = {name: (row["status"], row["reason"], row["pages"]) for name, row in pdfocr.status_rows(sources).items()}
        assert rows == {
            "english.pdf": ("ok", None, 2),
            "german.pdf": ("filtered", "filtered_language", 0),
            "figures.pdf": ("ok", None, 1),
        }
        markdown = pdfocr.workspace / "markdown" / "sources"
        english = (markdown / "english.pdf.md").read_text()
        assert english.startswith("<!-- page 1 -->\n\n")
        assert "\n\n<!-- page 3 -->\n\n" in english
        assert "](figures.pdf.figures/p1-2.png)" in (markdown / "figures.pdf.md").read_text()
        assert Image.open(markdown / "figures.pdf.figures" / "p1-1.png").size == (556, 279)  # 200 × 100 points, 200 dpi

        table, lines = pdfocr.folder / "set", pdfocr.folder / "pages.jsonl"
        forms = (
            "--by-page",
            "--parquet",
            table,
            "--jsonl",
            lines,
            "--markdown",
            "--page-breaks",
            "rule",
            "--front-matter",
        )
        pdfocr("export", pdfocr.workspace, *forms)
        assert server.requests == 3

        pdfocr.run(sources, *remote, "--reselect", "--no-markdown", "--quiet")
        assert server.requests == 7  # what was left out, and the second pages, of which one shows nothing
        assert sorted(row["pages"] for row in pdfocr.status_rows(sources).values()) == [2, 3, 3]
    english = (markdown / "english.pdf.md").read_text()
    assert english.startswith(f"---\nsource: {sources}/english.pdf\n")
    assert english.count("\n---\n") == 2
    pages = [json.loads(line) for line in lines.read_text().splitlines()]
    assert pq.read_table(table).to_pylist() == pages
    assert sorted((row["url"].rpartition("/")[2], row["page"]) for row in pages) == [
        ("english.pdf", 1),
        ("english.pdf", 3),
        ("figures.pdf", 1),
    ]
