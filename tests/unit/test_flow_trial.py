"""The verdict over the first answers, and what the pilot writes down."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import pytest

from pdfocr_core.errors import ConfigurationError, Reason
from pdfocr_core.flow.control import WindowControl
from pdfocr_core.flow.pilot import Gauges, Pilot
from pdfocr_core.flow.trial import Trial
from pdfocr_core.flow.window import Window
from pdfocr_core.records import Method, PageRecord, PageStatus
from pdfocr_core.serving.metrics import Load
from pdfocr_core.telemetry import Telemetry


def record(page: int, status: PageStatus) -> PageRecord:
    return PageRecord(
        document_id="d",
        content_id="c",
        page=page,
        status=status,
        method=Method.MODEL,
        engine_id="e",
        model="m",
        started_at="",
        finished_at="",
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason.BAD_FRONT_MATTER, "another form"),
        (Reason.REPETITION, "repeat themselves"),
        (Reason.EMPTY_ANSWER, "empty although there is ink"),
        (Reason.REFUSED_BY_SERVER, "refusals by the server"),
    ],
)
def test_nonsense_in_most_first_answers_stops_the_run_and_is_shown(reason: Reason, words: str) -> None:
    trial: Trial[str] = Trial(10, "some-model")
    for _ in range(4):
        trial.note(None, "fine")
    for _ in range(5):
        trial.note(reason, "!!!!")
    with pytest.raises(ConfigurationError, match=words) as caught:
        trial.note(reason, "!!!!")
    assert "'!!!!'" in str(caught.value)
    assert "some-model" in str(caught.value)


def test_some_bad_pages_are_normal() -> None:
    trial: Trial[str] = Trial(10, "m")
    for number in range(10):
        trial.note(Reason.REPETITION if number % 2 else None, "")
    assert not trial.open
    for _ in range(20):
        trial.note(Reason.REPETITION, "later pages are not judged")


def test_the_verdict_stands_as_soon_as_half_are_good() -> None:
    trial: Trial[str] = Trial(20, "m")
    for _ in range(9):
        trial.note(Reason.REPETITION, "")
        trial.note(None, "")
    assert trial.open
    trial.note(None, "")
    assert not trial.open


def test_failed_pages_wait_for_the_verdict_and_good_ones_do_not() -> None:
    trial: Trial[str] = Trial(4, "m")
    good, bad, late = (
        record(1, PageStatus.OK),
        record(2, PageStatus.FAILED),
        record(3, PageStatus.FAILED),
    )
    trial.note(None, "")
    assert trial.hold("a", good, last=False) == [("a", good)]
    assert trial.hold("b", bad, last=False) == []
    trial.note(None, "")
    assert trial.hold("c", late, last=False) == [("b", bad), ("c", late)]


def test_waiting_ends_with_the_last_page() -> None:
    trial: Trial[str] = Trial(20, "m")
    first, second = record(1, PageStatus.FAILED), record(2, PageStatus.FAILED)
    assert trial.hold("a", first, last=False) == []
    assert trial.hold("a", second, last=True) == [("a", first), ("a", second)]


@dataclass
class Outcomes:
    answered: int = 0
    back_pressure: int = 0


async def _no_load() -> Load:
    return Load()


def test_the_pilot_moves_the_window_and_keeps_samples() -> None:
    async def work() -> tuple[Window, Telemetry]:
        window, telemetry, outcomes = Window(4, 10**9), Telemetry(), Outcomes()
        pilot = Pilot(window, telemetry, WindowControl(initial=4, maximum=64), Gauges(outcomes, _no_load))
        for second in range(8):
            while window.pages < window.limit:
                await window.acquire(1)
            outcomes.answered += 2 * window.limit
            load = Load(running=window.pages, waiting=0, kv_cache_usage=0.25)
            pilot.look(telemetry.started + 2.0 * second, load, may_grow=True)
        return window, telemetry

    window, telemetry = asyncio.run(work())
    assert window.limit == 64
    assert [sample.limit for sample in telemetry.samples] == [4, 8, 16, 32, 64, 64, 64, 64]
    assert telemetry.samples[3].running == 16
    assert telemetry.samples[3].kv_cache_usage == 0.25


def test_pages_stuck_before_the_engine_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        window, telemetry = Window(32, 10**9), Telemetry()
        pilot = Pilot(window, telemetry, WindowControl(initial=32, maximum=64), Gauges(Outcomes(), _no_load))
        for _ in range(32):
            await window.acquire(1)
        for second in range(10):
            pilot.look(float(second), Load(running=3, waiting=0), may_grow=True)

    with caplog.at_level(logging.WARNING):
        asyncio.run(work())
    assert [message for message in caplog.messages if "--api-server-count" in message] == caplog.messages
    assert len(caplog.messages) == 1


def test_a_long_run_keeps_a_bounded_number_of_samples() -> None:
    telemetry = Telemetry()
    pilot = Pilot(Window(1, 1), telemetry, None, Gauges(Outcomes(), _no_load))
    for second in range(5000):
        pilot.look(telemetry.started + second, Load(), may_grow=True)
    assert 300 <= len(telemetry.samples) <= 600
    assert telemetry.samples[0].at_s == 0.0
    assert telemetry.samples[-1].bound_by == "fixed window"
