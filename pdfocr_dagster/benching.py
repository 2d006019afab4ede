"""What `pdfocr bench` shows in the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pdfocr_core.bench.score import Score, Tally
from pdfocr_core.bench.unlabelled import MEASURES, Measured
from pdfocr_dagster.wording import money, number, short

__all__ = ["measure_tables", "score_tables"]

_LISTED = 5  # missing pages that are named


def score_tables(scores: Sequence[Score]) -> RenderableType:
    """One column a candidate: the score, what it is made of, what reading cost."""
    table = Table("", *(score.candidate for score in scores), box=SIMPLE_HEAD)
    table.add_row("score", *(Text(_score(score), style="bold") for score in scores))
    for name in sorted({name for score in scores for name in score.categories}):
        table.add_row(Text(f"  {name}"), *(Text(_tally(score.categories.get(name))) for score in scores))
    table.add_section()
    for name in sorted({name for score in scores for name in score.types}):
        table.add_row(Text(f"  type {name}"), *(Text(_tally(score.types.get(name))) for score in scores))
    if any(score.spent for score in scores):
        table.add_section()
        table.add_row("model", *(Text(", ".join(score.spent.models) if score.spent else "") for score in scores))
        table.add_row("tokens out", *(number(score.spent.tokens_out) if score.spent else "" for score in scores))
        table.add_row("cost", *(Text(_cost(score)) for score in scores))
    return Group(table, *(note for score in scores for note in _notes(score)))


def _score(score: Score) -> str:
    if score.score is None or score.low is None or score.high is None:
        return "none"
    return f"{score.score:.1%} ± {(score.high - score.low) / 2:.1%}"


def _tally(tally: Tally | None) -> str:
    if tally is None or tally.rate is None:
        return "not run"
    return f"{tally.rate:.1%} ({number(tally.passed)} of {number(tally.total)})"


def _cost(score: Score) -> str:
    if score.spent is None:
        return ""
    return "no price set" if score.cost is None else money(score.cost)


def _notes(score: Score) -> list[Text]:
    notes = []
    if score.missing:
        named = "; ".join(score.missing[:_LISTED]) + ("; …" if len(score.missing) > _LISTED else "")
        counted = "They count as empty" if score.score is not None else "--missing-as-empty counts them as empty"
        notes.append(Text(f"{score.candidate}: {number(len(score.missing))} pages were not read ({named}). {counted}."))
    if score.spent is not None and score.spent.failed:
        notes.append(Text(f"{score.candidate}: {number(score.spent.failed)} pages failed; their text is empty."))
    if score.total.not_run:
        notes.append(
            Text(
                f"{score.candidate}: {number(score.total.not_run)} math tests not run: no Chromium "
                "(`apt-get install chromium`, or PDFOCR_CHROMIUM; playwright is in pdfocr[bench]). "
                "The score is not to be compared."
            )
        )
    return notes


def measure_tables(measured: Sequence[Measured], pair: tuple[float | None, float | None] | None) -> RenderableType:
    """One column a workspace; with two, how far they agree (words, tables)."""
    table = Table("", *(short(one.workspace) for one in measured), box=SIMPLE_HEAD)
    table.add_row("pages looked at", *(number(len(one.pages)) for one in measured))
    table.add_row("with a sound text layer", *(number(len(one.values("word_f1"))) for one in measured))
    for name in MEASURES:
        shown = []
        for one in measured:
            values = one.values(name)
            shown.append(f"{statistics.median(values):.3f} (mean {statistics.fmean(values):.3f})" if values else "-")
        table.add_row(f"{name.replace('_', ' ')}, median", *shown)
    table.add_row("end in a loop", *(number(len(one.looping)) for one in measured))
    table.add_row("in another language", *(number(len(one.foreign)) for one in measured))
    worst = Table("word F1", "page", "document", box=SIMPLE_HEAD)
    for page in (page for one in measured for page in one.worst):
        worst.add_row(f"{page.values['word_f1']:.3f}", str(page.page), Text(short(page.url)))
    parts: list[RenderableType] = [table]
    if pair is not None:
        agreement, tables = ("none" if value is None else f"{value:.1%}" for value in pair)
        parts.append(Text(f"Agreement of the two, words in their order: {agreement}; their tables, TEDS: {tables}"))
    return Group(*parts, worst) if worst.row_count else Group(*parts)
