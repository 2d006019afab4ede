"""What `pdfocr run` shares with the Dagster runs that it executes in its own process: counters and the server."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pdfocr_core.errors import PdfocrError
from pdfocr_core.session import Servers
from pdfocr_core.telemetry import Telemetry


@dataclass
class LocalRun:
    """Lives as long as the command.

    Attributes:
        servers: started once, used by every run of the command, ended with it.
        failures: what ended groups or runs, for the summary.
    """

    telemetry: Telemetry = field(default_factory=Telemetry)
    servers: Servers = field(default_factory=Servers)
    stack: ExitStack = field(default_factory=ExitStack)
    failures: list[PdfocrError] = field(default_factory=list)


_active: list[LocalRun] = []


def current() -> LocalRun | None:
    """The command's shared state; None in runs that Dagster launched."""
    return _active[-1] if _active else None


@contextmanager
def sharing() -> Iterator[LocalRun]:
    """Share counters and servers among the runs executed inside this block."""
    run = LocalRun()
    with run.stack:
        run.stack.callback(run.servers.close)
        _active.append(run)
        try:
            yield run
        finally:
            _active.remove(run)
