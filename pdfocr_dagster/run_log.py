"""The inference server's output in the run's compute logs, which Dagster keeps as files and never as events."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pdfocr_core.settings import ObserveSettings
from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster import local_run
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.observe import RUN_LOG, JsonFormatter, handling, observed


@contextmanager
def captured(telemetry: Telemetry) -> Iterator[None]:
    """Write what the server says to stderr for the duration of an op, which Dagster captures, and serve its metrics.

    Not inside `pdfocr run`, whose terminal shows progress instead and which serves the metrics of all its runs.
    """
    if local_run.current() is not None:
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    settings = settings_from(ObserveSettings, {})
    as_json = settings.log_format == "json"
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter("%(asctime)s %(message)s"))
    if not as_json:
        handler.addFilter(lambda record: record.name != RUN_LOG.name)
    with handling(handler), observed(telemetry, settings):
        yield
