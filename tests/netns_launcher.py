"""A run launcher for tests: each run is a process in the network namespace of one of several workers, in turn.

It stands for launchers of clusters: runs outlive the daemon, whose successor finds them by what is noted in their tags.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import psutil
from dagster import Array, DagsterRun, Field
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import ConfigurableClass, ConfigurableClassData

WORKER_TAG, PROCESS_TAG = "test/worker", "test/process"


class NetnsLauncher(RunLauncher[Any], ConfigurableClass):
    """Starts runs by `ip netns exec`.

    A worker without network is given up, as a node of a cluster is.
    """

    def __init__(self, workers: list[str], logs: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__()
        self._workers, self._logs, self._inst_data = workers, Path(logs), inst_data

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        return self._inst_data

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {"workers": Field(Array(str)), "logs": Field(str)}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        return cls(**config_value, inst_data=inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        run, origin = context.dagster_run, context.job_code_origin
        assert origin is not None
        worker = self._idle_worker()
        # Before it starts: the daemon may be killed at any moment.
        self._instance.add_run_tags(run.run_id, {WORKER_TAG: worker})
        arguments = ExecuteRunArgs(
            job_origin=origin,
            run_id=run.run_id,
            instance_ref=self._instance.get_ref(),
            set_exit_code_on_failure=True,
        ).get_command_args()
        command = [sys.executable, "-m", "dagster", *arguments[arguments.index("api") :]]
        argv = ["ip", "netns", "exec", worker, *command]
        with (self._logs / f"{run.run_id}.log").open("wb") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True, env={**os.environ})
        created = psutil.Process(process.pid).create_time()
        self._instance.add_run_tags(run.run_id, {PROCESS_TAG: f"{process.pid} {created}"})

    def _idle_worker(self) -> str:
        """The worker with the fewest runs; a machine without network takes none, as no node of a cluster does."""
        from dagster import RunsFilter
        from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES

        runs = self._instance.get_runs(RunsFilter(statuses=list(IN_PROGRESS_RUN_STATUSES)))
        busy = [run.tags.get(WORKER_TAG) for run in runs]
        reachable = [worker for worker in self._workers if has_network(worker)]
        return min(reachable, key=lambda worker: (busy.count(worker), self._workers.index(worker)))

    def terminate(self, run_id: str) -> bool:
        run = self._instance.get_run_by_id(run_id)
        process = worker_process(run) if run is not None else None
        if run is None or process is None:
            return False
        self._instance.report_run_canceling(run)
        process.send_signal(signal.SIGTERM)
        return True

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        if not has_network(run.tags.get(WORKER_TAG, "")):
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "its machine does not answer")
        if worker_process(run) is None:
            return CheckRunHealthResult(WorkerStatus.FAILED, "its process is gone")
        return CheckRunHealthResult(WorkerStatus.RUNNING)


def has_network(worker: str) -> bool:
    """Whether the worker's cable is in the bridge."""
    return Path(f"/sys/class/net/{worker}c/master").exists()


def worker_process(run: DagsterRun) -> psutil.Process | None:
    """The process of a run; None when it has ended."""
    pid, _, created = run.tags.get(PROCESS_TAG, "").partition(" ")
    try:
        process = psutil.Process(int(pid))
        gone = process.status() == psutil.STATUS_ZOMBIE or abs(process.create_time() - float(created)) > 1
    except (psutil.NoSuchProcess, ValueError):
        return None
    return None if gone else process
