"""A way to the model, as the scheduler gets it when the first page needs one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from pdfocr_core.flow.control import WindowControl
from pdfocr_core.flow.form import RequestForm
from pdfocr_core.flow.ladder import Asker
from pdfocr_core.flow.pilot import Gauges, Pilot
from pdfocr_core.flow.window import Window
from pdfocr_core.telemetry import Telemetry

__all__ = ["Connection"]


@dataclass(slots=True)
class Connection:
    """A way to the model: made when the first page needs it.

    Attributes:
        in_flight: pages in flight at the start.
        max_in_flight: how far the window may follow the engine; None keeps it as it is.
        gauges: where the pilot looks; None: nowhere.
        first_pages: answers to judge before the window opens.
        form: how requests are written for this server; None: as the engine writes them.
        between_groups: called when a group has ended and others are left; may hold requests back meanwhile.
    """

    asker: Asker
    model: str
    in_flight: int
    max_in_flight: int | None = None
    gauges: Gauges | None = None
    first_pages: int = 0
    form: RequestForm | None = None
    between_groups: Callable[[], Coroutine[Any, Any, None]] | None = None

    def pilot(self, window: Window, telemetry: Telemetry) -> Pilot | None:
        """What steers the window over this connection; None where there is nothing to look at."""
        if self.gauges is None:
            return None
        control = None
        if self.max_in_flight is not None:
            control = WindowControl(initial=self.in_flight, maximum=self.max_in_flight)
        return Pilot(window, telemetry, control, self.gauges)
