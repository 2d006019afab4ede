"""From pages to the measures that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from benchmarks.quality.orientation import TURNS
from benchmarks.quality.readers import NAMES, OURS, RAPIDOCR, TESSERACT
from pdfocr_core.bench.score import Score

__all__ = ["by_category", "of_bench", "of_memory", "of_orientation", "of_text", "worst"]

Row = dict[str, Any]
_WORST = 10


def of_text(rows: Sequence[Row], more: Sequence[Row]) -> list[Row]:
    """Words, order and cost; `more` are pages with columns that only our engine has read."""
    english = [row for row in rows if row["language"] == "en"]
    columns = [row for row in [*rows, *more] if (row["columns"] or 0) > 1]
    lines = [
        _line("word F1, median", "≥ 0.96", rows, "F1", median),
        _line("word F1, median of English pages", "", english, "F1", median),
        _line("order of lines on pages with columns, median", "≥ 0.97", columns, "order", median),
        _line("CPU seconds a page", "", rows, "CPU s", fmean),
    ]
    pairs = [(row[f"F1 {OURS}"], row[f"F1 {TESSERACT}"]) for row in english if f"F1 {TESSERACT}" in row]
    if pairs:
        share = sum(ours >= theirs for ours, theirs in pairs) / len(pairs)
        lines.append({"measure": "share of English pages at or above tesseract", "needed": "≥ 0.75", OURS: share})
        lines[-1]["pages"] = len(pairs)
    spent = {name: sum(row.get(f"CPU s {name}", 0.0) for row in rows) for name in NAMES}
    if spent[RAPIDOCR]:
        line: Row = {
            "measure": "CPU time against RapidOCR's defaults",
            "needed": "≤ 0.5, fast ≤ 0.25",
            "pages": len(rows),
        }
        lines.append(line | {name: seconds / spent[RAPIDOCR] for name, seconds in spent.items()})
    return lines


def _line(
    measure: str, needed: str, rows: Sequence[Row], column: str, middle: Callable[[Iterable[float]], float]
) -> Row:
    line: Row = {"measure": measure, "needed": needed, "pages": len(rows)}
    for name in NAMES:
        values = [row[f"{column} {name}"] for row in rows if row.get(f"{column} {name}") is not None]
        line[name] = middle(values) if values else None
    return line


def worst(rows: Sequence[Row]) -> list[Row]:
    """The pages on which our engine finds the fewest words, those first."""
    ordered = sorted(rows, key=lambda row: float(row[f"F1 {OURS}"]))[:_WORST]
    return [
        {"page": f"{row['path']} p. {row['page']}"} | {name: row[f"F1 {name}"] for name in NAMES if f"F1 {name}" in row}
        for row in ordered
    ]


def of_orientation(rows: Sequence[Row]) -> list[Row]:
    """Turned pages set right, upright ones left alone, and memory."""
    judged = [row for row in rows if row["known script"] and row["has text"]]
    if not judged:
        return []
    found = [row[f"found {turn}"] == turn for row in judged for turn in TURNS]
    alone = [row["found 0"] == 0 for row in judged]
    return [
        {"measure": "turned pages set right", "needed": "≥ 0.98", "pages": len(found), OURS: sum(found) / len(found)},
        {"measure": "upright pages left alone", "needed": "", "pages": len(alone), OURS: sum(alone) / len(alone)},
        *of_memory(rows),
    ]


def of_memory(rows: Sequence[Row]) -> list[Row]:
    """The peak; a process's peak only ever grows, so it is the last row's."""
    if not rows:
        return []
    pages = rows[-1].get("after pages", len(rows))
    return [{"measure": "peak memory of a worker, MiB", "needed": "< 800", "pages": pages, OURS: rows[-1]["peak MB"]}]


def by_category(scores: Mapping[str, Score]) -> list[Row]:
    """The share of tests passed, for each category of samples and each type of tests."""
    ours = scores[OURS]
    lines: list[Row] = []
    for kind, tallies in (("category", ours.categories), ("type", ours.types)):
        for part, tally in sorted(tallies.items()):
            line: Row = {"of": kind, "name": part, "tests": tally.total}
            for name, score in scores.items():
                line[name] = (score.categories if kind == "category" else score.types)[part].rate
            lines.append(line)
    return lines


def of_bench(scores: Mapping[str, Score]) -> list[Row]:
    """The score, which is the mean over the categories, and by how many points ours is above the others'."""
    total = scores[OURS].total.total
    lines: list[Row] = [{"measure": "olmOCR-Bench types on our samples, score", "needed": "", "tests": total}]
    lines[0] |= {name: score.score for name, score in scores.items()}
    ours = scores[OURS].score
    for other, needed in ((RAPIDOCR, "≥ 15"), (TESSERACT, "> 0")):
        theirs = scores[other].score if other in scores else None
        if ours is not None and theirs is not None:
            lines.append({"measure": f"points above {other}", "needed": needed, "tests": total})
            lines[-1][OURS] = 100 * (ours - theirs)
    return lines
