"""Planned restarts of the run's own server: what it holds of the host's memory grows with the pictures it has seen.

They cost loading time and nothing else: requests under way are let end, the next ones wait, no page is charged, and the
budget for a server that dies is left alone. Off unless it is asked for: the profiles switch off the caches that grow, loading
takes minutes, and a server that dies after all is brought back at no page's cost.
"""

from __future__ import annotations

import asyncio
import logging

import psutil

from pdfocr_core.errors import ServerUnavailable
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.keepalive import KeepAlive
from pdfocr_core.serving.managed import ManagedServer

__all__ = ["Recycling", "memory_of_tree"]

logger = logging.getLogger("pdfocr.server")


class Recycling:
    """Looks, whenever a group has ended, whether the server is due.

    Args:
        server: to start again.
        keep_alive: by which that is done.
        client: whose requests are held back meanwhile.
        pages: due after so many answers; 0: not for that.
        memory_mb: due when the server's processes hold so many MiB; 0: not for that.
    """

    def __init__(
        self, server: ManagedServer, keep_alive: KeepAlive, client: ChatClient, *, pages: int, memory_mb: int
    ) -> None:
        self._server, self._keep_alive, self._client = server, keep_alive, client
        self._pages, self._memory_mb = pages, memory_mb
        self._answered = client.counts.answered
        self._deaths = keep_alive.restarts
        self._looking = asyncio.Lock()

    async def between_groups(self) -> None:
        """Start the server again if it is due.

        Raises:
            ConfigurationError: it cannot start any more as it is configured.
        """
        async with self._looking:
            why = await asyncio.to_thread(self._due)
            if why is None:
                return
            logger.info("Starting %s anew between groups: %s", self._server.name, why)
            try:
                await self._client.while_nobody_asks(self._keep_alive.start_again)
            except ServerUnavailable as error:
                # The next page finds nobody there, and then it is a death like any other, with its budget.
                logger.warning("The planned start failed: %s", error)
            self._begin_anew()
            await asyncio.to_thread(self._check_ceiling)

    def _due(self) -> str | None:
        if self._keep_alive.restarts != self._deaths:
            self._begin_anew()
        pages = self._client.counts.answered - self._answered
        if self._pages and pages >= self._pages:
            return f"{pages} pages read (recycle_pages={self._pages})"
        held = self._held_mb()
        if self._memory_mb and held >= self._memory_mb:
            return f"{held} MiB of memory held (recycle_memory_mb={self._memory_mb})"
        return None

    def _begin_anew(self) -> None:
        self._answered = self._client.counts.answered
        self._deaths = self._keep_alive.restarts

    def _check_ceiling(self) -> None:
        """A ceiling that a fresh server reaches already would have it started after every group."""
        held = self._held_mb()
        if self._memory_mb and held >= self._memory_mb:
            logger.warning(
                "%s holds %d MiB right after its start: recycle_memory_mb=%d is too low and is not looked at any more.",
                self._server.name,
                held,
                self._memory_mb,
            )
            self._memory_mb = 0

    def _held_mb(self) -> int:
        pid = self._server.pid
        return memory_of_tree(pid) >> 20 if self._memory_mb and pid is not None else 0


def memory_of_tree(pid: int) -> int:
    """Bytes of memory that a process and all below it hold; what they share counts once."""
    held = 0
    try:
        parent = psutil.Process(pid)
        processes = [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return 0
    for process in processes:
        try:
            memory = process.memory_full_info()
        except psutil.Error:
            continue
        # The proportional share, where the system tells it: engine and workers have much in common.
        held += getattr(memory, "pss", memory.uss)
    return held
