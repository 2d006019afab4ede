"""Brings a server back that died or got stuck, within a budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from pdfocr_core.errors import ServerUnavailable
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.server import InferenceServer

__all__ = ["KeepAlive"]

HEALTH_TRIES = 6
HEALTH_PAUSE_S = 2.0
TAIL_LINES = 30

logger = logging.getLogger("pdfocr.server")


class KeepAlive:
    """What the client calls when a server does not answer.

    Args:
        server: whose life is kept; one that someone else runs is only waited for.
        restarts: how often in the whole run it may be started again.
        ending: whether the run is about to end: a start would take longer than it has left.
    """

    def __init__(
        self, server: InferenceServer, *, restarts: int = 5, ending: Callable[[], bool] = lambda: False
    ) -> None:
        self._server, self._ending = server, ending
        self._budget = restarts
        self.restarts = 0

    async def ensure(self, *, stuck: bool = False) -> tuple[Endpoint, ...] | None:
        """Look after the server; return its endpoints when it was started again, None when it was left alone.

        Args:
            stuck: requests wait and nothing at all gets done, so its being alive is no excuse.

        Raises:
            ServerUnavailable: the budget is spent, or the run is ending.
            ConfigurationError: it cannot start any more as it is configured.
        """
        if not self._server.restartable:
            return None
        if not await asyncio.to_thread(self._server.running):
            return await self._restart("ended")
        if stuck:
            return await self._restart("does not get on")
        for _ in range(HEALTH_TRIES):
            if await asyncio.to_thread(self._server.alive):
                return None
            if not await asyncio.to_thread(self._server.running):
                return await self._restart("ended")
            await asyncio.sleep(HEALTH_PAUSE_S)
        return await self._restart("does not answer its health check")

    async def _restart(self, why: str) -> tuple[Endpoint, ...]:
        if self._ending():
            raise ServerUnavailable(f"The server {why} while the run was told to end.")
        log = "\n".join(f"    {line}" for line in self._server.tail(TAIL_LINES))
        while self.restarts < self._budget:
            self.restarts += 1
            logger.warning(
                "The server %s; starting it again (%d of %d). The end of its log:\n%s",
                why,
                self.restarts,
                self._budget,
                log,
            )
            try:
                return await self.start_again()
            except ServerUnavailable as error:
                why, log = "did not start again", f"    {error}"
        raise ServerUnavailable(
            f"The server {why}, after {self.restarts} restarts. The end of its log:\n{log}\n",
            remedy="What was committed stays; the same command goes on from there.",
        )

    async def start_again(self) -> tuple[Endpoint, ...]:
        """End the server and start it; takes nothing from the budget.

        Raises:
            ServerUnavailable: it did not start.
            ConfigurationError: it cannot start any more as it is configured.
        """
        try:
            await asyncio.to_thread(self._server.restart)
            return await asyncio.to_thread(self._server.endpoints)
        except asyncio.CancelledError:
            # The thread cannot be cancelled, but a start gives up when the server is stopped.
            await asyncio.to_thread(self._server.stop)
            raise
