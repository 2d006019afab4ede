"""Words, their order and what they cost, on born-digital pages: every engine reads each page, one after the other."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.corpus import LayerPage, Pictures, layer_pages, normal
from benchmarks.quality.order import columns_of, line_order
from benchmarks.quality.readers import OURS, Reader
from pdfocr_core.bench.measures import word_f1

__all__ = ["Row", "measure", "order_pages"]

Row = dict[str, Any]
_PLACED = ("born_digital", "multi_column", "math", "odd")  # rows of forms and tables can be read in two orders
_COLUMN_PAGES = 6  # of a document
_SEED = 4


def measure(corpus: Path, readers: Mapping[str, Reader], each: int, most: int, keep: Path | None) -> list[Row]:
    """One row for each page: word F1, order of lines and CPU seconds of every engine.

    Args:
        corpus: the folder with the manifest.
        readers: engines by name.
        each: pages of a document, at most.
        most: pages altogether, at most.
        keep: where to leave pictures and readings to be looked at.
    """
    pages = _some(layer_pages(corpus, each), most)
    rows: list[Row] = []
    for page, picture in _drawn(corpus, pages):
        row: Row = {"path": page.path, "page": page.number, "class": page.kind, "language": _language(page.text)}
        row["columns"] = columns_of(page) if page.kind in _PLACED else None
        names = list(readers)
        # Whoever comes second finds a warmer machine: each is first as often as the others.
        shift = len(rows) % len(names)
        for name in names[shift:] + names[:shift]:
            row |= _judged(name, page, picture, readers[name], keep)
        rows.append(row)
        print(f"  {len(rows)}/{len(pages)} {page.name}: " + _line(row, names), flush=True)
    return rows


def order_pages(corpus: Path, reader: Reader, done: Sequence[Row], most: int, keep: Path | None) -> list[Row]:
    """More pages with columns, read by our engine alone, so that the order rests on more than a few."""
    known = {(row["path"], row["page"]) for row in done}
    pages = [page for page in layer_pages(corpus, _COLUMN_PAGES) if page.kind in _PLACED and columns_of(page) > 1]
    fresh = _some([page for page in pages if (page.path, page.number) not in known], most)
    rows: list[Row] = []
    for page, picture in _drawn(corpus, fresh):
        row: Row = {"path": page.path, "page": page.number, "class": page.kind, "columns": columns_of(page)}
        rows.append(row | _judged(OURS, page, picture, reader, keep))
        print(f"  {len(rows)}/{len(fresh)} {page.name}: order {rows[-1][f'order {OURS}']}", flush=True)
    return rows


def _some(pages: list[LayerPage], most: int) -> list[LayerPage]:
    """At most so many, by lot, in their order."""
    drawn = random.Random(_SEED).sample(range(len(pages)), min(most, len(pages)))  # noqa: S311 - which pages
    return [pages[place] for place in sorted(drawn)]


def _drawn(corpus: Path, pages: Sequence[LayerPage]) -> Iterator[tuple[LayerPage, bytes]]:
    with Pictures() as pictures:
        for page in pages:
            for _number, picture in pictures.of(corpus / page.path, [page.number]):
                yield page, picture


def _judged(name: str, page: LayerPage, picture: bytes, reader: Reader, keep: Path | None) -> Row:
    reading = reader.read(picture)
    text = normal(reading.text)
    if keep is not None:
        _keep(keep, name, page, picture, text)
    return {
        f"F1 {name}": word_f1(page.text, text),
        f"order {name}": line_order(page, text),
        f"CPU s {name}": reading.cpu_s,
        f"turn {name}": reading.turn,
    }


def _keep(folder: Path, name: str, page: LayerPage, picture: bytes, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # The path may begin with a dash, be as long as a name can be, and hold anything.
    stem = f"{Path(page.path).stem[:60].strip('-')}_{page.number}"
    (folder / f"{stem}.jpg").write_bytes(picture)
    (folder / f"{stem}.layer.txt").write_text(page.text, encoding="utf-8")
    (folder / f"{stem}.{name}.md").write_text(text, encoding="utf-8")


def _language(text: str) -> str | None:
    from pdfocr_core.cpu_engine.language import guess_language

    return guess_language(text)


def _line(row: Row, names: Sequence[str]) -> str:
    return ", ".join(f"{name} F1 {row[f'F1 {name}']:.3f} {row[f'CPU s {name}']:.1f} s" for name in names)
