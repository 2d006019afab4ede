"""Small charts of how a run went, in Markdown that any font shows."""

import base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pdfocr_core.telemetry import Sample

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 28  # columns; more do not fit beside the navigation of the UI
_BAR_WIDTH = 240  # pixels
_PLOT_WIDTH, _PLOT_HEIGHT = 240, 60
_POINTS = 40  # the UI shows Markdown of less than 1,000 characters at once, and a link to it otherwise

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
    lines = [f"{seconds:.0f} s in {len(samples)} samples", "", "| | most | last | over time |", "|---|---|---|---|"]
    for name, value_of in _ROWS:
        values = [value for sample in samples if (value := value_of(sample)) is not None]
        if values:
            lines.append(f"| {name} | {max(values):g} | {values[-1]:g} | {_bars(values)} |")
    reasons = Counter(sample.bound_by for sample in samples).most_common()
    lines += ["", "Bound by: " + ", ".join(f"{reason} {count / len(samples):.0%}" for reason, count in reasons)]
    return "\n".join(lines)


def _bars(values: Sequence[float]) -> str:
    """The values as bars from zero to the highest; many values share a bar, which shows their mean."""
    highest, means = max(values), _means(values, _WIDTH)
    return "".join(_BARS[round(mean / highest * (len(_BARS) - 1)) if highest > 0 else 0] for mean in means)


def _means(values: Sequence[float], most: int) -> list[float]:
    """So many values at most, each the mean of those that stand there."""
    columns = min(most, len(values))
    parts = [values[at * len(values) // columns : (at + 1) * len(values) // columns] for at in range(columns)]
    return [sum(part) / len(part) for part in parts]


_TONES = {"ok": "#396", "partial": "#d91", "fallback": "#d91", "failed": "#c44", "pending": "#ccd"}
_OTHER = "#59e"


def status_bars(parts: Mapping[str, Mapping[str, int]]) -> str:
    """One bar for each kind of thing, coloured by how many of it ended in which status, with the numbers above it."""
    lines = []
    for kind, counts in parts.items():
        known = {name: counts[name] for name in (*_TONES, *counts) if counts.get(name)}
        total = sum(known.values())
        words = ", ".join(f"{name} {count:,}" for name, count in known.items()) or "none"
        # Lines of text wrap in the narrow column of the UI, where the end of a table's row would be cut off.
        lines += [f"{total:,} {kind}: {words}", f"![{kind}]({_bar(known, total)})"]
    return "\n\n".join(lines)


def _bar(counts: Mapping[str, int], total: int) -> str:
    """A picture as a data URI; no style sheet reaches into it, so its colours suit a light and a dark page."""
    before, drawn = 0, []
    for name, count in counts.items():
        start, end = (round(number / total * _BAR_WIDTH) for number in (before, before + count))
        # However few of many failed, they are seen.
        start = min(start, end - 1)
        drawn.append(f'<path stroke="{_TONES.get(name, _OTHER)}" d="M{start} 0H{end}"/>')
        before += count
    # Half of a thick line along the upper edge: that takes fewer characters than rectangles.
    return _data_uri(_BAR_WIDTH, 14, f'<g stroke-width="28">{"".join(drawn)}</g>')


def throughput_image(samples: Sequence[Sample]) -> str:
    """Pages per second over time as a small picture, with what it rose to."""
    values = [sample.pages_per_s for sample in samples]
    means = _means(values, _POINTS)
    highest = max(means) or 1.0
    step = _PLOT_WIDTH / max(len(means) - 1, 1)
    places = [(round(at * step), round(_PLOT_HEIGHT * (1 - mean / highest))) for at, mean in enumerate(means)]
    line = "L".join(f"{x} {y}" for x, y in places)
    picture = f'<path fill="{_OTHER}6" stroke="{_OTHER}" d="M0 {_PLOT_HEIGHT}L{line}V{_PLOT_HEIGHT}"/>'
    uri = _data_uri(_PLOT_WIDTH, _PLOT_HEIGHT, picture)
    return f"![pages per second over time]({uri})\n\nup to {max(values):.2f} pages/s, {values[-1]:.2f} at the end"


def _data_uri(width: int, height: int, body: str) -> str:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{body}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
