"""Counters of a run, for progress displays and metadata. Cheap enough to update for every page."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pdfocr_core.records import PageRecord, PageStatus

__all__ = ["Sample", "Telemetry"]

_RECENT_S = 60.0
_SAMPLES = 600  # above this, every other one is dropped


@dataclass(frozen=True, slots=True)
class Sample:
    """How a run went at one moment; None for what the server does not tell.

    Attributes:
        at_s: seconds since the run's start.
        limit: pages that may be in flight.
        in_flight: pages that are.
        running: requests that the engine computes.
        waiting: requests in the engine's queue.
        kv_cache_usage: used share of its cache of tokens.
        pages_per_s: over the last minute.
        tokens_per_s: the same, of output.
        bound_by: what keeps it from going faster.
    """

    at_s: float
    limit: int
    in_flight: int
    running: float | None
    waiting: float | None
    kv_cache_usage: float | None
    pages_per_s: float
    tokens_per_s: float
    bound_by: str


@dataclass(slots=True)
class Telemetry:
    """What a run has done so far.

    Written by the flow's event loop, read by any thread: every field is a plain number or a counter.

    Attributes:
        pages_total: pages of the groups of this run as far as they are known.
        in_flight: pages sent to the server and not answered yet.
        reused_pages: pages taken from checkpoints, committed groups or equal documents.
        phase: what the run is doing, for people.
        failures: documents and pages that did not end well, by reason.
        retries: answers that were bad and are asked for again, by reason.
        price_in: of a million tokens in.
        price_out: of a million tokens out.
        seconds: by stage, summed over everything that was in that stage at the same time.
        samples: how the window and the server did over time, thinned out as a run gets long.
    """

    phase: str = "starting"
    groups_total: int = 0
    groups_done: int = 0
    documents_total: int = 0
    documents_done: int = 0
    pages_total: int = 0
    pages: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    retries: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    reused_pages: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    in_flight: int = 0
    price_in: float = 0.0
    price_out: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    _planned: bool = False
    _recent: deque[_Second] = field(default_factory=deque)

    @property
    def pages_done(self) -> int:
        """Pages with a record, whatever it says."""
        return self.pages.total() + self.reused_pages

    def count(self, record: PageRecord) -> None:
        """Add one page that was read now."""
        self.pages[record.status.value] += 1
        self.methods[record.method.value] += 1
        # All but the last bad answer were asked for again; that one, too, when another came to be accepted.
        bad = [attempt.reason for attempt in record.attempts if attempt.reason]
        self.retries.update(bad if record.status is PageStatus.OK else bad[:-1])
        if record.reason:
            self.failures[record.reason] += 1
        self.attempts += len(record.attempts)
        self.add_seconds("server", sum(attempt.seconds for attempt in record.attempts))
        self.prompt_tokens += record.prompt_tokens
        self.completion_tokens += record.completion_tokens
        now = time.monotonic()
        if not self._recent or now - self._recent[-1].since >= 1.0:
            self._recent.append(_Second(now))
        self._recent[-1].pages += 1
        self._recent[-1].tokens += record.completion_tokens
        while self._recent[0].since < now - _RECENT_S:
            self._recent.popleft()

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the wall time of what is inside to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add_seconds(stage, time.perf_counter() - started)

    def add_seconds(self, stage: str, seconds: float) -> None:
        """Add time that was measured elsewhere."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def plan(self, groups: int, documents: int, pages: int) -> None:
        """Set the totals for all that will be read, before the first group starts."""
        self.groups_total, self.documents_total, self.pages_total = groups, documents, pages
        self._planned = True

    def expect_groups(self, groups: int) -> None:
        """These many groups are on their way, unless they were planned already."""
        if not self._planned:
            self.groups_total += groups

    def expect(self, documents: int, pages: int) -> None:
        """A group starts, unless it was planned already."""
        if not self._planned:
            self.documents_total += documents
            self.pages_total += pages

    @property
    def cost(self) -> float | None:
        """The price of all tokens so far; None when no price is set."""
        if not (self.price_in or self.price_out):
            return None
        return (self.prompt_tokens * self.price_in + self.completion_tokens * self.price_out) / 1e6

    def add_sample(self, sample: Sample) -> None:
        """Keep a sample; a long run keeps fewer of each hour."""
        self.samples.append(sample)
        if len(self.samples) > _SAMPLES:
            # A new list, so that other threads see the old one or the new one whole.
            self.samples = self.samples[::2]

    def samples_of_last(self, seconds: float) -> list[Sample]:
        """The samples of that time up to now."""
        since = time.monotonic() - self.started - seconds
        return [sample for sample in self.samples if sample.at_s >= since]

    def rates(self) -> tuple[float, float]:
        """Pages and output tokens per second over the last minute (or since the start, if that is shorter)."""
        now = time.monotonic()
        recent = [second for second in list(self._recent) if second.since >= now - _RECENT_S]
        seconds = max(min(_RECENT_S, now - self.started), 1e-9)
        return sum(second.pages for second in recent) / seconds, sum(second.tokens for second in recent) / seconds

    def overall_rates(self) -> tuple[float, float]:
        """The same since the start."""
        seconds = max(time.monotonic() - self.started, 1e-9)
        return self.pages.total() / seconds, self.completion_tokens / seconds

    def seconds_left(self) -> float | None:
        """An estimate from the recent rate, else the overall one; None when nothing can be said."""
        pages_per_s = self.rates()[0] or self.overall_rates()[0]
        left = self.pages_total - self.pages_done
        return left / pages_per_s if pages_per_s > 0 and left >= 0 and self.pages_total else None


@dataclass(slots=True)
class _Second:
    """What came in one second; a minute of these is kept, however fast pages come."""

    since: float
    pages: int = 0
    tokens: int = 0
