"""The report as one HTML file that works from disk: no network, no script, all text escaped, light and dark."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pdfocr_core
from pdfocr_core.errors import is_filtered
from pdfocr_core.outputs.books import Books
from pdfocr_core.outputs.distributions import Distributions
from pdfocr_core.outputs.failures import Failures, retry_command
from pdfocr_core.outputs.pictures import DrawnPage
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.outputs.samples import SampledPage
from pdfocr_core.outputs.svg import bar_chart, stacked_bar

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["PageView", "environment", "page_frame", "render_html"]

_TEMPLATES = Path(__file__).parent / "templates"
_TEXT = 6000  # characters of a page's text that are shown
_ORDER = ("ok", "partial", "failed", "filtered", "skipped")
_TONES = {"ok": "good", "partial": "warn", "fallback": "warn", "failed": "bad", "blank": "plain", "pending": "none"}


@dataclass(frozen=True, slots=True)
class PageView:
    """A page that is shown.

    Attributes:
        kind: `worst`, `random` or `best`.
    """

    kind: str
    sampled: SampledPage
    drawn: DrawnPage

    @property
    def text(self) -> str:
        """What was read, cut where it is very long."""
        text = self.sampled.page.text
        return text if len(text) <= _TEXT else f"{text[:_TEXT]}\n[… {len(text) - _TEXT:,} more characters]"


@cache
def environment() -> Environment:
    """Templates of this folder; everything that is put into them is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = lambda value: f"{value:,.0f}"
    made.filters["span"] = _span
    made.filters["money"] = lambda value: f"{value:,.2f}" if value >= 1 or not value else f"{value:.4g}"
    return made


def page_frame() -> dict[str, str]:
    """The style sheet and a content security policy that allows it, pictures in the file, and nothing else."""
    css = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by pdfocr {pdfocr_core.__version__}"
    return {"css": css, "policy": policy, "made": made}


def render_html(
    workspace: str,
    books: Books,
    prices: Prices,
    distributions: Distributions,
    failures: Failures,
    views: list[PageView],
    retry_options: Sequence[str] = (),
) -> str:
    """The whole file; `retry_options` say in its commands who reads."""
    pages = {"ok": books.pages_ok, "fallback": books.pages_fallback, "blank": books.pages_blank}
    pages["failed"] = books.pages_failed
    ended = books.documents - books.pending
    documents = {name: books.by_status[name] for name in _ORDER if name in books.by_status} | {"pending": books.pending}
    charts = [
        ("Pages by language", bar_chart(_largest(books.languages), title="Pages by language")),
        ("Pages by where their text came from", bar_chart(books.methods, title="Pages by method")),
        ("Pages by answers asked for", bar_chart(books.attempts, title="Pages by answers asked for")),
        ("Bad answers by reason", bar_chart(_largest(books.retries), title="Bad answers by reason", tone="warn")),
        ("Documents by pages", bar_chart(distributions.pages, title="Documents by pages")),
        ("Documents by tokens out per page", bar_chart(distributions.tokens, title="Documents by tokens per page")),
        ("Documents by seconds of answers per page", bar_chart(distributions.seconds, title="Documents by seconds")),
    ]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            **page_frame(),
            workspace=workspace,
            books=books,
            verdict=_verdict(books),
            tone=_tone(books),
            ended=ended,
            document_bar=_bar("Documents", documents),
            page_bar=_bar("Pages", pages),
            document_parts=_parts(documents),
            page_parts=_parts(pages),
            cost=books.cost(prices),
            prices=prices,
            projection=books.projection(prices),
            charts=[(title, chart) for title, chart in charts if "<rect" in chart],
            failures=[(failure, retry_command(workspace, failure, retry_options)) for failure in failures.listed()],
            views=[(kind, [view for view in views if view.kind == kind]) for kind in ("worst", "random", "best")],
        )
    )


def _verdict(books: Books) -> str:
    if not books.balanced:
        return (
            f"The books do not balance: {books.missing} documents missing, {books.extra} too many, "
            f"{books.unbalanced} with pages that do not add up."
        )
    if not books.documents:
        return "Nothing has been indexed yet."
    if books.pending:
        return f"{books.documents - books.pending:,} of {books.documents:,} documents have been read so far."
    if not books.not_ok and not books.pages_failed:
        fallback = f", {books.pages_fallback:,} of them from the text layer" if books.pages_fallback else ""
        if books.filtered:
            wanted = books.documents - books.filtered
            return f"All {wanted:,} documents that no filter left out were read, {books.pages:,} pages{fallback}."
        return f"All {books.documents:,} documents were read, {books.pages:,} pages{fallback}."
    bad = {reason: count for reason, count in books.by_reason.items() if not is_filtered(reason)}
    why = ", ".join(f"{reason} {count:,}" for reason, count in _largest(bad, 3).items())
    left_out = f"; filters left out {books.filtered:,}" if books.filtered else ""
    return (
        f"{books.documents - books.not_ok - books.filtered:,} of {books.documents:,} documents are ok, {books.not_ok:,} "
        f"{'is' if books.not_ok == 1 else 'are'} not{f': {why}' if why else ''}{left_out}."
    )


def _tone(books: Books) -> str:
    if not books.balanced or books.by_status.get("failed", 0) * 2 > books.documents:
        return "bad"
    return "warn" if books.not_ok or books.pending else "good"


def _bar(title: str, counts: dict[str, int]) -> str:
    return stacked_bar([(name, count, _TONES.get(name, "plain")) for name, count in counts.items()], title=title)


def _parts(counts: dict[str, int]) -> list[tuple[str, int, str]]:
    return [(name, count, _TONES.get(name, "plain")) for name, count in counts.items() if count]


def _largest(counts: dict[str, int], most: int = 12) -> dict[str, int]:
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _name, count in order[most:])
    return dict(order[:most]) | ({"others": rest} if rest else {})


def _span(seconds: Any) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
