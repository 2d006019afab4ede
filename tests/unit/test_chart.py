"""The chart of a run's samples."""

from __future__ import annotations

from pdfocr_core.telemetry import Sample
from pdfocr_dagster.chart import window_chart


def sample(at: int, in_flight: int, *, running: float | None, bound_by: str = "engine") -> Sample:
    return Sample(
        at_s=float(at),
        limit=in_flight,
        in_flight=in_flight,
        running=running,
        waiting=None,
        kv_cache_usage=None,
        pages_per_s=0.0,
        tokens_per_s=float(at),
        bound_by=bound_by,
    )


def test_it_shows_what_is_known_and_what_bounded_the_run() -> None:
    samples = [sample(at, 8 * at, running=4.0 * at, bound_by="rendering" if at < 2 else "engine") for at in range(8)]
    lines = window_chart(samples).splitlines()
    assert lines[0] == "7 s in 8 samples"
    assert "| pages in flight | ▁▂▃▄▅▆▇█ | 56 | 56 |" in lines
    assert any(line.startswith("| running in the engine |") for line in lines)
    assert not any("waiting" in line or "cache" in line for line in lines)
    assert "| pages per second | ▁▁▁▁▁▁▁▁ | 0 | 0 |" in lines
    assert lines[-1] == "Bound by: engine 75%, rendering 25%"


def test_a_long_run_fits_on_a_line() -> None:
    samples = [sample(at, at % 7, running=None) for at in range(600)]
    assert all(len(line) < 120 for line in window_chart(samples).splitlines())
