"""Limits per minute, in virtual time."""

from __future__ import annotations

import itertools

from pdfocr_core.serving.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def send(pace: Pace, clock: Clock, pages: int, tokens: int, *, seconds: float = 0.0) -> list[float]:
    """Send pages one after the other, each answered after some seconds; returns when each went out."""
    sent = []
    for _ in range(pages):
        while (wait := pace.wait_s()) > 0:
            clock.now += wait
        coroutine = pace.enter()
        try:
            coroutine.send(None)
        except StopIteration:
            sent.append(clock.now)
        else:
            raise AssertionError("it waits although it said that it would not")
        clock.now += seconds
        pace.leave(tokens)
    return sent


def most_in_a_minute(times: list[float]) -> int:
    return max(sum(1 for other in times if start <= other < start + 60) for start in times)


def test_requests_are_spread_over_minutes() -> None:
    clock = Clock()
    sent = send(Pace(requests=10, clock=clock), clock, 35, 0)
    assert most_in_a_minute(sent) == 10
    assert sent[-1] - sent[0] == 180


def test_tokens_are_counted_as_they_are_known() -> None:
    clock = Clock()
    sent = send(Pace(tokens=1000, clock=clock), clock, 30, 100, seconds=0.5)
    assert most_in_a_minute(sent) <= 10
    assert sent[-1] - sent[0] < 200


def test_requests_under_way_are_counted_with_what_others_took() -> None:
    clock = Clock()
    pace = Pace(tokens=1000, clock=clock)
    send(pace, clock, 1, 100)
    under_way = 0
    while pace.wait_s() == 0:
        coroutine = pace.enter()
        try:
            coroutine.send(None)
        except StopIteration:
            under_way += 1
    assert under_way == 9


def test_an_answer_above_the_limit_still_comes_one_at_a_time() -> None:
    clock = Clock()
    sent = send(Pace(tokens=50, clock=clock), clock, 4, 100)
    assert [round(after - before) for before, after in itertools.pairwise(sent)] == [60, 60, 60]


def test_without_limits_nothing_waits() -> None:
    clock = Clock()
    assert set(send(Pace(clock=clock), clock, 100, 10**9)) == {1000.0}
