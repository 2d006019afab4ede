"""Several servers side by side: each with its own breaker, the least busy one first."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from pdfocr_core.serving.endpoint import Endpoint

__all__ = ["Lane", "Lanes"]

FAILURES_TO_OPEN = 5
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0


class Lane:
    """One endpoint with what is under way there.

    After several failures in a row the lane pauses; then a single request tries it, and its luck decides for the rest.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.outstanding = 0
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S
        self._open_until = 0.0
        self._hold_until = 0.0
        self._probing = False

    def opens_in(self, now: float) -> float:
        """Seconds until a request may go here; 0 for at once."""
        wait = max(self._open_until, self._hold_until) - now
        if wait <= 0 and self._probing:
            # Whoever is trying wakes the others; the number only bounds the sleep.
            return LONGEST_PAUSE_S
        return max(0.0, wait)

    @property
    def paused(self) -> bool:
        """Whether it failed too often in a row and has not answered since."""
        return self._failures >= FAILURES_TO_OPEN

    def enter(self) -> None:
        """A request goes out."""
        self.outstanding += 1
        self._probing = self.paused

    def leave(self) -> None:
        """A request is over, whatever came of it."""
        self.outstanding -= 1
        self._probing = False

    def succeeded(self) -> None:
        """It answered: open for everyone."""
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S
        self._open_until = 0.0

    def failed(self, now: float) -> None:
        """It did not answer as it should."""
        self._failures += 1
        # Of the many requests that fail together, only the first of them lengthens the pause.
        if self.paused and now >= self._open_until:
            self._open_until = now + self._pause_s
            self._pause_s = min(LONGEST_PAUSE_S, 2 * self._pause_s)

    def hold(self, until: float) -> None:
        """The server asked for a rest."""
        self._hold_until = max(self._hold_until, until)


class Lanes:
    """All endpoints of a client."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._changed = asyncio.Event()
        self._lanes: list[Lane] = []
        self.replace(endpoints)

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where requests go."""
        return [lane.endpoint for lane in self._lanes]

    def replace(self, endpoints: Sequence[Endpoint]) -> None:
        """Forget what is known of the old servers; what is under way there ends on its own."""
        if not endpoints:
            raise ValueError("a client needs an endpoint")
        self._lanes = [Lane(endpoint) for endpoint in endpoints]
        self.wake()

    def pick(self, now: float) -> Lane | None:
        """The least busy open lane, entered; None while all are paused."""
        open_lanes = [lane for lane in self._lanes if lane.opens_in(now) <= 0]
        if not open_lanes:
            return None
        lane = min(open_lanes, key=lambda candidate: candidate.outstanding)
        lane.enter()
        return lane

    def opens_in(self, now: float) -> float:
        """Seconds until some lane opens."""
        return min(lane.opens_in(now) for lane in self._lanes)

    def wake(self) -> None:
        """Something changed for the better: those who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Sleep, but not past the next change for the better."""
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await changed.wait()
