"""Lines in a run's log: one every few seconds at most, however fast groups end, and one now and then while none does."""

import logging
import time
from collections.abc import Callable

from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster.figures import as_line, figures_of

__all__ = ["RunLines"]

_EVERY_S = 5.0
_WAITING_EVERY_S = 30.0


class RunLines:
    """Every line is an event that Dagster stores, so lines are few: what came in between is counted, not listed.

    Args:
        log: the run's.
        telemetry: where the figures come from.
        clock: seconds that never go back.
    """

    def __init__(self, log: logging.Logger, telemetry: Telemetry, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._telemetry, self._clock = log, telemetry, clock
        self._last = clock()
        self._unsaid: list[str] = []

    def group(self, line: str) -> None:
        """A group has ended."""
        self._unsaid.append(line)
        if self._clock() - self._last >= _EVERY_S:
            self._say()

    def waiting(self) -> None:
        """No group ends right now; to be called as often as one likes."""
        idle = self._clock() - self._last
        if idle >= _WAITING_EVERY_S or (self._unsaid and idle >= _EVERY_S):
            self._say()

    def end(self) -> None:
        """What was not said yet."""
        if self._unsaid:
            self._say()

    def _say(self) -> None:
        unsaid, self._unsaid = self._unsaid, []
        ended = unsaid[0] if len(unsaid) == 1 else f"{len(unsaid)} groups ended" if unsaid else ""
        figures = as_line(figures_of(self._telemetry))
        self._log.info(f"{ended} · {figures}" if ended else figures)
        self._last = self._clock()
