"""Who may send now: everybody up to a number, or one request all alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Gate"]


class Gate:
    """A limit on requests in flight that can also give one request the server to itself.

    Args:
        places: how many requests may be in flight together.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._inside = 0
        self._closing = 0
        self._alone = False
        self._condition = asyncio.Condition()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """A place among the others."""
        async with self._condition:
            await self._condition.wait_for(lambda: self._inside < self._places and not self._closing)
            self._inside += 1
        try:
            yield
        finally:
            await self._left()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """The server to oneself: waits until nobody is inside and lets nobody in meanwhile."""
        async with self._condition:
            self._closing += 1
            try:
                await self._condition.wait_for(lambda: self._inside == 0)
                self._inside += 1
            except BaseException:
                self._closing -= 1
                self._condition.notify_all()
                raise
        try:
            yield
        finally:
            self._closing -= 1
            await self._left()

    async def _left(self) -> None:
        self._inside -= 1
        # Shielded: a cancelled request must not leave the others waiting for a word that never comes.
        await asyncio.shield(self._notify())

    async def _notify(self) -> None:
        async with self._condition:
            self._condition.notify_all()
