"""A machine that is taken away says so by SIGTERM: the run stops in order, and its retry goes on elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import dagster as dg
import psutil
import pytest
from dagster._core.events import RunFailureReason
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    RUN_FAILURE_REASON_TAG,
    WILL_RETRY_TAG,
)
from dagster._grpc.types import ExecuteRunArgs

from pdfocr_core.outputs.report import books_of
from pdfocr_core.testing.server import good_text
from pdfocr_core.workspace import open_workspace
from pdfocr_dagster.definitions import defs, job_name
from tests.documents import write_collection
from tests.faults import stand_in_vllm
from tests.faults.crashes import is_alive, wait_until
from tests.faults.outcome import durable_texts
from tests.integration.conftest import Command

ROOT = Path(__file__).parents[2]
ASSETS = ("page_groups", "dolma_documents", "markdown_export")
GRACE_S = 30  # what Kubernetes gives unless told otherwise; the shortest of the clouds
DOCUMENTS, PAGES = 8, 5


def grace_s() -> float:
    """What there is, longer on a machine that has other things to do."""
    return GRACE_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def whole_job() -> dg.JobDefinition:
    return defs.resolve_job_def(job_name("pdfocr"))


class Worker:
    """Executes runs as a launcher's machine does: `dagster api execute_run` with the run's id."""

    def __init__(self, pdfocr: Command) -> None:
        self.pdfocr, self.home = pdfocr, pdfocr.folder / "home"
        self.asked_file = pdfocr.folder / "asked"
        self.asked_file.touch()
        self.home.mkdir()
        # As docker/dagster.yaml has it.
        (self.home / "dagster.yaml").write_text("run_retries: {enabled: true, max_retries: 3}\n")
        self.environment = {
            **pdfocr.environment,
            "DAGSTER_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PDFOCR_WORKSPACE": str(pdfocr.workspace),
            "PDFOCR_SOURCES": str(write_collection(pdfocr.folder / "sources", DOCUMENTS, PAGES)),
            "PDFOCR_ENGINE": "vllm",
            "PDFOCR_MODEL": "olmocr-2",
            "PDFOCR_VLLM_PROGRAM": str(stand_in_vllm.program(pdfocr.folder)),
            "PDFOCR_IN_FLIGHT": "3",
            "PDFOCR_PAGES_PER_GROUP": "10",
            "PDFOCR_CHECKPOINT_INTERVAL_S": "60",  # so that only the end of the run can have written the parts
            "STAND_IN_ASKED": str(self.asked_file),
            "STAND_IN_SECONDS": "0.7",
        }

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        with mock.patch.dict(os.environ, self.environment), dg.DagsterInstance.from_config(str(self.home)) as instance:
            yield instance

    def asked(self) -> Counter[str]:
        return Counter(good_text(digest) for digest in self.asked_file.read_text().splitlines())

    def create(self, instance: dg.DagsterInstance, names: tuple[str, ...], tags: dict[str, str]) -> dg.DagsterRun:
        recon = dg.reconstructable(whole_job)
        return instance.create_run_for_job(
            whole_job(),
            asset_selection=frozenset(dg.AssetKey(name) for name in names),
            tags=tags,
            job_code_origin=recon.get_python_origin(),
        )

    def start(self, instance: dg.DagsterInstance, run: dg.DagsterRun) -> subprocess.Popen[bytes]:
        assert run.job_code_origin is not None
        arguments = ExecuteRunArgs(
            job_origin=run.job_code_origin,
            run_id=run.run_id,
            instance_ref=instance.get_ref(),
            set_exit_code_on_failure=True,
        ).get_command_args()
        with (self.pdfocr.folder / "worker.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dagster", *arguments[arguments.index("api") :]],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self) -> str:
        return (self.pdfocr.folder / "worker.log").read_text(errors="replace")[-5000:]


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(os.killpg, id="all processes, as tini, systemd and Slurm do"),
        pytest.param(os.kill, id="the first process, as Kubernetes does", marks=pytest.mark.nightly),
    ],
)
def test_a_machine_is_taken_away_and_the_retry_reads_the_rest(
    pdfocr: Command, told: Callable[[int, int], None]
) -> None:
    worker = Worker(pdfocr)
    with worker.instance() as instance:
        assert whole_job().execute_in_process(instance=instance, asset_selection=[dg.AssetKey("work_index")]).success
        keys = instance.get_dynamic_partitions("pdfocr")
        tags = {ASSET_PARTITION_RANGE_START_TAG: keys[0], ASSET_PARTITION_RANGE_END_TAG: keys[-1]}
        run = worker.create(instance, ASSETS, tags)
        process = worker.start(instance, run)
        done: Any = instance.get_materialized_partitions
        wait_until(lambda: process.poll() is not None or bool(done(dg.AssetKey("markdown_export"))))
        complete = done(dg.AssetKey("page_groups"))
        wait_until(lambda: process.poll() is not None or worker.asked().total() >= 10 * len(complete) + 6)
        assert process.poll() is None, worker.log()
        family = psutil.Process(process.pid).children(recursive=True)
        assert any("stand_in_vllm" in " ".join(one.cmdline()) for one in family)

        told(process.pid, signal.SIGTERM)
        assert process.wait(grace_s()) == 1, worker.log()
        asked = worker.asked()
        time.sleep(1)
        assert worker.asked() == asked
        wait_until(lambda: not [one for one in family if is_alive(one)], 60)
        ended = instance.get_run_by_id(run.run_id)
        assert ended is not None
        assert ended.status is dg.DagsterRunStatus.FAILURE
        assert ended.tags[RUN_FAILURE_REASON_TAG] == RunFailureReason.UNEXPECTED_TERMINATION.value
        assert ended.tags[WILL_RETRY_TAG] == "true"
        durable = durable_texts(pdfocr.workspace)
        canary = good_text(worker.asked_file.read_text().split("\n", 1)[0])  # no page: what a server is tried with
        assert set(asked) - {canary} == set(durable), "pages were in flight and had time to be answered"
        assert len(durable) > 10 * len(complete)

        retry = worker.create(instance, ASSETS, {**tags, "dagster/retry_number": "1"})
        assert worker.start(instance, retry).wait() == 0, worker.log()
        assert set(keys) == done(dg.AssetKey("markdown_export"))
    assert {text: worker.asked()[text] for text in durable} == {text: asked[text] for text in durable}
    books, _rows = books_of(open_workspace(str(pdfocr.workspace)))
    assert (books.balanced, books.pending, books.pages_ok) == (True, 0, DOCUMENTS * PAGES)
