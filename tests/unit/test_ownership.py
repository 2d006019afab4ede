"""A process learns that its run was ended elsewhere, and waits for a history that is out of reach."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError

from pdfocr_dagster.liveness import PROCESS_TAG, build_dead_runs_sensor, this_process
from pdfocr_dagster.ownership import Ownership


@dg.op
def nothing() -> None:
    """An op for a job."""


@dg.job
def everything() -> None:
    nothing()


class Flickering(dg.DagsterInstance):
    """An instance of which the first questions find no database."""

    failures = 0
    asked = 0

    def get_run_by_id(self, run_id: str) -> dg.DagsterRun | None:
        self.asked += 1
        if self.asked <= self.failures:
            raise ConnectionError("the database is gone")
        return super().get_run_by_id(run_id)


@pytest.fixture
def instance() -> Iterator[Flickering]:
    with dg.DagsterInstance.ephemeral() as made:
        made.__class__ = Flickering
        assert isinstance(made, Flickering)
        yield made


def started(instance: dg.DagsterInstance) -> dg.DagsterRun:
    return instance.create_run_for_job(everything, status=dg.DagsterRunStatus.STARTED)


def test_a_run_that_goes_on_is_asked_for_once_in_a_while(instance: Flickering) -> None:
    often = Ownership(instance, started(instance).run_id, every_s=0)
    seldom = Ownership(instance, started(instance).run_id, every_s=3600)
    for _ in range(3):
        often.look()
        seldom.look()
    assert instance.asked == 3


@pytest.mark.parametrize("how", ["failed", "cancelled", "deleted"])
def test_a_run_that_was_ended_elsewhere_is_left(instance: Flickering, how: str) -> None:
    run = started(instance)
    ownership = Ownership(instance, run.run_id, every_s=0)
    ownership.look()
    if how == "failed":
        instance.report_run_failed(run)
    elif how == "cancelled":
        instance.report_run_canceled(run)
    else:
        instance.delete_run(run.run_id)
    for ask in (ownership.look, ownership.confirm):
        with pytest.raises(DagsterExecutionInterruptedError):
            ask()


def test_a_database_that_restarts_is_waited_for(instance: Flickering) -> None:
    pauses: list[float] = []
    ownership = Ownership(instance, started(instance).run_id, every_s=0, pause=pauses.append)
    instance.failures = 3
    ownership.look()
    ownership.confirm()
    assert (instance.asked, len(pauses)) == (4, 2)


def test_a_database_that_stays_away_is_not_waited_for_for_ever(instance: Flickering) -> None:
    instance.failures = 1_000_000
    Ownership(instance, started(instance).run_id, patience_s=0).confirm()
    assert instance.asked == 1


def test_runs_whose_process_is_gone_are_ended_and_no_other() -> None:
    with dg.DagsterInstance.ephemeral() as made:
        host, pid, created = this_process().rsplit(":", 2)
        processes = {
            "ours": this_process(),
            "gone": f"{host}:{pid}:{int(created) - 100}",
            "of another machine": f"elsewhere:{pid}:{int(created) - 100}",
        }
        runs = {
            name: made.create_run_for_job(everything, status=dg.DagsterRunStatus.STARTED, tags={PROCESS_TAG: process})
            for name, process in processes.items()
        }
        build_dead_runs_sensor("dead_runs")(dg.build_sensor_context(instance=made))
        found = {name: made.get_run_by_id(run.run_id) for name, run in runs.items()}
        failed = {name for name, run in found.items() if run is not None and run.status is dg.DagsterRunStatus.FAILURE}
        assert failed == {"gone"}
