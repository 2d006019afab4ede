"""How large groups and runs should be: a discrete-event simulation of many GPUs reading very many pages.

    python tools/simulate_fleet.py [--pages 1e9] [--rate 5] [--preempted-every 6] [--table groups|fleets|starts]

What is simulated is a backfill as Dagster makes it: one daemon that makes runs one after the other, GPUs that take the
next run from the queue, a server start for each run, groups of pages with costs that differ, and machines that are taken
away in the middle. What a machine had in flight and not yet durable is lost; the retry reads the rest of its run's groups.

The constants are measured where the comment says so; the others are arguments.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from dataclasses import dataclass, field, replace

# Measured by tools/scale_dagster.py; see docs/scale.md.
SECONDS_PER_RUN_MADE = 0.3
SECONDS_PER_GROUP_PLANNED = 0.12
SECONDS_PER_GROUP_STORED = 0.2  # in the worker: three materializations and five checks
MOST_GROUPS = 100_000  # partitions of an asset that Dagster answers for
# Characters a page in the text layers of the 47 PDFs with text of the test corpus: 2,330 on average (median 1,962, 95 %
# below 5,710), with a standard deviation of 1.2 times that. What costs a document much is taken to cost all its pages
# much; within a group of n documents it evens out by the root of n.
SPREAD_OF_DOCUMENTS = 1.2
PAGES_OF_A_DOCUMENT = 7
# The time a page spends in the engine, with its window full.
SECONDS_IN_FLIGHT = 40.0


@dataclass(frozen=True)
class Plan:
    """What is simulated.

    Attributes:
        pages: of the collection.
        gpus: machines, each with one server at a time.
        rate: pages a second of one GPU whose window is full.
        group: pages of a group.
        groups_per_run: groups that share a server start.
        start_s: from the launch of a run to its first page: the machine's container, the weights, the engine.
        lost_s: how old what is not yet durable is when a machine goes: the checkpoint's interval with a warning-less
            death, nothing with SIGTERM.
        preempted_every_h: mean life of a machine; 0: for ever.
        away_s: until another machine takes its place.
    """

    pages: float = 1e9
    gpus: int = 64
    rate: float = 5.0
    group: int = 500
    groups_per_run: int = 50
    start_s: float = 180.0
    lost_s: float = 5.0
    preempted_every_h: float = 6.0
    away_s: float = 300.0


@dataclass
class Outcome:
    """What came of it, in seconds of all GPUs together."""

    hours: float = 0.0
    read_s: float = 0.0
    start_s: float = 0.0
    drain_s: float = 0.0
    lost_s: float = 0.0
    idle_s: float = 0.0
    retries: int = 0
    most_retries: int = 0
    worst_loss_pages: float = 0.0
    runs: int = 0
    groups: int = 0

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.read_s + self.start_s + self.drain_s + self.lost_s + self.idle_s

    def share(self, seconds: float) -> float:
        """A part of the whole, in percent."""
        return 100 * seconds / self.total_s if self.total_s else 0.0


@dataclass(order=True)
class _Event:
    at: float
    number: int
    gpu: int = field(compare=False)


class Fleet:
    """Machines that take runs until none is left."""

    def __init__(self, plan: Plan, seed: int = 0) -> None:
        self._plan, self._chance = plan, random.Random(seed)  # noqa: S311 - a simulation
        self.outcome = Outcome(groups=math.ceil(plan.pages / plan.group))
        self.outcome.runs = math.ceil(self.outcome.groups / plan.groups_per_run)
        self._left = self.outcome.runs
        self._retries: list[tuple[float, int]] = []  # pages left of runs whose machine went, and how many went
        self._next_made = 0.0

    def run(self) -> Outcome:
        """From the launch of the backfill to its last page."""
        plan, free = self._plan, [_Event(0.0, number, number) for number in range(self._plan.gpus)]
        goes = [self._life() for _ in range(plan.gpus)]
        heapq.heapify(free)
        end, working, count = 0.0, 0.0, plan.gpus
        while free and (self._left or self._retries):
            event = heapq.heappop(free)
            start, pages, deaths = self._take(event.at)
            self.outcome.idle_s += start - event.at
            ready, seconds, drain = start + self._start(), pages / plan.rate, SECONDS_IN_FLIGHT / 2
            over = ready + seconds + drain
            if goes[event.gpu] < over:
                at = max(start, goes[event.gpu])
                self._taken_away(start, ready, at, pages, deaths + 1)
                goes[event.gpu] = at + plan.away_s + self._life()
                over = at + plan.away_s
                self.outcome.idle_s += plan.away_s
            else:
                self.outcome.start_s += ready - start
                self.outcome.read_s += seconds
                self.outcome.drain_s += drain
                end = max(end, over)
            working = max(working, over)
            count += 1
            heapq.heappush(free, _Event(over, count, event.gpu))
        self.outcome.idle_s += sum(max(0.0, end - event.at) for event in free)
        self.outcome.hours = end / 3600
        return self.outcome

    def _take(self, now: float) -> tuple[float, float, int]:
        """The next run and when it is there: retries first, then what the daemon has made."""
        if self._retries:
            return now, *self._retries.pop()
        plan = self._plan
        self._left -= 1
        self._next_made += SECONDS_PER_RUN_MADE + SECONDS_PER_GROUP_PLANNED * plan.groups_per_run
        groups = min(plan.groups_per_run, self.outcome.groups)
        mean = groups * plan.group
        documents = max(1.0, mean / PAGES_OF_A_DOCUMENT)
        cost = self._chance.gauss(1.0, SPREAD_OF_DOCUMENTS / math.sqrt(documents))
        # Storing a group's events holds no page up, but a run cannot end before they are stored.
        slowest = groups * SECONDS_PER_GROUP_STORED * plan.rate
        return max(now, self._next_made), max(mean * max(0.2, cost), slowest), 0

    def _taken_away(self, start: float, ready: float, at: float, pages: float, deaths: int) -> None:
        """The machine goes in the middle of a run."""
        plan, out = self._plan, self.outcome
        out.retries += 1
        out.start_s += min(at, ready) - start
        worked = max(0.0, at - ready)
        lost = min(worked, plan.lost_s + SECONDS_IN_FLIGHT / 2)
        out.lost_s += lost
        out.read_s += worked - lost
        out.worst_loss_pages = max(out.worst_loss_pages, lost * plan.rate)
        left = pages - (worked - lost) * plan.rate
        if left > 0:
            self._retries.append((left, deaths))
            out.most_retries = max(out.most_retries, deaths)

    def _start(self) -> float:
        return self._plan.start_s * self._chance.lognormvariate(0.0, 0.25)

    def _life(self) -> float:
        every = self._plan.preempted_every_h * 3600
        return self._chance.expovariate(1 / every) if every else math.inf


def row(plan: Plan) -> str:
    """One line of a table."""
    out = Fleet(plan).run()
    over = " (too many)" if out.groups > MOST_GROUPS else ""
    run_minutes = plan.group * plan.groups_per_run / plan.rate / 60
    return (
        f"| {plan.gpus} | {plan.group:,} | {plan.groups_per_run} | {out.groups:,}{over} | {run_minutes:,.0f} | "
        f"{out.hours / 24:,.1f} | {out.share(out.read_s):.1f} | {out.share(out.start_s):.1f} | "
        f"{out.share(out.drain_s):.1f} | {out.share(out.lost_s):.2f} | {out.share(out.idle_s):.1f} | "
        f"{out.retries:,} | {out.most_retries} |"
    )


HEAD = (
    "| GPUs | pages a group | groups a run | groups | minutes a run | days | reading % | starts % | drain % | "
    "lost % | idle % | retries | of one run |\n" + "|--:" * 13 + "|"
)


def plans(table: str, base: Plan) -> list[Plan]:
    """The rows of a table."""
    if table == "fleets":
        return [replace(base, gpus=gpus) for gpus in (1, 8, 64, 512)]
    if table == "starts":
        return [replace(base, groups_per_run=count) for count in (1, 5, 10, 25, 50, 100, 400)]
    return [
        replace(base, group=group, groups_per_run=max(1, round(run / group)))
        for run in (25_000, 100_000)
        for group in (100, 500, 2_000, 10_000)
    ]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=float, default=Plan.pages)
    parser.add_argument("--gpus", type=int, default=Plan.gpus)
    parser.add_argument("--rate", type=float, default=Plan.rate, help="pages a second of one GPU")
    parser.add_argument("--group", type=int, default=Plan.group, help="pages a group")
    parser.add_argument("--groups-per-run", type=int, default=Plan.groups_per_run)
    parser.add_argument("--start", type=float, default=Plan.start_s, help="seconds from launch to the first page")
    parser.add_argument("--lost", type=float, default=Plan.lost_s, help="seconds of work that are not durable")
    parser.add_argument("--preempted-every", type=float, default=Plan.preempted_every_h, help="hours; 0: never")
    parser.add_argument("--table", choices=["groups", "fleets", "starts"], default="fleets")
    given = parser.parse_args()
    base = Plan(
        pages=given.pages,
        gpus=given.gpus,
        rate=given.rate,
        group=given.group,
        groups_per_run=given.groups_per_run,
        start_s=given.start,
        lost_s=given.lost,
        preempted_every_h=given.preempted_every,
    )
    print(HEAD)
    for plan in plans(given.table, base):
        print(row(plan), flush=True)


if __name__ == "__main__":
    main()
