"""Progress in the terminal: a live display, or a line every few seconds where there is no terminal."""

import threading
import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pdfocr_core.telemetry import Telemetry

_LINE_EVERY_S = 10.0
_REFRESH_PER_S = 4


class Progress:
    """A context manager that shows a run's counters until it is left."""

    def __init__(self, telemetry: Telemetry, console: Console, *, quiet: bool = False) -> None:
        self._telemetry, self._console, self._quiet = telemetry, console, quiet
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        if self._console.is_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=lambda: _display(self._telemetry),
                refresh_per_second=_REFRESH_PER_S,
                transient=True,
            )
            self._live.start()
        else:
            self._thread = threading.Thread(target=self._lines, daemon=True)
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
            line = summary_line(self._telemetry)
            if line != last:
                self._console.print(line, highlight=False, soft_wrap=True)
            last = line


def summary_line(telemetry: Telemetry) -> str:
    """The counters in one line."""
    pages_per_s, tokens_per_s = telemetry.rates()
    parts = [
        telemetry.phase,
        f"documents {telemetry.documents_done}/{telemetry.documents_total}",
        f"pages {telemetry.pages_done}/{max(telemetry.pages_total, telemetry.pages_done)}",
        f"{pages_per_s:.1f} pages/s",
        f"{tokens_per_s:.0f} tokens/s",
        f"in flight {telemetry.in_flight}",
        f"failed {telemetry.pages['failed']}",
    ]
    left = telemetry.seconds_left()
    if left is not None and telemetry.pages_total:
        parts.append(f"ETA {_duration(left)}")
    return " · ".join(parts)


def _display(telemetry: Telemetry) -> Group:
    pages_per_s, tokens_per_s = telemetry.rates()
    total = max(telemetry.pages_total, telemetry.pages_done)
    left = telemetry.seconds_left()
    table = Table.grid(padding=(0, 3))
    table.add_row(
        f"documents {telemetry.documents_done}/{telemetry.documents_total}",
        f"pages {telemetry.pages_done}/{total}",
        f"groups {telemetry.groups_done}/{telemetry.groups_total}",
        f"in flight {telemetry.in_flight}",
    )
    table.add_row(
        f"{pages_per_s:.1f} pages/s",
        f"{tokens_per_s:.0f} tokens/s",
        f"elapsed {_duration(time.monotonic() - telemetry.started)}",
        f"ETA {_duration(left)}" if left is not None and total else "",
    )
    reasons = ", ".join(f"{reason} {number}" for reason, number in telemetry.reasons.most_common(4))
    bar = ProgressBar(total=max(total, 1), completed=telemetry.pages_done, pulse=total == 0)
    return Group(Text(telemetry.phase, style="bold"), bar, table, Text(f"retries and failures: {reasons or 'none'}"))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
