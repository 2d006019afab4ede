"""A benchmark in the form of olmOCR-Bench whose pages we drew: every one as a program writes it and as a scan."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.quality.prose import Prose
from benchmarks.quality.sample_pages import Drawn, captions, columns, footnotes, heads, lists, plain_table, ruled_table
from benchmarks.quality.sheet import scanned

__all__ = ["write_samples"]

# The file of tests that a kind of page belongs to, and how its pages differ from one another.
_KINDS: dict[str, tuple[str, Callable[[Prose, int], Drawn]]] = {
    "two_columns": ("multi_column", lambda prose, number: columns(prose, 2, number)),
    "three_columns": ("multi_column", lambda prose, number: columns(prose, 3, number)),
    "ruled_table": ("tables", ruled_table),
    "plain_table": ("tables", plain_table),
    "heads": ("headers_footers", heads),
    "lists": ("text", lists),
    "footnotes": ("text", footnotes),
    "captions": ("text", captions),
}
_FORMS = ("clean", "scan")


def write_samples(folder: Path, each: int) -> int:
    """Write `pdfs/` and a JSONL file for each category, with so many pages of every kind in both forms.

    Returns:
        the number of pages.
    """
    pdfs = folder / "pdfs"
    pdfs.mkdir(parents=True)
    tests: dict[str, list[dict[str, Any]]] = {}
    for kind, (category, draw) in _KINDS.items():
        for number in range(each):
            drawn = draw(Prose(f"{kind} {number}"), number)
            for form in _FORMS:
                name = f"{kind}_{number}_{form}.pdf"
                if form == "clean":
                    (pdfs / name).write_bytes(drawn.pdf)
                else:
                    scanned(drawn.pdf, pdfs / name, zlib.crc32(name.encode()))
                tests.setdefault(f"{category}_{form}", []).extend(_named(drawn, name))
    for category, cases in tests.items():
        lines = [json.dumps(case) for case in cases]
        (folder / f"{category}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return each * len(_KINDS) * len(_FORMS)


def _named(drawn: Drawn, pdf: str) -> list[dict[str, Any]]:
    stem = pdf.removesuffix(".pdf")
    return [{"pdf": pdf, "page": 1, "id": f"{stem}_{number:02}", **test} for number, test in enumerate(drawn.tests)]
