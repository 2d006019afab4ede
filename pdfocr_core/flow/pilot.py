"""Steers the window while pages are read: looks at the server every few seconds and writes down what it saw."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from pdfocr_core.flow.control import Look, WindowControl
from pdfocr_core.flow.window import Window
from pdfocr_core.serving.metrics import Load
from pdfocr_core.telemetry import Sample, Telemetry

__all__ = ["Gauges", "Pilot"]

LOOK_INTERVAL_S = 2.0
_SILENT_LOOKS = 5  # a server that told nothing so often has no metrics …
_ASK_AGAIN = 30  # … and is asked for them at every so manieth look only

logger = logging.getLogger(__name__)


class Outcomes(Protocol):
    """How the client's requests ended."""

    answered: int
    back_pressure: int


@dataclass(frozen=True, slots=True)
class Gauges:
    """Where the pilot looks.

    Attributes:
        outcomes: of the client's requests.
        load: asks the server.
    """

    outcomes: Outcomes
    load: Callable[[], Awaitable[Load]]


class Pilot:
    """Moves a window's limit, or with a fixed one only keeps the log.

    Args:
        window: to steer.
        telemetry: gets a sample for every look.
        control: decides; None leaves the window as it is.
        gauges: where to look.
    """

    def __init__(self, window: Window, telemetry: Telemetry, control: WindowControl | None, gauges: Gauges) -> None:
        self._window, self._telemetry, self._control, self._gauges = window, telemetry, control, gauges
        self._hinted = False

    async def run(self, may_grow: Callable[[], bool]) -> None:
        """Look and steer until cancelled."""
        looks = silent = 0
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            looks += 1
            ask = silent < _SILENT_LOOKS or looks % _ASK_AGAIN == 0
            load = await self._gauges.load() if ask else Load()
            silent = silent + 1 if load == Load() else 0
            self.look(time.monotonic(), load, may_grow=may_grow())

    def look(self, at: float, load: Load, *, may_grow: bool) -> None:
        """Take one look into account."""
        window, outcomes = self._window, self._gauges.outcomes
        look = Look(
            at=at,
            in_flight=window.pages,
            answered=outcomes.answered,
            pressure=outcomes.back_pressure,
            held_by_bytes=window.held_by_bytes,
            load=load,
        )
        bound_by = "fixed window"
        if self._control is not None:
            window.resize(self._control.update(look, may_grow=may_grow))
            bound_by = self._control.bound_by
            self._hint(look)
        pages_per_s, tokens_per_s = self._telemetry.rates()
        self._telemetry.add_sample(
            Sample(
                at_s=round(at - self._telemetry.started, 1),
                limit=window.limit,
                in_flight=window.pages,
                running=load.running,
                waiting=load.waiting,
                kv_cache_usage=load.kv_cache_usage,
                pages_per_s=round(pages_per_s, 3),
                tokens_per_s=round(tokens_per_s, 1),
                bound_by=bound_by,
            )
        )

    def _hint(self, look: Look) -> None:
        if self._hinted or self._control is None or not self._control.preprocessing_bound:
            return
        self._hinted = True
        logger.warning(
            "%d pages are in flight, but the engine knows of %d: the rest waits for the API server, which prepares the "
            "pictures. More of those help: vllm_args --api-server-count 4.",
            look.in_flight,
            look.seen or 0,
        )
