"""A small chart of how a run went, in Markdown that any font shows."""

from collections import Counter
from collections.abc import Callable, Sequence

from pdfocr_core.telemetry import Sample

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60

_ROWS: tuple[tuple[str, Callable[[Sample], float | None]], ...] = (
    ("pages in flight", lambda sample: sample.in_flight),
    ("running in the engine", lambda sample: sample.running),
    ("waiting in the engine", lambda sample: sample.waiting),
    ("token cache used", lambda sample: sample.kv_cache_usage),
    ("pages per second", lambda sample: sample.pages_per_s),
    ("tokens per second", lambda sample: sample.tokens_per_s),
)


def window_chart(samples: Sequence[Sample]) -> str:
    """One line of bars for each number that the server tells, from the first sample to the last; what bounded the run."""
    seconds = samples[-1].at_s - samples[0].at_s
    lines = [f"{seconds:.0f} s in {len(samples)} samples", "", "| | over time | last | most |", "|---|---|---|---|"]
    for name, value_of in _ROWS:
        values = [value for sample in samples if (value := value_of(sample)) is not None]
        if values:
            lines.append(f"| {name} | {_bars(values)} | {values[-1]:g} | {max(values):g} |")
    reasons = Counter(sample.bound_by for sample in samples).most_common()
    lines += ["", "Bound by: " + ", ".join(f"{reason} {count / len(samples):.0%}" for reason, count in reasons)]
    return "\n".join(lines)


def _bars(values: Sequence[float]) -> str:
    """The values as bars from zero to the highest; many values share a bar, which shows their mean."""
    highest = max(values)
    columns = min(_WIDTH, len(values))
    means = []
    for column in range(columns):
        part = values[column * len(values) // columns : (column + 1) * len(values) // columns]
        means.append(sum(part) / len(part))
    return "".join(_BARS[round(mean / highest * (len(_BARS) - 1)) if highest > 0 else 0] for mean in means)
