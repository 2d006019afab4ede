"""All tests on all pages of a candidate: a score per category, their mean, and how sure that is."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pdfocr_core.bench.candidates import Candidate, Spent, missing_pages
from pdfocr_core.bench.cases import Case
from pdfocr_core.bench.data import BenchData
from pdfocr_core.bench.judge import Formulas, Verdict, judge
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.prices import Prices

__all__ = ["Outcome", "Score", "Tally", "run_bench"]

_SAMPLES = 1000
_CONFIDENCE = 0.95
_NO_PRICES = Prices()
_SEED = 20  # the same results have the same interval


@dataclass(slots=True)
class Tally:
    """Tests counted; `total` are those that were run."""

    passed: int = 0
    total: int = 0
    not_run: int = 0

    def add(self, passed: bool | None) -> None:
        """Count one."""
        self.passed += passed is True
        self.total += passed is not None
        self.not_run += passed is None

    @property
    def rate(self) -> float | None:
        """The share that passed; None when none was run."""
        return self.passed / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test and what became of it over all readings of its page.

    Attributes:
        share: of the readings that passed; more than half of them must.
    """

    category: str
    case: Case
    passed: bool | None
    share: float = 0.0
    detail: str = ""


@dataclass(slots=True)
class Score:
    """A candidate's results.

    Attributes:
        score: mean over the categories, each counting the same; None while pages are missing or nothing was run.
        low, high: the bounds of its bootstrap interval at 95 %.
        missing: pages that were not read.
    """

    candidate: str
    categories: dict[str, Tally] = field(default_factory=dict)
    types: dict[str, Tally] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    score: float | None = None
    low: float | None = None
    high: float | None = None
    spent: Spent | None = None
    prices: Prices = _NO_PRICES

    @property
    def total(self) -> Tally:
        """All categories together."""
        tallies = self.categories.values()
        return Tally(*(sum(getattr(tally, name) for tally in tallies) for name in ("passed", "total", "not_run")))

    @property
    def complete(self) -> bool:
        """Whether the score may stand beside others."""
        return not self.missing and not self.total.not_run

    @property
    def cost(self) -> float | None:
        """Of reading the pages; None when no price is set or nobody wrote down what it took."""
        if self.spent is None or not self.prices.known:
            return None
        return self.prices.cost(self.spent.tokens_in, self.spent.tokens_out, self.spent.reading_seconds)

    @property
    def failures(self) -> list[Outcome]:
        """What did not pass, by page."""
        failed = [outcome for outcome in self.outcomes if outcome.passed is False]
        return sorted(failed, key=lambda outcome: (outcome.case.pdf, outcome.case.page))

    def to_json(self, *, outcomes: bool = False) -> dict[str, Any]:
        """Everything but the texts; single tests only when asked for."""
        total = self.total
        made: dict[str, Any] = {
            "candidate": self.candidate,
            "score": _rounded(self.score),
            "interval": [_rounded(self.low), _rounded(self.high)],
            "complete": self.complete,
            "passed": total.passed,
            "total": total.total,
            "not_run": total.not_run,
            "missing": self.missing,
            "categories": {name: _tally(tally) for name, tally in sorted(self.categories.items())},
            "types": {name: _tally(tally) for name, tally in sorted(self.types.items())},
            "spent": None if self.spent is None else asdict(self.spent),
            "cost": self.cost,
        }
        if outcomes:
            made["tests"] = [
                {
                    "id": outcome.case.id,
                    "category": outcome.category,
                    "type": outcome.case.type,
                    "pdf": outcome.case.pdf,
                    "page": outcome.case.page,
                    "passed": outcome.passed,
                    "share": round(outcome.share, 3),
                    "detail": outcome.detail,
                }
                for outcome in self.outcomes
            ]
        return made


def run_bench(
    data: BenchData,
    candidate: Candidate,
    formulas: Formulas | None,
    *,
    missing_as_empty: bool = False,
    prices: Prices = _NO_PRICES,
) -> Score:
    """Run every test.

    Args:
        data: the benchmark.
        candidate: who is judged.
        formulas: compares mathematics; see `judge`.
        missing_as_empty: count pages that were not read as empty; else a candidate that lacks some has no score.
        prices: for the cost of reading.

    Raises:
        ConfigurationError: a library that only benchmarks need is not installed.
    """
    _require_libraries()
    missing = missing_pages(candidate, data)
    made = Score(candidate.name, missing=missing, spent=candidate.spent, prices=prices)
    for category, case in data.cases():
        outcome = _outcome(category, case, candidate.texts(case.pdf, case.page) or [""], formulas)
        made.outcomes.append(outcome)
        made.categories.setdefault(category, Tally()).add(outcome.passed)
        made.types.setdefault(case.type, Tally()).add(outcome.passed)
    if missing_as_empty or not missing:
        rates = [tally.rate for tally in made.categories.values() if tally.rate is not None]
        if rates:
            made.score = sum(rates) / len(rates)
            made.low, made.high = _interval(list(made.categories.values()))
    return made


def _require_libraries() -> None:
    lacking = [name for name in ("bs4", "fuzzysearch") if importlib.util.find_spec(name) is None]
    if lacking:
        raise ConfigurationError(
            f"Not installed: {', '.join(lacking)}.", remedy="Install what benchmarks need: pip install 'pdfocr[bench]'."
        )


def _outcome(category: str, case: Case, texts: Sequence[str], formulas: Formulas | None) -> Outcome:
    verdicts = [judge(case, text, formulas) for text in texts]
    bad = next((verdict for verdict in verdicts if not verdict.passed), Verdict(True))
    if any(verdict.passed is None for verdict in verdicts):
        return Outcome(category, case, None, detail=bad.detail)
    share = sum(verdict.passed is True for verdict in verdicts) / len(verdicts)
    return Outcome(category, case, share > 0.5, share, bad.detail)


def _interval(tallies: Sequence[Tally]) -> tuple[float, float]:
    """Percentiles of the score over samples drawn with replacement inside each category."""
    import numpy as np

    chance = np.random.default_rng(_SEED)
    # So many tests drawn with replacement of which a share passes are a binomial draw.
    drawn = [
        chance.binomial(tally.total, tally.rate, _SAMPLES) / tally.total for tally in tallies if tally.rate is not None
    ]
    tail = (1 - _CONFIDENCE) / 2 * 100
    low, high = np.percentile(np.mean(drawn, axis=0), [tail, 100 - tail])
    return float(low), float(high)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _tally(tally: Tally) -> dict[str, Any]:
    return {**asdict(tally), "rate": _rounded(tally.rate)}
