"""The hot path: sends finished request bodies and waits out whatever trouble the servers have.

A page pays only for what is its own fault. Connection errors, time-outs, 429, 5xx, answers cut short: all of it is asked
again, here, for as long as anything at all gets done.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import aiohttp

from pdfocr_core.errors import ConfigurationError, PageError, Reason, ServerUnavailable
from pdfocr_core.serving.answers import Answer, Kind, Trouble
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.gate import Gate
from pdfocr_core.serving.lanes import Lane, Lanes
from pdfocr_core.serving.metrics import Load, parse_metrics, total
from pdfocr_core.serving.pace import Pace
from pdfocr_core.serving.streaming import receive
from pdfocr_core.serving.transport import Transport, trouble_of

__all__ = ["Answer", "ChatClient", "Counts", "Recover"]

FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 30.0
LONGEST_LANE_WAIT_S = 5.0
METRICS_TIMEOUT_S = 5.0
# This many failed answers to one page, each with another page's success between, are the page's own fault …
REFUSALS = 8
# … and so are the failures of the last pages left, unless it happens to more of them than this in a row.
LAST_PAGES = 3
# A page that was under way at so many deaths of the server is next asked alone.
DEATHS_BEFORE_ALONE = 2

logger = logging.getLogger("pdfocr.client")


class Recover(Protocol):
    """Called when a server does not answer; returns the endpoints if it was started again."""

    async def __call__(self, *, stuck: bool = False) -> Sequence[Endpoint] | None:
        """Look after the server."""


@dataclass(slots=True)
class Counts:
    """What a client has done so far.

    Attributes:
        sent: requests, all repetitions included.
        answered: completions that came back whole.
        retried: requests that were repeated for the server's own trouble.
        back_pressure: of these, the ones that say "too much" (429, 5xx, time-outs).
    """

    sent: int = 0
    answered: int = 0
    retried: int = 0
    back_pressure: int = 0


@dataclass(slots=True)
class _Asking:
    """One page's request over all its repetitions."""

    tries: int = 0
    failures: int = 0
    blame: int = 0
    deaths: int = 0
    answered_before: int = 0
    detail: str = ""


class ChatClient:
    """An OpenAI-compatible client over one or several servers; use it as an async context manager.

    Args:
        endpoints: where to send; all serve the same model.
        max_connections: requests in flight at most.
        request_timeout_s: one answer, from sending to its end.
        patience_s: how long no page at all may succeed before the servers count as gone.
        connect_timeout_s: making a connection.
        verify: TLS verification; a path names a bundle of trusted certificates.
        on_unreachable: told when a server does not answer, so that its owner can start it again.
        first_delay_s: the wait before the first repetition; doubled each time.
        pace: what the service allows in a minute; None: anything.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        max_connections: int = 512,
        request_timeout_s: float = 900.0,
        patience_s: float = 900.0,
        connect_timeout_s: float = 10.0,
        verify: bool | str = True,
        on_unreachable: Recover | None = None,
        first_delay_s: float = FIRST_DELAY_S,
        pace: Pace | None = None,
    ) -> None:
        self.counts = Counts()
        self._lanes = Lanes(endpoints)
        self._gate = Gate(max_connections)
        self._pace = pace or Pace()
        self._request_timeout_s = request_timeout_s
        self._patience_s = patience_s
        self._on_unreachable = on_unreachable
        self._first_delay_s = first_delay_s
        self._transport = Transport(connect_timeout_s, verify)
        self._trouble_since: float | None = None
        self._verdicts = 0
        self._deaths = 0
        self._models: dict[str, str] = {}
        self._recovery: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; a recovery that is under way is given up."""
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
        await self._transport.aclose()

    async def ask(self, body: bytes) -> Answer:
        """Send one finished JSON body to `/chat/completions` and return the completion.

        Raises:
            PageError: the server refuses this request, now and always.
            ConfigurationError: URL, key or model is wrong.
            ServerUnavailable: no page succeeded for `patience_s`, or the server cannot be brought back.
        """
        asking = _Asking()
        while True:
            alone = asking.deaths >= DEATHS_BEFORE_ALONE
            async with self._gate.alone() if alone else self._gate.shared(), self._pace.turn() as turn:
                lane = await self._open_lane(asking)
                deaths, answered, sent_at = self._deaths, self.counts.answered, time.monotonic()
                try:
                    answer = await self._send(lane, body)
                    turn.tokens = answer.prompt_tokens + answer.completion_tokens
                    return answer
                except Trouble as error:
                    trouble = error
                await self._note(lane, trouble, stuck=self._is_stuck(trouble, answered, sent_at))
                if self._deaths > deaths:
                    asking.deaths += 1
                    if alone:
                        raise PageError(
                            Reason.REFUSED_BY_SERVER,
                            f"the server died {asking.deaths} times while it read this page, the last time alone",
                        )
            await self._wait_to_repeat(asking, trouble)

    async def while_nobody_asks(self, start_again: Callable[[], Awaitable[Sequence[Endpoint]]]) -> None:
        """Let requests under way end, hold the next ones back, and send those to where the server answers then."""
        async with self._gate.alone():
            self._lanes.replace(await start_again())

    async def metrics(self) -> Load:
        """The servers' load; fields are None where none of them tells."""
        return total(await asyncio.gather(*(self._load(endpoint) for endpoint in self._lanes.endpoints)))

    async def _open_lane(self, asking: _Asking) -> Lane:
        while True:
            now = time.monotonic()
            if (lane := self._lanes.pick(now)) is not None:
                return lane
            wait = min(self._lanes.opens_in(now), LONGEST_LANE_WAIT_S)
            if asking.tries:
                # A page that was not asked yet has its try, whatever its predecessors met.
                self._check_patience(asking, now)
                wait = min(wait, self._patience_left(now))
            await self._lanes.wait(max(0.01, wait))

    async def _send(self, lane: Lane, body: bytes) -> Answer:
        self.counts.sent += 1
        started = time.monotonic()
        endpoint = lane.endpoint
        headers = {**endpoint.request_headers(), "content-type": "application/json"}
        try:
            async with asyncio.timeout(self._request_timeout_s):
                url = endpoint.url("chat/completions")
                async with self._transport.post(endpoint, url, body, headers) as response:
                    answer = await receive(endpoint, response, started)
            self._check_model(endpoint, answer)
        except aiohttp.ClientError as error:
            # Before the time-out: making a connection has a clock of its own, and its error is of both kinds.
            raise trouble_of(endpoint, error) from None
        except TimeoutError:
            used = f"no complete answer after {time.monotonic() - started:.1f} s"
            raise Trouble(Kind.TIMEOUT, f"{used}; request_timeout_s allows {self._request_timeout_s:g} s") from None
        except PageError:
            self._note_success(lane)
            raise
        finally:
            lane.leave()
        self.counts.answered += 1
        self._note_success(lane)
        return answer

    def _check_model(self, endpoint: Endpoint, answer: Answer) -> None:
        """A collection is read by one model: see that nobody puts another one behind the same address meanwhile."""
        known = self._models.setdefault(endpoint.label, answer.model)
        if known != answer.model:
            raise ConfigurationError(
                f"{endpoint.label} answered as {known} before and as {answer.model} now.",
                remedy="See to the server and run again: what was read is kept and is not read again.",
            )

    def _note_success(self, lane: Lane) -> None:
        """The server answers; that it refused a page is an answer too."""
        waking = lane.paused
        lane.succeeded()
        self._trouble_since = None
        self._verdicts = 0
        if waking:
            self._lanes.wake()

    async def _note(self, lane: Lane, trouble: Trouble, *, stuck: bool) -> None:
        """Draw the consequences for the server: its breaker, its rest, its being brought back."""
        now = time.monotonic()
        self.counts.retried += 1
        if trouble.kind in {Kind.TIMEOUT, Kind.OVERLOADED, Kind.FAILED}:
            self.counts.back_pressure += 1
        if self._trouble_since is None:
            self._trouble_since = now
        if trouble.retry_after_s:
            lane.hold(now + min(trouble.retry_after_s, self._patience_left(now)))
        if trouble.kind is Kind.OVERLOADED:
            return
        lane.failed(now)
        logger.debug("%s: %s", lane.endpoint.label, trouble.detail)
        if trouble.kind in {Kind.UNREACHABLE, Kind.TIMEOUT} or lane.paused:
            await self._recover(stuck=stuck)

    def _is_stuck(self, trouble: Trouble, answered: int, sent_at: float) -> bool:
        """Whether nothing at all got done while a request waited its full time."""
        waited = time.monotonic() - sent_at >= self._request_timeout_s
        return trouble.kind is Kind.TIMEOUT and waited and self.counts.answered == answered

    async def _recover(self, *, stuck: bool) -> None:
        """Have the server looked after, once for all requests that found it wanting."""
        if self._on_unreachable is None:
            return
        if self._recovery is None or self._recovery.done():
            self._recovery = asyncio.create_task(self._run_recovery(self._on_unreachable, stuck))
            # Its error is looked at here too, should everyone who waited for it be gone.
            self._recovery.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Shielded: the others go on waiting for it when one of them is cancelled.
        await asyncio.shield(self._recovery)

    async def _run_recovery(self, recover: Recover, stuck: bool) -> None:
        endpoints = await recover(stuck=stuck)
        if endpoints is not None:
            self._deaths += 1
            self._trouble_since = None
            self._lanes.replace(endpoints)

    async def _wait_to_repeat(self, asking: _Asking, trouble: Trouble) -> None:
        asking.tries += 1
        asking.detail = trouble.detail
        if trouble.kind in {Kind.FAILED, Kind.BROKEN, Kind.TIMEOUT}:
            asking.failures += 1
            if self.counts.answered > asking.answered_before:
                asking.blame += 1
                asking.answered_before = self.counts.answered
            if asking.blame >= REFUSALS:
                raise self._verdict(asking)
        now = time.monotonic()
        self._check_patience(asking, now)
        delay = min(LONGEST_DELAY_S, self._first_delay_s * 2.0 ** min(asking.tries - 1, 16))
        # The jitter keeps requests that failed together from coming back together.
        delay *= random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it
        if trouble.retry_after_s:
            await asyncio.sleep(min(max(delay, trouble.retry_after_s), self._patience_left(now)))
        else:
            await self._lanes.wait(min(delay, self._patience_left(now)))

    def _patience_left(self, now: float) -> float:
        since = self._trouble_since
        # While the server is being brought back, its owner's time-outs count, not ours.
        recovering = self._recovery is not None and not self._recovery.done()
        return self._patience_s if since is None or recovering else max(0.0, since + self._patience_s - now)

    def _check_patience(self, asking: _Asking, now: float) -> None:
        if self._patience_left(now) > 0:
            return
        if self.counts.answered and asking.failures >= REFUSALS and self._verdicts < LAST_PAGES:
            self._verdicts += 1
            raise self._verdict(asking)
        places = ", ".join(endpoint.label for endpoint in self._lanes.endpoints)
        used = now - self._trouble_since if self._trouble_since is not None else self._patience_s
        raise ServerUnavailable(
            f"No page succeeded at {places} for {used:.1f} s; server_patience_s allows {self._patience_s:g} s. "
            f"Last seen: {asking.detail or 'no answer'}.",
            remedy="See to the server and run again: what was committed stays.",
        )

    @staticmethod
    def _verdict(asking: _Asking) -> PageError:
        return PageError(
            Reason.REFUSED_BY_SERVER,
            f"the server failed {asking.failures} times on this page while others went well; last: {asking.detail}",
        )

    async def _load(self, endpoint: Endpoint) -> Load:
        url, headers = endpoint.root_url("metrics"), endpoint.request_headers()
        text = await self._transport.get_text(endpoint, url, headers, METRICS_TIMEOUT_S)
        return Load() if text is None else parse_metrics(text)
