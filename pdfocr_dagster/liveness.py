"""Which runs are dead: a run that was killed stays "started" in Dagster, since nobody watches its process.

Every run notes its process, so that whoever comes later on the same machine can tell.
"""

import contextlib
import os
import socket
import time

import dagster as dg
import psutil

__all__ = ["PROCESS_TAG", "build_dead_runs_sensor", "mark_run", "repair_runs", "this_process"]

PROCESS_TAG = "pdfocr/process"

# A run that is killed before its first step has noted no process. One that starts after it was given up does not go on:
# Dagster's run workers leave finished runs alone.
_LONGEST_START_S = 900.0

_ACTIVE = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def this_process() -> str:
    """This process, told apart from every other that had or will have its number."""
    return f"{socket.gethostname()}:{os.getpid()}:{int(psutil.Process().create_time())}"


def mark_run(context: dg.AssetExecutionContext | dg.OpExecutionContext) -> None:
    """Note in the run which process executes it."""
    if context.run.tags.get(PROCESS_TAG) != this_process():
        context.instance.add_run_tags(context.run.run_id, {PROCESS_TAG: this_process()})


def repair_runs(instance: dg.DagsterInstance) -> int:
    """Report as failed the runs whose process was killed. Returns how many there were."""
    repaired = 0
    for record in instance.get_run_records(dg.RunsFilter(statuses=_ACTIVE)):
        run = record.dagster_run
        process = run.tags.get(PROCESS_TAG)
        if process is None or _is_copied(instance, run, process):
            waited = time.time() - record.update_timestamp.timestamp()
            if run.status is not dg.DagsterRunStatus.STARTING or waited < _LONGEST_START_S:
                continue
            why = "The process that should execute this run never came up."
        elif _is_gone(process):
            why = "The process that executed this run was killed."
        else:
            continue
        instance.report_run_failed(run, why)
        _end_tails(run.run_id)
        repaired += 1
    return repaired


def _end_tails(run_id: str) -> None:
    """End what copied a dead run's logs to its terminal: Dagster watches it only from a moment after its start on."""
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or [""]
        if command[:2] == ["tail", "-F"] and run_id in command[-1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()


def build_dead_runs_sensor(name: str) -> dg.SensorDefinition:
    """The sensor that ends runs whose process died together with the code server that watched it.

    It looks where the code location runs. Launchers of clusters can tell by themselves, and Dagster asks them.
    """

    @dg.sensor(
        name=name,
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Ends runs whose process on this machine was killed, so that Dagster tries them again.",
    )
    def dead_runs(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        return dg.SkipReason(f"{repair_runs(context.instance)} runs were dead.")

    return dead_runs


def _is_copied(instance: dg.DagsterInstance, run: dg.DagsterRun, process: str) -> bool:
    """Whether a run that executes another one again has only that one's tag, and no process of its own yet."""
    parent = instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None
    return parent is not None and parent.tags.get(PROCESS_TAG) == process


def _is_gone(process: str) -> bool:
    host, pid, created = process.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    try:
        found = psutil.Process(int(pid))
        return found.status() == psutil.STATUS_ZOMBIE or abs(found.create_time() - int(created)) > 1
    except psutil.NoSuchProcess:
        return True
