"""The inference server's output in the run's compute logs, which Dagster keeps as files and never as events."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pdfocr_dagster import local_run

# The server and the client log under the first name, the rest of the core under the second.
_LOGGERS = [logging.getLogger(name) for name in ("pdfocr", "pdfocr_core")]


@contextmanager
def captured() -> Iterator[None]:
    """Write what the server says to stderr for the duration of an op; Dagster captures that.

    Not inside `pdfocr run`, whose terminal shows progress instead.
    """
    if local_run.current() is not None:
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    levels = [logger.level for logger in _LOGGERS]
    for logger in _LOGGERS:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(_LOGGERS, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
