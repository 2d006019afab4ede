"""Pages laid on their sides and their heads, and the memory of one worker over every document of the corpus."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

from benchmarks.quality.corpus import Pictures, documents
from benchmarks.quality.readers import Reader

__all__ = ["TURNS", "measure"]

Row = dict[str, Any]
TURNS = (90, 180, 270)
_SEED = 5
_LEAST_TEXT = 3  # letters or digits: a bar or a ring is read as one
# These lie on their sides already, hold no page, or cannot be opened.
_WITHOUT = ("rotated", "broken", "encrypted", "tarballs")
# Which way up these are cannot be told by reading: the models have no letter of Arabic, Hebrew, Devanagari or Cyrillic.
_UNREADABLE = {
    "languages/ar_right_to_left_01.pdf",
    "languages/he_hebrew.png",
    "languages/hi_devatest.png",
    "languages/ru_pdfcpu_form.pdf",
}


def measure(corpus: Path, reader: Reader, most: int) -> list[Row]:
    """Read the first pages of documents, drawn by lot, upright and turned.

    Args:
        corpus: the folder with the manifest.
        reader: one that does not turn pages itself.
        most: documents.
    """
    found = documents(corpus, _WITHOUT)
    random.Random(_SEED).shuffle(found)  # noqa: S311 - which documents
    rows: list[Row] = []
    with Pictures() as pictures:
        for path, kind in found:
            for number, picture in pictures.of(corpus / path):
                rows.append(_looked_at(reader, path, kind, number, picture))
                print(f"  {len(rows)} {path}: {[rows[-1][f'found {turn}'] for turn in (0, *TURNS)]}", flush=True)
            if len(rows) == most:
                break
    return rows


def _looked_at(reader: Reader, path: str, kind: str, number: int, picture: bytes) -> Row:
    upright = reader.read(picture)
    row: Row = {"path": path, "page": number, "class": kind, "known script": path not in _UNREADABLE}
    # A page that is wrongly thought to lie otherwise comes without text.
    row["has text"] = bool(upright.turn) or sum(map(str.isalnum, upright.text)) >= _LEAST_TEXT
    row["found 0"], row["peak MB"] = upright.turn, upright.peak_mb
    for turn in TURNS:
        row[f"found {turn}"] = reader.read(_turned(picture, turn)).turn
    return row


def _turned(picture: bytes, clockwise: int) -> bytes:
    from PIL import Image

    data = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        image.rotate(-clockwise, expand=True).save(data, "JPEG", quality=95, subsampling=0)
    return data.getvalue()
