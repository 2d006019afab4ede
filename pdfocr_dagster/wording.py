"""Numbers, times and places as people read them; the same in progress, summary and status."""

from __future__ import annotations

from pathlib import Path

__all__ = ["duration", "money", "number", "short"]


def number(value: float) -> str:
    """A count with separators."""
    return f"{value:,.0f}"


def money(value: float) -> str:
    """An amount in the currency of the prices; small ones keep their digits."""
    return f"{value:,.2f}" if value >= 1 or not value else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Minutes and seconds, with hours and days when there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours}:{minutes:02d} h"
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def short(url: str) -> str:
    """A local path as seen from here; anything else unchanged."""
    path = Path(url)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else url
