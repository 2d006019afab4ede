"""What operators see of a run, where they ask for it: counters for Prometheus, a log of JSON lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.records import DocumentStatus, PageRecord, PageStatus, StatusRow
from pdfocr_core.settings import ObserveSettings
from pdfocr_core.telemetry import Telemetry

__all__ = ["LOGGERS", "RUN_LOG", "JsonFormatter", "handling", "log_document", "log_page", "observed"]

# The server and the client log under the first name, the rest of the core under the second.
LOGGERS = [logging.getLogger(name) for name in ("pdfocr", "pdfocr_core")]
# Documents and pages; of use only where their ids are written too.
RUN_LOG = logging.getLogger("pdfocr.run")
# What every log record has; anything else was given as `extra` and is written.
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object for each log record, with whatever was given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        data: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            data["trace"] = self.formatException(record.exc_info)
        return json.dumps(data, default=str)


@contextmanager
def observed(telemetry: Telemetry, settings: ObserveSettings) -> Iterator[None]:
    """Serve metrics and write the log for the duration of this block, if that is asked for.

    Raises:
        ConfigurationError: the port or the file cannot be had.
    """
    with ExitStack() as stack:
        if settings.log_file is not None:
            stack.enter_context(_logging_to(settings.log_file))
        if settings.metrics_port is not None:
            from pdfocr_dagster.prometheus import serving_metrics

            stack.enter_context(serving_metrics(telemetry, settings.metrics_host, settings.metrics_port))
        yield


@contextmanager
def _logging_to(name: str) -> Iterator[None]:
    try:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(name, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"The log cannot be written to {name}: {error.strerror or error}.",
            remedy="Name another file with --log-file or PDFOCR_LOG_FILE.",
        ) from error
    handler.setFormatter(JsonFormatter())
    with handling(handler):
        yield


@contextmanager
def handling(handler: logging.Handler) -> Iterator[None]:
    """Give this handler all that the core logs, down to INFO."""
    levels = [logger.level for logger in LOGGERS]
    for logger in LOGGERS:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(LOGGERS, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
        handler.close()


def log_page(page: PageRecord) -> None:
    """Log a page that was not read well at once. Pages that were are in the page records."""
    bad = [attempt.reason for attempt in page.attempts if attempt.reason]
    well = page.status in (PageStatus.OK, PageStatus.BLANK) and not bad
    if well or not RUN_LOG.isEnabledFor(logging.INFO):
        return
    failed = page.status is PageStatus.FAILED
    RUN_LOG.log(
        logging.WARNING if failed else logging.INFO,
        "page %d %s",
        page.page,
        page.status.value,
        extra={
            "document_id": page.document_id,
            "page": page.page,
            "status": page.status.value,
            "reason": page.reason,
            "retries": bad,
            "tokens_out": page.completion_tokens,
        },
    )


def log_document(row: StatusRow) -> None:
    """Log how a document ended."""
    if not RUN_LOG.isEnabledFor(logging.INFO):
        return
    RUN_LOG.log(
        logging.INFO if row.status is DocumentStatus.OK else logging.WARNING,
        "document %s",
        row.status.value,
        extra={
            "document_id": row.document_id,
            "group": row.group,
            "url": row.url,
            "status": row.status.value,
            "reason": row.reason,
            "pages": row.pages,
            "failed_pages": row.failed_pages,
            "tokens_out": row.completion_tokens,
            "seconds": row.seconds,
        },
    )
