"""The chart of a run's samples."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

from pdfocr_core.telemetry import Sample
from pdfocr_dagster.chart import status_bars, throughput_image, window_chart


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
    assert "| pages in flight | 56 | 56 | ▁▂▃▄▅▆▇█ |" in lines
    assert any(line.startswith("| running in the engine |") for line in lines)
    assert not any("waiting" in line or "cache" in line for line in lines)
    assert "| pages per second | 0 | 0 | ▁▁▁▁▁▁▁▁ |" in lines
    assert lines[-1] == "Bound by: engine 75%, rendering 25%"


def test_a_long_run_fits_on_a_line() -> None:
    samples = [sample(at, at % 7, running=None) for at in range(600)]
    assert all(len(line) < 120 for line in window_chart(samples).splitlines())


def picture(markdown: str) -> str:
    found = re.search(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", markdown)
    assert found is not None
    return base64.b64decode(found[1]).decode()


def test_status_bars_are_as_wide_as_what_they_count() -> None:
    text = status_bars({"documents": {"failed": 1, "ok": 3, "partial": 0}, "pages": {}})
    assert "4 documents: ok 3, failed 1\n" in text
    assert "0 pages: none\n" in text
    assert re.findall(r"M([0-9]+) 0H([0-9]+)", picture(text)) == [("0", "180"), ("180", "240")]


def test_one_failure_in_a_million_is_seen() -> None:
    (bar,) = re.findall(r"M([0-9]+) 0H([0-9]+)", picture(status_bars({"pages": {"ok": 10**6, "failed": 1}})))[1:]
    assert bar == ("239", "240")


def test_what_the_ui_shows_at_once_is_short_enough_for_it() -> None:
    """Markdown of 1,000 characters and more is hidden behind a link, at whatever size of the collection."""
    samples = [replace(sample(at, 1, running=None), pages_per_s=1234.5 + at % 97) for at in range(600)]
    assert len(throughput_image(samples)) < 1000
    statuses = ("ok", "partial", "failed", "filtered", "skipped")
    many = {name: 123_456_789 + 9_876_543 * place for place, name in enumerate(statuses)}
    pages = dict.fromkeys(("ok", "fallback", "blank", "failed"), 9_123_456_789)
    assert len(status_bars({"documents": many, "pages": pages})) < 1000


def test_throughput_is_drawn_for_one_sample_and_for_none_done() -> None:
    for samples in ([sample(0, 1, running=None)], [sample(at, 1, running=None) for at in range(600)]):
        assert "nan" not in picture(throughput_image(samples))
        assert "up to 0.00 pages/s" in throughput_image(samples)
