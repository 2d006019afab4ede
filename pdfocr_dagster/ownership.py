"""Whether a process still executes its run, seen from Dagster.

A worker whose network fails is given up by Dagster's monitoring, and its groups are read by a retry elsewhere. When the
network is back, the worker must notice: it would read, and pay for, pages that the retry reads too.
"""

import logging
import time
from collections.abc import Callable

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

__all__ = ["Ownership"]

logger = logging.getLogger(__name__)

_EVERY_S = 10.0
_PATIENCE_S = 900.0
_PAUSE_S = 2.0


class Ownership:
    """Asks Dagster's history whether the run has been ended by somebody else.

    Args:
        instance: where the history is.
        run_id: of the run that this process executes.
        every_s: seconds between two questions of `look`.
        patience_s: how long `confirm` waits for a history that is out of reach.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        run_id: str,
        *,
        every_s: float = _EVERY_S,
        patience_s: float = _PATIENCE_S,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._instance, self._run_id = instance, run_id
        self._every_s, self._patience_s, self._pause = every_s, patience_s, pause
        self._asked = time.monotonic()

    def look(self) -> None:
        """Ask, unless that was done a moment ago; no answer is no reason to stop.

        Raises:
            DagsterExecutionInterruptedError: the run has ended in Dagster; nothing more is to be read for it.
        """
        if time.monotonic() - self._asked >= self._every_s:
            self._ask()

    def confirm(self) -> None:
        """Ask until there is an answer, before events are stored: an event that cannot be stored ends the run.

        A database that restarts is waited for; meanwhile pages are read on.

        Raises:
            DagsterExecutionInterruptedError: the run has ended in Dagster; nothing more is to be recorded for it.
        """
        deadline = time.monotonic() + self._patience_s
        while not self._ask() and time.monotonic() < deadline:
            self._pause(_PAUSE_S)

    def _ask(self) -> bool:
        try:
            run = self._instance.get_run_by_id(self._run_id)
        except Exception as error:  # noqa: BLE001 - of whatever storage it is
            # Not to the run's own log: that would be stored where nothing can be stored now.
            logger.warning("Dagster's history is out of reach: %s", error)
            return False
        finally:
            self._asked = time.monotonic()
        if run is None or run.is_finished:
            how = "deleted" if run is None else f"ended as {run.status.value}"
            raise DagsterExecutionInterruptedError(f"The run was {how} in Dagster while this process worked on it.")
        return True
