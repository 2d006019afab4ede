"""The window's limit against simulated engines, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest

from pdfocr_core.flow.control import BoundBy, Look, WindowControl
from pdfocr_core.serving.metrics import Load

TICK_S = 2.0


@dataclass
class Engine:
    """Pages take `seconds` each while at most `parallel` run; more share the same throughput.

    Attributes:
        places: pages that it takes up at once; the others wait.
        quota: more than this in flight are answered "too much".
        unseen_above: pages beyond this are stuck in the server before the engine sees them.
        source: pages that are ready to be sent, at most.
        cache_for: pages that its cache has room for; where it is not given, the cache is always half full.
    """

    parallel: float
    seconds: float = 4.0
    places: float = 256
    quota: float | None = None
    unseen_above: float | None = None
    source: float = 1e9
    metrics: bool = True
    at: float = 0.0
    answered: float = 0.0
    pressure: float = 0.0
    preemptions: float = 0.0
    thrashes_above: float | None = None
    cache_for: float | None = None

    def look(self, limit: int) -> Look:
        """Two seconds later."""
        in_flight = min(limit, self.source)
        seen = in_flight if self.unseen_above is None else min(in_flight, self.unseen_above)
        running = min(seen, self.places)
        taken = in_flight if self.quota is None else min(in_flight, self.quota)
        self.at += TICK_S
        self.answered += TICK_S * min(running, taken, self.parallel) / self.seconds
        self.pressure += TICK_S * (in_flight - taken) / 1.0
        thrashes = self.thrashes_above is not None and running > self.thrashes_above
        self.preemptions += 3 if thrashes else 0
        load = Load(
            running=running,
            waiting=seen - running,
            kv_cache_usage=running / self.cache_for if self.cache_for else 0.95 if thrashes else 0.5,
            preemptions=self.preemptions,
            generation_tokens=1000.0 * self.answered,
        )
        return Look(
            at=self.at,
            in_flight=int(in_flight),
            answered=int(self.answered),
            pressure=int(self.pressure),
            load=load if self.metrics else Load(),
        )


def drive(engine: Engine, control: WindowControl, looks: int) -> list[int]:
    return [control.update(engine.look(control.limit)) for _ in range(looks)]


@pytest.mark.parametrize("metrics", [True, False])
def test_it_grows_until_more_does_not_pay_and_stays_there(metrics: bool) -> None:
    engine = Engine(parallel=60, metrics=metrics)
    limits = drive(engine, WindowControl(initial=8, maximum=512), 400)
    assert max(limits) <= 128, "one doubling beyond what pays at most"
    assert min(limits[100:]) >= 56
    assert max(limits[100:]) <= 84


def test_a_short_standing_queue_ends_the_doubling() -> None:
    engine = Engine(parallel=1000, places=40)
    limits = drive(engine, WindowControl(initial=8, maximum=512), 300)
    assert max(limits) <= 64
    assert 40 <= limits[-1] <= 56


def test_it_never_grows_before_answers_came() -> None:
    engine = Engine(parallel=1, seconds=1000.0)
    assert set(drive(engine, WindowControl(initial=8, maximum=512), 400)) == {8}


def test_an_engine_that_runs_all_and_has_room_is_filled_without_waiting_for_answers() -> None:
    engine = Engine(parallel=1000, seconds=1000.0, places=512, cache_for=560)
    limits = drive(engine, WindowControl(initial=16, maximum=1024), 10)
    assert limits[:6] == [16, 32, 64, 128, 256, 512]
    assert limits[-1] == 512, "more than half of the cache is taken: the usual way from here on"


def test_an_engine_that_lets_some_wait_is_not_filled_at_once() -> None:
    engine = Engine(parallel=1000, seconds=1000.0, places=16, cache_for=560)
    assert max(drive(engine, WindowControl(initial=16, maximum=1024), 10)) == 32


def test_each_doubling_waits_for_a_round_of_answers() -> None:
    engine = Engine(parallel=1000)
    control = WindowControl(initial=4, maximum=512)
    for _ in range(100):
        before, answered = control.limit, int(engine.answered)
        since = answered
        while control.limit == before and engine.at < 400:
            control.update(engine.look(control.limit))
        if control.limit > before:
            assert int(engine.answered) - since >= before


def test_too_much_halves_once_a_round_and_it_settles_below_the_quota() -> None:
    engine = Engine(parallel=1000, seconds=1.0, quota=50)
    limits = drive(engine, WindowControl(initial=8, maximum=512), 400)
    falls = [(before, after) for before, after in pairwise(limits) if after < before * 0.6]
    assert falls
    assert all(after >= before // 2 for before, after in falls)
    assert sum(limits[100:]) / 300 < 60
    assert min(limits[50:]) >= 16


def test_a_minute_of_refusals_ends_at_one_page_and_it_comes_back() -> None:
    engine = Engine(parallel=40, seconds=1.0)
    control = WindowControl(initial=32, maximum=64)
    drive(engine, control, 5)
    engine.quota = 0
    assert drive(engine, control, 30)[-1] == 1
    engine.quota = None
    assert drive(engine, control, 400)[-1] >= 16


def test_a_full_cache_with_preemptions_halves() -> None:
    engine = Engine(parallel=1000, thrashes_above=60)
    control = WindowControl(initial=8, maximum=512)
    limits = drive(engine, control, 12)
    assert max(limits) == 64
    assert limits[-1] == 32


def test_a_slow_source_holds_it() -> None:
    engine = Engine(parallel=1000, source=10)
    control = WindowControl(initial=16, maximum=512)
    assert drive(engine, control, 100)[-1] == 16
    assert control.bound_by == BoundBy.RENDERING


def test_pages_that_the_engine_does_not_see_are_told_apart() -> None:
    engine = Engine(parallel=1000, unseen_above=6)
    control = WindowControl(initial=16, maximum=512)
    assert drive(engine, control, 50)[-1] <= 32
    assert control.preprocessing_bound
    assert control.bound_by == BoundBy.PREPROCESSING


def test_bounds_hold() -> None:
    control = WindowControl(initial=8, maximum=24)
    assert drive(Engine(parallel=1000), control, 100)[-1] == 24
    assert control.bound_by == BoundBy.LIMIT
    assert WindowControl(initial=99, maximum=24).limit == 24


def test_it_does_not_grow_while_it_may_not() -> None:
    engine, control = Engine(parallel=1000), WindowControl(initial=8, maximum=512)
    for _ in range(50):
        assert control.update(engine.look(control.limit), may_grow=False) == 8
    assert drive(engine, control, 20)[-1] > 8


def test_a_restarted_server_is_a_new_beginning() -> None:
    engine = Engine(parallel=40)
    control = WindowControl(initial=8, maximum=512)
    before = drive(engine, control, 40)[-1]
    engine.answered = 0.0
    assert control.update(engine.look(control.limit)) == before
