"""Keeps requests within what a service allows in a minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

__all__ = ["Pace", "Turn"]

MINUTE_S = 60.0
# Less would only spin; a service counts no finer than this.
LEAST_WAIT_S = 0.02


@dataclass(slots=True)
class Turn:
    """One request; `tokens` is what it took, in and out."""

    tokens: int = 0


class Pace:
    """Limits on requests and tokens over any minute.

    What an answer takes is known only afterwards, so each request under way is counted with the mean of those before.

    Args:
        requests: sent in a minute at most; None for no limit.
        tokens: in and out, in a minute at most; None for no limit.
        clock: seconds that never go back.
    """

    def __init__(
        self, requests: int | None = None, tokens: int | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._requests, self._tokens, self._clock = requests, tokens, clock
        self._sent: deque[float] = deque()
        self._used: deque[tuple[float, int]] = deque()
        self._used_total = 0
        self._under_way = 0
        self._answers = self._answer_tokens = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait until one more request may go; what it took is to be written into the turn."""
        await self.enter()
        turn = Turn()
        try:
            yield turn
        finally:
            self.leave(turn.tokens)

    async def enter(self) -> None:
        """Wait until one more request may go, and count it."""
        while (wait := self.wait_s()) > 0:  # noqa: ASYNC110 - time passes by itself, nobody could tell
            await asyncio.sleep(max(LEAST_WAIT_S, wait))
        self._sent.append(self._clock())
        self._under_way += 1

    def leave(self, tokens: int) -> None:
        """A request is over and took this many tokens; 0 when it failed."""
        self._under_way -= 1
        if tokens:
            self._used.append((self._clock(), tokens))
            self._used_total += tokens
            self._answers += 1
            self._answer_tokens += tokens

    def wait_s(self) -> float:
        """Seconds until one more request may go; 0 for at once."""
        now = self._clock()
        while self._sent and self._sent[0] <= now - MINUTE_S:
            self._sent.popleft()
        while self._used and self._used[0][0] <= now - MINUTE_S:
            self._used_total -= self._used.popleft()[1]
        waits = [0.0]
        if self._requests is not None and len(self._sent) >= self._requests:
            waits.append(self._sent[-self._requests] + MINUTE_S - now)
        if self._tokens is not None:
            waits.append(self._tokens_wait(self._tokens, now))
        return max(waits)

    def _tokens_wait(self, allowed: int, now: float) -> float:
        mean = self._answer_tokens / self._answers if self._answers else 0.0
        over = self._used_total + (self._under_way + 1) * mean - allowed
        # Whatever the limit, one request at a time may go once the minute before it is clear.
        if over <= 0 or (not self._used and not self._under_way):
            return 0.0
        for used_at, tokens in self._used:
            over -= tokens
            if over <= 0:
                return used_at + MINUTE_S - now
        # Those under way are too many already: what they really take will be seen.
        return self._used[-1][0] + MINUTE_S - now if self._used and not self._under_way else 1.0
