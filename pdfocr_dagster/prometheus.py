"""A run's counters for Prometheus, read at the moment they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster.figures import Figures, figures_of

__all__ = ["RunCollector", "serving_metrics"]


class RunCollector(Collector):
    """Makes metrics of a run's counters."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def collect(self) -> Iterable[Metric]:
        """All metrics as they are now."""
        figures, telemetry = figures_of(self._telemetry), self._telemetry
        for name, words, values, label in (
            ("pages", "Pages that were read, by how they ended", telemetry.pages, "status"),
            ("pages_by_method", "Pages that were read, by where their text came from", telemetry.methods, "method"),
            ("retries", "Bad answers that were asked for again", telemetry.retries, "reason"),
            ("failures", "Documents and pages that did not end well", telemetry.failures, "reason"),
        ):
            family = CounterMetricFamily(f"pdfocr_{name}", words, labels=[label])
            for key, value in list(values.items()):
                family.add_metric([key], value)
            yield family
        for name, words, count in (
            ("documents", "Documents that ended", figures.documents),
            ("groups", "Groups that ended", figures.groups),
            ("pages_reused", "Pages taken from what was read before", figures.pages_reused),
            ("answers", "Answers of the model, good and bad", telemetry.attempts),
            ("tokens_in", "Tokens sent", figures.tokens_in),
            ("tokens_out", "Tokens received", figures.tokens_out),
        ):
            yield CounterMetricFamily(f"pdfocr_{name}", words, value=count)
        for name, words, level in _gauges(figures):
            if level is not None:
                yield GaugeMetricFamily(f"pdfocr_{name}", words, value=level)


def _gauges(figures: Figures) -> tuple[tuple[str, str, float | None], ...]:
    return (
        ("in_flight", "Pages sent and not answered", figures.in_flight),
        ("engine_running", "Requests that the engine computes", figures.running),
        ("engine_waiting", "Requests in the engine's queue", figures.waiting),
        ("pages_expected", "Pages of this run as far as they are known", figures.pages_total or None),
        ("documents_expected", "Documents of this run", figures.documents_total or None),
        ("groups_expected", "Groups of this run", figures.groups_total or None),
        ("pages_per_second", "Over the last minute", figures.pages_per_s),
        ("tokens_out_per_second", "Over the last minute", figures.tokens_per_s),
        ("elapsed_seconds", "Since the start of the run", figures.elapsed_s),
        ("left_seconds", "Until the end of the run, estimated", figures.left_s),
        ("cost", "Price of the tokens so far", figures.cost),
    )


@contextmanager
def serving_metrics(telemetry: Telemetry, host: str, port: int) -> Iterator[None]:
    """Answer Prometheus at http://host:port/metrics inside this block.

    Raises:
        ConfigurationError: nothing can listen there.
    """
    registry = CollectorRegistry()
    registry.register(RunCollector(telemetry))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigurationError(
            f"Nothing can listen on {host}:{port} for Prometheus: {error.strerror or error}.",
            remedy="Name another port with --metrics-port or PDFOCR_METRICS_PORT.",
        ) from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
