"""How many pages should be in flight: follows the engine, look by look.

A pure calculation: the pilot feeds it with what it saw and applies what comes out, so it can be tested in virtual time.

The limit doubles while the engine shows no standing queue and throughput still rises, then goes up in steps as long as
each step pays. It never grows before as many answers as the limit have come since its last change: pictures that the
server has not worked off yet are in no gauge. An engine that says that it runs all it was sent, and has room in its cache
for as much again, need not be waited for: there it doubles at every look. It is halved when the server says that it is
too much.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pdfocr_core.serving.metrics import Load

__all__ = ["BoundBy", "Look", "WindowControl"]

_WORTH = 1.05  # a larger window pays when it raises throughput by this factor
_PRESSURE_SHARE = 0.05  # of all outcomes since the last look
_FULL_CACHE = 0.9
_HALF_A_CACHE = 0.5
_ALL = 0.9  # of the pages in flight; some are on their way
_STANDING_LOOKS = 2  # looks in a row with a queue, before it counts as a standing one
_UNSEEN_LOOKS = 3  # looks in a row with pages that the engine has not even queued
_LONG_QUEUE = 0.5  # waiting over running …
_LEAST_LONG = 8.0  # … but never so few
_FIRST_PAUSE = 4  # rounds on a plateau before a step is tried again; doubled each time it is in vain
_LONGEST_PAUSE = 64


class BoundBy:
    """What keeps the pages from going faster, in words for people."""

    RENDERING = "rendering"
    BYTES = "picture bytes"
    ENGINE = "engine"
    PREPROCESSING = "the server's preprocessing"
    PRESSURE = "back-pressure"
    CACHE = "token cache"
    LIMIT = "largest window"
    STARTING = "answers still to come"


@dataclass(frozen=True, slots=True)
class Look:
    """What is to be seen at one moment.

    Attributes:
        at: seconds on a clock that never goes back.
        in_flight: pages sent and not answered.
        answered: completions since the start.
        pressure: answers that said "too much" since the start.
        held_by_bytes: whether pages wait only because the pictures in flight are as large as they may be.
        load: what the server tells of itself.
    """

    at: float
    in_flight: int
    answered: int
    pressure: int = 0
    held_by_bytes: bool = False
    load: Load = field(default_factory=Load)

    @property
    def seen(self) -> float | None:
        """Requests that the engine knows of."""
        if self.load.running is None:
            return None
        return self.load.running + (self.load.waiting or 0.0)


class WindowControl:
    """The limit and the reasons for it.

    Args:
        initial: pages at the start.
        minimum: never fewer.
        maximum: never more.
    """

    def __init__(self, *, initial: int, maximum: int, minimum: int = 1) -> None:
        self.minimum, self.maximum = minimum, max(minimum, maximum)
        self.limit = min(max(initial, minimum), self.maximum)
        self.bound_by = BoundBy.STARTING
        self._doubling = True
        self._last: Look | None = None
        self._since: Look | None = None  # when the limit last changed, or the round was last closed
        self._former: tuple[int, float] | None = None  # the limit before the last growth, and what it brought
        self._queued = self._unseen = 0
        self._pause = _FIRST_PAUSE
        self._rounds_to_wait = 0

    @property
    def preprocessing_bound(self) -> bool:
        """Whether pages sit in the server without the engine knowing of them."""
        return self._unseen >= _UNSEEN_LOOKS

    def update(self, look: Look, *, may_grow: bool = True) -> int:
        """The limit after this look."""
        last, self._last = self._last, look
        if last is None or self._since is None or _restarted(last.load, look.load):
            self._start_round(look)
            return self.limit
        if self._too_much(last, look):
            self._halve(look)
            return self.limit
        self._count_signs(look)
        self.bound_by = self._reason(look)
        if may_grow and self._has_room(look):
            self._former = None  # its answers are still to come
            self._change(look, min(self.maximum, 2 * self.limit))
        elif may_grow and self._round_is_over(look):
            self._adjust(look)
        return self.limit

    def _has_room(self, look: Look) -> bool:
        """Whether the engine runs all pages of a full window already and could hold twice as many."""
        running, cache = look.load.running, look.load.kv_cache_usage
        if running is None or cache is None or not self._doubling or look.in_flight < self.limit:
            return False
        return running >= _ALL * look.in_flight and not self._queued and cache < _HALF_A_CACHE

    def _too_much(self, last: Look, look: Look) -> bool:
        pressure, answered = look.pressure - last.pressure, look.answered - last.answered
        if pressure > 0 and pressure >= _PRESSURE_SHARE * (pressure + answered):
            self.bound_by = BoundBy.PRESSURE
            return True
        preempted = (look.load.preemptions or 0) > (last.load.preemptions or 0)
        if preempted and (look.load.kv_cache_usage or 0.0) >= _FULL_CACHE:
            self.bound_by = BoundBy.CACHE
            return True
        return False

    def _halve(self, look: Look) -> None:
        """Once for all the trouble of one round; the same pages would otherwise count again and again."""
        assert self._since is not None  # noqa: S101 - set by the first look
        outcomes = look.answered - self._since.answered + look.pressure - self._since.pressure
        if self._former is not None or self._doubling or outcomes >= self.limit:
            self._doubling, self._former = False, None
            self._change(look, max(self.minimum, min(self.limit, max(look.in_flight, 1)) // 2))
            self._rounds_to_wait = self._pause = _FIRST_PAUSE

    def _count_signs(self, look: Look) -> None:
        self._queued = self._queued + 1 if (look.load.waiting or 0.0) >= 1 else 0
        unseen = look.seen is not None and look.in_flight >= 8 and look.seen < look.in_flight / 2
        self._unseen = self._unseen + 1 if unseen else 0

    def _reason(self, look: Look) -> str:
        if look.in_flight < self.limit:
            return BoundBy.BYTES if look.held_by_bytes else BoundBy.RENDERING
        if self.preprocessing_bound:
            return BoundBy.PREPROCESSING
        if self.limit == self.maximum and not self._queued:
            return BoundBy.LIMIT
        return BoundBy.ENGINE

    def _round_is_over(self, look: Look) -> bool:
        assert self._since is not None  # noqa: S101 - set by the first look
        return look.answered - self._since.answered >= self.limit and look.at > self._since.at

    def _adjust(self, look: Look) -> None:
        """One decision for each round of answers."""
        former, self._former = self._former, None
        if look.in_flight < self.limit:
            # More places would stay empty as well; what was measured says nothing about the limit.
            self._start_round(look)
            return
        rate = self._rate(look)
        paid = former is None or rate >= _WORTH * former[1]
        standing = self._queued >= _STANDING_LOOKS
        self._doubling &= paid and not standing
        if standing and (look.load.waiting or 0.0) > max(_LEAST_LONG, _LONG_QUEUE * (look.load.running or 0.0)):
            self._change(look, max(self.minimum, self.limit - self._step()))
        elif former is not None and not paid:
            # Taken back, and a step is tried again after a while, later each time.
            self._rounds_to_wait = self._pause
            self._pause = min(_LONGEST_PAUSE, 2 * self._pause)
            self._change(look, former[0])
        elif self.preprocessing_bound or self._rounds_to_wait > 0:
            self._rounds_to_wait = max(0, self._rounds_to_wait - 1)
            self._start_round(look)
        else:
            if former is not None:
                self._pause = _FIRST_PAUSE
            self._grow(look, 2 * self.limit if self._doubling else self.limit + self._step(), rate)

    def _grow(self, look: Look, limit: int, rate: float) -> None:
        if self.limit < self.maximum:
            self._former = (self.limit, rate)
        self._change(look, min(self.maximum, limit))

    def _step(self) -> int:
        return max(1, self.limit // 8)

    def _rate(self, look: Look) -> float:
        """What got done since the last change: tokens where the server counts them, since pages differ in length."""
        since = self._since
        assert since is not None  # noqa: S101 - set by the first look
        seconds = look.at - since.at
        before, after = since.load.generation_tokens, look.load.generation_tokens
        done = look.answered - since.answered if before is None or after is None else after - before
        return done / seconds

    def _change(self, look: Look, limit: int) -> None:
        self.limit = limit
        self._start_round(look)

    def _start_round(self, look: Look) -> None:
        self._since = replace(look)


def _restarted(before: Load, after: Load) -> bool:
    """Whether the server's counters began anew."""
    return (after.generation_tokens or 0.0) < (before.generation_tokens or 0.0)
