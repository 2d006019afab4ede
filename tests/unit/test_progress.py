"""The figures of a run: right at nothing, at one page, at very many, and where no total is known."""

from __future__ import annotations

import io
import json
import time

import pytest
from rich.console import Console

from pdfocr_core.records import Attempt, Method, PageRecord, PageStatus
from pdfocr_core.telemetry import Sample, Telemetry
from pdfocr_dagster.figures import as_display, as_json, as_line, figures_of
from pdfocr_dagster.progress import Progress, Show
from pdfocr_dagster.run_lines import RunLines
from pdfocr_dagster.wording import duration, money


def record(*bad: str, status: PageStatus = PageStatus.OK, reason: str | None = None, tokens: int = 20) -> PageRecord:
    attempts = [Attempt(reason=one, temperature=0.1) for one in bad]
    if status is PageStatus.OK:
        attempts.append(Attempt(reason=None, temperature=0.1, prompt_tokens=100, completion_tokens=tokens))
    return PageRecord(
        document_id="d", content_id="c", page=1, status=status, reason=reason, method=Method.MODEL, attempts=attempts,
        engine_id="e",
    )  # fmt: skip


def shown(telemetry: Telemetry, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(as_display(figures_of(telemetry)))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_nothing_yet() -> None:
    telemetry = Telemetry(phase="listing the sources")
    line, display = as_line(figures_of(telemetry)), shown(telemetry)
    assert line.startswith("listing the sources · documents 0 · pages 0 · 0.0 pages/s")
    assert "ETA" not in line
    assert "ETA not known yet" in display
    assert "retries: none" in display
    assert "failures: none" in display
    assert as_json(figures_of(telemetry))["left_s"] is None


def test_one_page_of_one() -> None:
    telemetry = Telemetry(phase="reading")
    telemetry.plan(1, 1, 1)
    assert "pages 0/1 (0%)" in as_line(figures_of(telemetry))
    telemetry.count(record())
    telemetry.documents_done = telemetry.groups_done = 1
    figures = figures_of(telemetry)
    assert (figures.pages, figures.pages_total, figures.tokens_out, figures.left_s) == (1, 1, 20, 0.0)
    assert "documents 1/1" in shown(telemetry)
    assert "pages 1/1 (100%)" in shown(telemetry)
    assert "ETA 0:00" in as_line(figures)


def test_a_hundred_thousand_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    telemetry = Telemetry(phase="reading", price_in=1.0, price_out=2.0, started=clock[0])
    telemetry.plan(200, 5000, 100_000)
    good, again, bad = record(), record("length"), record("refusal", status=PageStatus.FAILED, reason="refusal")
    for number in range(99_999):
        clock[0] += 0.01
        telemetry.count(again if number % 1000 == 0 else bad if number % 1000 == 1 else good)
    figures = figures_of(telemetry)
    assert (figures.retries, figures.failures) == ({"length": 100}, {"refusal": 100})
    assert figures.pages_per_s == pytest.approx(100, rel=0.03)
    assert figures.overall_pages_per_s == pytest.approx(100, rel=0.001)
    assert figures.left_s == pytest.approx(0.01, rel=0.05)
    assert figures.cost == pytest.approx((99_899 * 100 * 1.0 + 99_899 * 20 * 2.0) / 1e6)
    line = as_line(figures)
    assert "pages 99,999/100,000 (99%)" in line  # never 100% while a page is left
    assert "retries 100" in line
    assert "failures 100 (refusal 100)" in line
    # A minute is kept, whatever came in it.
    assert len(telemetry._recent) <= 62


def test_without_a_total_there_is_no_share_and_no_eta() -> None:
    telemetry = Telemetry(phase="reading")
    for _ in range(12):
        telemetry.count(record())
    line = as_line(figures_of(telemetry))
    assert "pages 12 ·" in line
    assert "ETA" not in line
    assert "/0" not in line
    assert "ETA not known yet" in shown(telemetry)


def test_an_estimate_that_was_too_low_never_shows_more_done_than_there_is() -> None:
    telemetry = Telemetry()
    telemetry.plan(1, 1, 2)
    for _ in range(5):
        telemetry.count(record())
    figures = figures_of(telemetry)
    assert (figures.pages, figures.pages_total) == (5, 5)
    assert "5/5 (100%)" in as_line(figures)


def test_groups_that_were_planned_are_not_counted_twice() -> None:
    telemetry = Telemetry()
    telemetry.expect_groups(1)
    telemetry.expect(3, 30)
    assert (telemetry.groups_total, telemetry.documents_total, telemetry.pages_total) == (1, 3, 30)
    telemetry.plan(2, 5, 50)
    telemetry.expect_groups(1)
    telemetry.expect(3, 30)
    assert (telemetry.groups_total, telemetry.documents_total, telemetry.pages_total) == (2, 5, 50)


def test_the_engine_s_queue_and_reused_pages_are_shown_where_they_are_known() -> None:
    telemetry = Telemetry()
    telemetry.reused_pages, telemetry.in_flight = 7, 3
    assert "running" not in as_line(figures_of(telemetry))
    telemetry.add_sample(Sample(1.0, 8, 3, 2.0, 1.0, None, 0.0, 0.0, "engine"))
    assert "in flight 3, running 2, waiting 1" in as_line(figures_of(telemetry))
    assert "7 pages kept from before" in shown(telemetry)


def test_no_line_of_the_display_is_longer_than_the_terminal() -> None:
    telemetry = Telemetry(phase="reading")
    telemetry.plan(1000, 1_000_000, 100_000_000)
    for width in (60, 100):
        assert max(map(len, shown(telemetry, width).splitlines())) <= width


def test_a_small_run_takes_one_line_for_each_row_of_a_terminal_of_80_columns() -> None:
    telemetry = Telemetry(phase="reading", started=time.monotonic() - 95.0)
    telemetry.plan(4, 12, 15)
    telemetry.in_flight = 4
    for _ in range(8):
        telemetry.count(record())
    telemetry.add_sample(Sample(1.0, 8, 4, 2.0, 2.0, None, 0.0, 0.0, "engine"))
    assert len(shown(telemetry, 80).splitlines()) == 7


def test_there_is_no_estimate_before_the_server_is_there() -> None:
    telemetry = Telemetry(phase="starting the cpu server")
    telemetry.plan(1, 2, 10)
    telemetry.count(record(status=PageStatus.BLANK))
    assert figures_of(telemetry).left_s is None
    telemetry.phase = "reading"
    assert figures_of(telemetry).left_s is not None


def test_json_lines_are_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry = Telemetry(phase="reading")
    telemetry.plan(1, 1, 1)
    with Progress(telemetry, Console(file=io.StringIO()), Show.MACHINES):
        telemetry.count(record())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["progress"]
    assert (lines[0]["pages"], lines[0]["pages_total"], lines[0]["phase"]) == (1, 1, "reading")


def test_quiet_says_nothing() -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    with Progress(Telemetry(), console, Show.NOBODY):
        pass
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_a_run_s_log_gets_few_lines_however_fast_groups_end() -> None:
    class Log:
        def __init__(self) -> None:
            self.lines: list[str] = []

        def info(self, line: str) -> None:
            self.lines.append(line)

    log, clock = Log(), [0.0]
    lines = RunLines(log, Telemetry(phase="reading"), lambda: clock[0])  # type: ignore[arg-type]
    for number in range(100):
        clock[0] += 0.0625
        lines.group(f"group {number}")
    assert len(log.lines) == 1
    assert log.lines[0].startswith("80 groups ended")
    lines.end()
    assert log.lines[-1].startswith("20 groups ended")
    lines.end()
    assert len(log.lines) == 2
    for _ in range(700):
        clock[0] += 0.1
        lines.waiting()
    assert len(log.lines) == 4
    clock[0] += 6
    lines.group("group 1000")
    assert log.lines[-1].startswith("group 1000 · reading")


def test_times_and_amounts() -> None:
    assert [duration(value) for value in (0, 59.6, 3600, 90_061)] == ["0:00", "1:00", "1:00:00", "1 d 1:01 h"]
    assert [money(value) for value in (0, 0.00123, 12.5)] == ["0.00", "0.00123", "12.50"]
