"""Progress of `pdfocr run`: a live display, or a line every few seconds where there is no terminal, or JSON lines."""

from __future__ import annotations

import json
import os
import sys
import threading
from enum import Enum, auto
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.live import Live

from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster.figures import as_display, as_json, as_line, figures_of

__all__ = ["Progress", "Show", "own_stream", "print_event"]

_LINE_EVERY_S = 10.0
_JSON_EVERY_S = 2.0
_REFRESH_PER_S = 4


class Show(Enum):
    """Who looks."""

    PEOPLE = auto()
    MACHINES = auto()
    NOBODY = auto()


def own_stream(stream: TextIO) -> TextIO:
    """The same place to write to, but not what Dagster captures.

    While an op runs, Dagster turns stdout and stderr into files: a terminal would be none for that time.
    """
    try:
        number = os.dup(stream.fileno())
    except (OSError, ValueError):  # a stream without a file behind it
        return stream
    return open(number, "w", encoding=stream.encoding, errors="backslashreplace")  # noqa: PTH123 - lives as long as the command


def print_event(event: str, to: TextIO | None = None, **data: Any) -> None:
    """One JSON object on a line of its own, at once; on stdout unless told otherwise."""
    stream = to or sys.stdout
    stream.write(json.dumps({"event": event, **data}) + "\n")
    stream.flush()


class Progress:
    """A context manager that shows a run's counters until it is left."""

    def __init__(self, telemetry: Telemetry, console: Console, show: Show = Show.PEOPLE) -> None:
        self._telemetry, self._console, self._show = telemetry, console, show
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._live: Live | None = None
        self._out = own_stream(sys.stdout) if show is Show.MACHINES else sys.stdout

    def __enter__(self) -> Self:
        if self._show is Show.PEOPLE and self._console.is_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=lambda: as_display(figures_of(self._telemetry)),
                refresh_per_second=_REFRESH_PER_S,
                transient=True,
            )
            self._live.start()
        elif self._show is not Show.NOBODY:
            target = self._json_lines if self._show is Show.MACHINES else self._lines
            self._thread = threading.Thread(target=target, name="pdfocr-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._live is not None:
            self._live.stop()
        if self._thread is not None:
            self._thread.join()

    def _lines(self) -> None:
        last = ""
        while not self._stop.wait(_LINE_EVERY_S):
            line = as_line(figures_of(self._telemetry))
            if line != last:
                self._console.print(line, highlight=False, markup=False, soft_wrap=True)
            last = line

    def _json_lines(self) -> None:
        out, over = self._out, False
        while not over:
            over = self._stop.wait(_JSON_EVERY_S)
            print_event("progress", out, **as_json(figures_of(self._telemetry)))
