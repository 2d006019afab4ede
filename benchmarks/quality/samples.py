"""A benchmark in the form of olmOCR-Bench whose pages we drew: every one as a program writes it and as a scan."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.journal_page import journal
from benchmarks.quality.prose import Prose
from benchmarks.quality.sample_pages import captions, columns, footnotes, heads, lists
from benchmarks.quality.sample_tables import plain_table, ruled_table, text_table
from benchmarks.quality.sample_tests import Drawn
from benchmarks.quality.sheet import scanned

__all__ = ["FORMS", "write_samples"]

# The file of tests that a kind of page belongs to, and how its pages differ from one another.
_KINDS: dict[str, tuple[str, Callable[[Prose, int], Drawn]]] = {
    "two_columns": ("multi_column", lambda prose, number: columns(prose, 2, number)),
    "three_columns": ("multi_column", lambda prose, number: columns(prose, 3, number)),
    "journal": ("multi_column", journal),
    "ruled_table": ("tables", ruled_table),
    "plain_table": ("tables", plain_table),
    "text_table": ("tables", text_table),
    "heads": ("headers_footers", heads),
    "lists": ("text", lists),
    "footnotes": ("text", footnotes),
    "captions": ("text", captions),
}
FORMS = ("clean", "scan")


def write_samples(folder: Path, each: int, forms: Sequence[str] = FORMS) -> int:
    """Write `pdfs/` and a JSONL file for each category, with so many pages of every kind in each form.

    Returns:
        the number of pages.
    """
    pdfs = folder / "pdfs"
    pdfs.mkdir(parents=True)
    tests: dict[str, list[dict[str, Any]]] = {}
    for kind, (category, draw) in _KINDS.items():
        for number in range(each):
            drawn = draw(Prose(f"{kind} {number}"), number)
            for form in forms:
                name = f"{kind}_{number}_{form}.pdf"
                if form == "clean":
                    (pdfs / name).write_bytes(drawn.pdf)
                else:
                    scanned(drawn.pdf, pdfs / name, zlib.crc32(name.encode()))
                tests.setdefault(f"{category}_{form}", []).extend(_named(drawn, name))
    for category, cases in tests.items():
        lines = [json.dumps(case) for case in cases]
        (folder / f"{category}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return each * len(_KINDS) * len(forms)


def _named(drawn: Drawn, pdf: str) -> list[dict[str, Any]]:
    stem = pdf.removesuffix(".pdf")
    return [{"pdf": pdf, "page": 1, "id": f"{stem}_{number:02}", **test} for number, test in enumerate(drawn.tests)]
