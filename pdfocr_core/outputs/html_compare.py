"""A comparison as one HTML file: the figures side by side, then the pages that agree least with their differences."""

from __future__ import annotations

import re

from pdfocr_core.outputs.compare import Comparison, PagePair, Side
from pdfocr_core.outputs.html_report import environment, page_frame
from pdfocr_core.outputs.svg import bar_chart

__all__ = ["comparison_html", "difference"]

_MOST_WORDS = 3000  # of each text; the rest is not shown

Segment = tuple[str, str]


def comparison_html(comparison: Comparison) -> str:
    """The whole file; no network, no script, all text escaped."""
    counts = {
        f"{tenth * 10} to {tenth * 10 + 10}%": count for tenth, count in enumerate(comparison.agreements) if count
    }
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            **page_frame(),
            comparison=comparison,
            sides=(comparison.first, comparison.second),
            chart=bar_chart(counts, title="Pages by agreement"),
            rates=[_per_page(side, comparison.pages) for side in (comparison.first, comparison.second)],
            pairs=[(pair, *_sides(pair)) for pair in comparison.least],
        )
    )


def difference(first: str, second: str) -> tuple[list[Segment], list[Segment]]:
    """Both texts in segments: `same`, and `del` for what only the first has or `ins` for what only the second has."""
    from rapidfuzz.distance import Indel

    one, other = _pieces(first), _pieces(second)
    left: list[Segment] = []
    right: list[Segment] = []
    for step in Indel.opcodes([piece.strip() for piece in one], [piece.strip() for piece in other]):
        taken = "".join(one[step.src_start : step.src_end])
        put = "".join(other[step.dest_start : step.dest_end])
        if taken:
            left.append(("same" if step.tag == "equal" else "del", taken))
        if put:
            right.append(("same" if step.tag == "equal" else "ins", put))
    return left, right


def _pieces(text: str) -> list[str]:
    """Words, each with the white space after it, so that joined they are the text."""
    pieces = re.findall(r"\s*\S+\s*", text)
    return (
        pieces if len(pieces) <= _MOST_WORDS else [*pieces[:_MOST_WORDS], f"[… {len(pieces) - _MOST_WORDS} more words]"]
    )


def _sides(pair: PagePair) -> tuple[list[Segment], list[Segment]]:
    return difference(pair.first.text, pair.second.text)


def _per_page(side: Side, pages: int) -> dict[str, float]:
    count = pages or 1
    return {
        "tokens": side.tokens_out / count,
        "seconds": side.seconds / count,
        "answers": side.answers / count,
        "cost": 1000 * (side.cost or 0) / count,
    }
