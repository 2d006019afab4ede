"""The figures of a run at one moment, and their three forms: a line, a display for terminals, a JSON object."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster.wording import duration, money, number

__all__ = ["Figures", "as_display", "as_json", "as_line", "figures_of"]

_REASONS = 4


@dataclass(frozen=True, slots=True)
class Figures:
    """What is shown of a run; totals are 0 and the rest is None where nothing is known.

    Attributes:
        pages_per_s: over the last minute.
        tokens_per_s: the same, of output.
        overall_pages_per_s: since the start.
        overall_tokens_per_s: the same, of output.
        running: requests that the engine computes.
        waiting: requests in the engine's queue.
        retries: bad answers, by reason.
        failures: documents and pages that did not end well, by reason.
        seconds: where the time went, by stage; what happens at the same time adds up.
    """

    phase: str
    documents: int
    documents_total: int
    pages: int
    pages_total: int
    pages_reused: int
    groups: int
    groups_total: int
    pages_per_s: float
    tokens_per_s: float
    overall_pages_per_s: float
    overall_tokens_per_s: float
    tokens_in: int
    tokens_out: int
    in_flight: int
    running: float | None
    waiting: float | None
    elapsed_s: float
    left_s: float | None
    cost: float | None
    retries: dict[str, int]
    failures: dict[str, int]
    seconds: dict[str, float]


def figures_of(telemetry: Telemetry) -> Figures:
    """The counters as they are now; they may be counting on meanwhile."""
    pages_per_s, tokens_per_s = telemetry.rates()
    overall_pages_per_s, overall_tokens_per_s = telemetry.overall_rates()
    last = telemetry.samples[-1] if telemetry.samples else None
    pages = telemetry.pages_done
    return Figures(
        phase=telemetry.phase,
        documents=telemetry.documents_done,
        documents_total=max(telemetry.documents_total, telemetry.documents_done),
        pages=pages,
        # The total is an estimate where documents could not be counted beforehand: what is done is never more.
        pages_total=max(telemetry.pages_total, pages) if telemetry.pages_total > 0 else 0,
        pages_reused=telemetry.reused_pages,
        groups=telemetry.groups_done,
        groups_total=telemetry.groups_total,
        pages_per_s=pages_per_s,
        tokens_per_s=tokens_per_s,
        overall_pages_per_s=overall_pages_per_s,
        overall_tokens_per_s=overall_tokens_per_s,
        tokens_in=telemetry.prompt_tokens,
        tokens_out=telemetry.completion_tokens,
        in_flight=telemetry.in_flight,
        running=None if last is None else last.running,
        waiting=None if last is None else last.waiting,
        elapsed_s=time.monotonic() - telemetry.started,
        # What needs no model is done before the server is there and says nothing of how fast the rest goes.
        left_s=None if telemetry.phase.startswith("starting") else telemetry.seconds_left(),
        cost=telemetry.cost,
        retries=dict(Counter(telemetry.retries).most_common()),
        failures=dict(Counter(telemetry.failures).most_common()),
        seconds={stage: round(seconds, 3) for stage, seconds in list(telemetry.seconds.items())},
    )


def as_json(figures: Figures) -> dict[str, Any]:
    """For machines; rates and times with as many digits as they deserve."""
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(figures).items()}


def as_line(figures: Figures) -> str:
    """For logs and pipes."""
    parts = [
        figures.phase,
        f"documents {_of(figures.documents, figures.documents_total)}",
        f"pages {_of(figures.pages, figures.pages_total)}{_share(figures)}",
        f"{_rate(figures.pages_per_s)} pages/s",
        f"{figures.tokens_per_s:,.0f} tokens/s",
        _engine(figures),
    ]
    if figures.retries:
        parts.append(f"retries {number(sum(figures.retries.values()))}")
    if figures.failures:
        parts.append(f"failures {_reasons(figures.failures)}")
    if figures.cost is not None:
        parts.append(f"cost {money(figures.cost)}")
    if figures.left_s is not None:
        parts.append(f"ETA {duration(figures.left_s)}")
    return " · ".join(parts)


def as_display(figures: Figures) -> Group:
    """For terminals: a bar, how far and how fast, what goes wrong."""
    table = Table.grid(padding=(0, 3))
    table.add_row(
        f"documents {_of(figures.documents, figures.documents_total)}",
        f"pages {_of(figures.pages, figures.pages_total)}{_share(figures)}",
        f"groups {_of(figures.groups, figures.groups_total)}",
        f"{number(figures.pages_reused)} pages kept from before" if figures.pages_reused else "",
    )
    table.add_row(
        f"last minute {_rate(figures.pages_per_s)} pages/s",
        f"{figures.tokens_per_s:,.0f} tokens/s",
        f"overall {_rate(figures.overall_pages_per_s)} pages/s",
        f"{figures.overall_tokens_per_s:,.0f} tokens/s",
    )
    table.add_row(
        f"elapsed {duration(figures.elapsed_s)}",
        f"ETA {duration(figures.left_s)}" if figures.left_s is not None else "ETA not known yet",
        f"in flight {number(figures.in_flight)}",
        f"cost {money(figures.cost)}" if figures.cost is not None else "",
    )
    bar = ProgressBar(
        total=max(figures.pages_total, 1),
        completed=figures.pages if figures.pages_total else 0,
        pulse=not figures.pages_total,
    )
    line = Table.grid(expand=True)  # a bar alone does not end its line
    line.add_row(bar)
    lines: list[RenderableType] = [Text(figures.phase, style="bold"), line, table]
    lines.append(Text(f"retries: {_reasons(figures.retries)}"))
    lines.append(Text(f"failures: {_reasons(figures.failures)}", style="red" if figures.failures else ""))
    return Group(*lines)


def _of(done: int, total: int) -> str:
    return f"{number(done)}/{number(total)}" if total else number(done)


def _share(figures: Figures) -> str:
    # Rounded down: 100% means that nothing is left.
    return f" ({100 * figures.pages // figures.pages_total}%)" if figures.pages_total else ""


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 1 or not rate else f"{rate:.2f}"


def _engine(figures: Figures) -> str:
    parts = [f"in flight {number(figures.in_flight)}"]
    parts += [
        f"{name} {number(value)}"
        for name, value in (("running", figures.running), ("waiting", figures.waiting))
        if value is not None
    ]
    return ", ".join(parts)


def _reasons(counts: dict[str, int]) -> str:
    if not counts:
        return "none"
    shown = list(counts.items())[:_REASONS]
    rest = sum(counts.values()) - sum(count for _reason, count in shown)
    listed = ", ".join(f"{reason} {number(count)}" for reason, count in shown)
    return f"{number(sum(counts.values()))} ({listed}{f', others {number(rest)}' if rest else ''})"
