"""A way to the model, as the scheduler gets it when the first page needs one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from pdfocr_core.flow.form import RequestForm
from pdfocr_core.flow.ladder import Asker
from pdfocr_core.flow.pilot import Gauges

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
