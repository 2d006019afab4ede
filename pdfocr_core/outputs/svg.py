"""Small charts as inline SVG: bars that carry their own labels. Colours are classes, so a style sheet themes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["bar_chart", "stacked_bar"]

_ROW, _LABEL, _VALUE, _WIDTH = 22, 190, 110, 640


def bar_chart(counts: Mapping[str, float], *, title: str, tone: str = "plain") -> str:
    """Horizontal bars, one for each count, with its number and its share of all."""
    total = sum(counts.values())
    highest = max(counts.values(), default=0) or 1
    room = _WIDTH - _LABEL - _VALUE
    rows = []
    for place, (name, count) in enumerate(counts.items()):
        y = place * _ROW
        width = max(count / highest * room, 2 if count else 0)
        share = f" · {count / total:.1%}" if total else ""
        rows.append(
            f'<text class="label" x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{_short(name)}</text>'
            f'<rect class="bar {escape(tone)}" x="{_LABEL}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 7}" rx="2"/>'
            f'<text class="value" x="{_LABEL + width + 6:.1f}" y="{y + 15}">{count:,.0f}{share}</text>'
        )
    return _svg(title, _WIDTH, max(len(counts), 1) * _ROW, "".join(rows))


def stacked_bar(parts: Sequence[tuple[str, float, str]], *, title: str, width: int = _WIDTH) -> str:
    """One bar of parts (name, count, tone) that add up to the whole; what is not there takes no room."""
    total = sum(count for _name, count, _tone in parts)
    x, drawn = 0.0, []
    for name, count, tone in parts:
        if count and total:
            length = count / total * width
            drawn.append(
                f'<rect class="bar {escape(tone)}" x="{x:.2f}" y="0" width="{max(length, 1):.2f}" height="18">'
                f"<title>{escape(name)}: {count:,.0f} ({count / total:.1%})</title></rect>"
            )
            x += length
    if not drawn:
        drawn.append(f'<rect class="bar none" x="0" y="0" width="{width}" height="18"/>')
    return _svg(title, width, 18, "".join(drawn))


def _svg(title: str, width: int, height: int, body: str) -> str:
    words = escape(title)
    return f'<svg role="img" aria-label="{words}" viewBox="0 0 {width} {height}" class="chart"><title>{words}</title>{body}</svg>'


def _short(name: str) -> str:
    """A label that fits; the whole of it shows under the mouse."""
    shown = name if len(name) <= 26 else f"{name[:25]}…"
    return f"{escape(shown)}<title>{escape(name)}</title>"
