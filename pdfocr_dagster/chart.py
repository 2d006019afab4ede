"""Small charts of how a run went, in Markdown that any font shows."""

import base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pdfocr_core.telemetry import Sample

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 28  # columns; more do not fit beside the navigation of the UI
_BAR_WIDTH = 240  # pixels
_PLOT_WIDTH, _PLOT_HEIGHT = 360, 60

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


_TONES = {"ok": "#2e9e6b", "partial": "#d9930d", "fallback": "#d9930d", "failed": "#d1434b", "pending": "#c9d0d9"}
_OTHER = "#5b8def"


def status_bars(parts: Mapping[str, Mapping[str, int]]) -> str:
    """One bar for each kind of thing, coloured by how many of it ended in which status, with the numbers beside it."""
    lines = ["| | | |", "|---|---|---|"]
    for kind, counts in parts.items():
        total = sum(counts.values())
        words = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count) or "none"
        lines.append(f"| {total:,} {kind} | ![{words}]({_bar(counts, total)}) | {words} |")
    return "\n".join(lines)


def _bar(counts: Mapping[str, int], total: int) -> str:
    """A picture as a data URI; no style sheet reaches into it, so its colours suit a light and a dark page."""
    x, drawn = 0.0, []
    for name, count in counts.items():
        width = count / total * _BAR_WIDTH if total else 0
        drawn.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="14" fill="{_TONES.get(name, _OTHER)}"/>')
        x += width
    return _data_uri(_BAR_WIDTH, 14, "".join(drawn))


def throughput_image(samples: Sequence[Sample]) -> str:
    """Pages per second over time as a small picture, with what it rose to."""
    values = [sample.pages_per_s for sample in samples]
    highest = max(values) or 1.0
    step = _PLOT_WIDTH / max(len(values) - 1, 1)
    places = [(place * step, _PLOT_HEIGHT * (1 - value / highest)) for place, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    area = (
        f'<polygon points="0,{_PLOT_HEIGHT} {line} {places[-1][0]:.1f},{_PLOT_HEIGHT}" fill="{_OTHER}" opacity="0.3"/>'
    )
    picture = f'{area}<polyline points="{line}" fill="none" stroke="{_OTHER}" stroke-width="2"/>'
    uri = _data_uri(_PLOT_WIDTH, _PLOT_HEIGHT, picture)
    return f"![pages per second over time]({uri})\n\nup to {max(values):.2f} pages/s, {values[-1]:.2f} at the end"


def _data_uri(width: int, height: int, body: str) -> str:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{body}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
