"""The end of a run before its work is done: no new pages, and those in flight may still be answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

__all__ = ["Stopped", "Stopping"]

_LOOK_S = 0.25


class Stopped(Exception):
    """Ends the flow, once nothing is in flight any more."""


class Stopping:
    """Told from any thread; how long is waited for the end is up to whoever tells."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._last: set[asyncio.Task[None]] = set()

    def tell(self) -> None:
        """Take no new pages, and end as soon as those in flight are answered and written."""
        self._told.set()

    @property
    def told(self) -> bool:
        """Whether the run is ending."""
        return self._told.is_set()

    def told_by(self, seconds: float) -> bool:
        """The same, within so many seconds."""
        return self._told.wait(seconds)

    def wait_for(self, task: asyncio.Task[None]) -> None:
        """This task is one that may still end by itself."""
        self._last.add(task)
        task.add_done_callback(self._last.discard)

    async def end(self, feeding: Sequence[asyncio.Task[None]]) -> None:
        """Wait until told; then cancel what feeds new pages, and wait for the last ones.

        Raises:
            Stopped: always, in the end.
        """
        while not self.told:  # noqa: ASYNC110 - told from another thread
            await asyncio.sleep(_LOOK_S)
        for task in feeding:
            task.cancel()
        while self._last:
            await asyncio.wait(list(self._last))
        raise Stopped
