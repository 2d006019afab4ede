"""Documents for the benchmarks, made with reportlab: the same bytes at every call, every page different."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

__all__ = ["dense", "mixed", "tiny"]

_LINES, _WORDS = 55, 12


def dense(folder: Path, pages: int, *, each: int = 40) -> str:
    """Pages full of text, in documents of `each` pages; returns the dataset's card."""
    _write(folder, (min(each, pages - start) for start in range(0, pages, each)))
    return f"{pages} dense A4 pages of text in documents of {each}"


def mixed(folder: Path, pages: int, seed: int = 1) -> str:
    """Pages full of text, in documents of 1 to 300 pages: most are short, most pages are in long ones.

    Documents of the same length differ in their last bytes only, which makes them others; drawing them all takes long.
    """
    drawn: dict[int, bytes] = {}
    chance, left, number = random.Random(seed), pages, 0  # noqa: S311 - filler
    folder.mkdir(parents=True)
    while left:
        length = min(left, 300, max(1, round(chance.lognormvariate(1.8, 1.2))))
        if length not in drawn:
            _write(folder / "one", iter([length]))
            drawn[length] = (folder / "one" / "00000.pdf").read_bytes()
            shutil.rmtree(folder / "one")
        (folder / f"{number:05}.pdf").write_bytes(drawn[length] + b"%% %d\n" % number)
        left, number = left - length, number + 1
    return f"{pages} dense A4 pages of text in {number} documents of 1 to 300 (lognormal, median 6)"


def tiny(folder: Path, documents: int) -> str:
    """One-page documents of under 1 KB with one line each."""
    folder.mkdir(parents=True)
    for number in range(documents):
        inside = folder / f"{number // 1000:04}"
        inside.mkdir(exist_ok=True)
        (inside / f"{number:06}.pdf").write_bytes(_one_line(f"Document {number}"))
    return f"{documents:,} one-page documents with one line each"


def _write(folder: Path, lengths: Iterator[int]) -> None:
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    folder.mkdir(parents=True)
    for document, length in enumerate(lengths):
        canvas = Canvas(str(folder / f"{document:05}.pdf"), pagesize=A4, invariant=1)
        for page in range(length):
            canvas.setFont("Times-Roman", 10)
            for line in range(_LINES):
                seed = document * 7919 + page * 104729 + line * 31
                words = " ".join(f"word{(seed + word) % 9973}" for word in range(_WORDS))
                canvas.drawString(50, 790 - 13.5 * line, words)
            canvas.showPage()
        canvas.save()


def _one_line(text: str) -> bytes:
    """A whole PDF by hand: reportlab takes a hundred times as long."""
    content = f"BT /F1 12 Tf 20 20 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 50]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, item)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 6\n0000000000 65535 f \n" + rows + end
