"""What `pdfocr compare` shows, and how its prices are written."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.compare import Comparison, Side
from pdfocr_core.outputs.prices import Prices
from pdfocr_dagster.wording import duration, money, number, short

__all__ = ["comparison_tables", "parse_prices"]


def parse_prices(text: str | None) -> Prices:
    """`IN,OUT` or `IN,OUT,GPU_HOUR`: of a million tokens, and of one GPU for an hour.

    Raises:
        ConfigurationError: it is not of that form.
    """
    if text is None:
        return Prices()
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (2, 3) or not all(0 <= value < float("inf") for value in values):
        raise ConfigurationError(
            f"{text!r} are no prices.",
            remedy="Give IN,OUT of a million tokens, or IN,OUT,GPU_HOUR: 0.1,0.4 for example.",
        )
    return Prices(values[0], values[1], values[2] if len(values) == 3 else 0.0)


def comparison_tables(comparison: Comparison) -> RenderableType:
    """The figures side by side, then the pages that agree least."""
    if not comparison.pages:
        return Text(
            "No page was read in both workspaces. Pages are matched by the bytes of their documents: "
            "read the same files into both."
        )
    first, second = comparison.first, comparison.second
    table = Table("", short(first.workspace), short(second.workspace), box=SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.overflow = "fold"
    for name, one, other in zip(_NAMES, _figures(first, comparison), _figures(second, comparison), strict=True):
        table.add_row(name, Text(one), Text(other))
    agree = Text(
        f"{number(comparison.pages)} pages in both; agreement {comparison.mean or 0:.1%}, "
        f"{number(comparison.identical)} pages the same"
    )
    least = Table("least agreement", "page", "document", box=SIMPLE_HEAD)
    least.columns[2].overflow = "fold"
    for pair in comparison.least:
        least.add_row(f"{pair.agreement:.1%}", str(pair.first.page), Text(short(pair.url)))
    return Group(agree, table, least)


_NAMES = (
    *("model", "pages by status", "answers per page", "tokens in", "tokens out", "tokens out per page"),
    *("characters", "seconds of answers per page", "time of reading", "cost", "pages only here"),
)


def _figures(side: Side, comparison: Comparison) -> tuple[str, ...]:
    pages = comparison.pages
    return (
        ", ".join(side.models),
        ", ".join(f"{name} {number(count)}" for name, count in sorted(side.statuses.items())),
        f"{side.answers / pages:.2f}",
        number(side.tokens_in),
        number(side.tokens_out),
        f"{side.tokens_out / pages:.1f}",
        number(side.characters),
        f"{side.seconds / pages:.2f}",
        duration(side.reading_seconds),
        "no price set"
        if side.cost is None
        else f"{money(side.cost)} ({money(1000 * side.cost / pages)} for 1,000 pages)",
        number(side.only_here),
    )
