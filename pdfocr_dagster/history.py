"""Bounds Dagster's history: what ended runs said goes after a while, what says that a group is done stays.

Dagster's own retention covers ticks only, and its `run wipe` would take the materializations with it, so that everything
would be read again.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import sqlalchemy as sql
from dagster import DagsterEventType as Event
from dagster._core.storage.event_log import SqlEventLogStorage
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable as Events
from dagster._core.storage.event_log.sqlite import SqliteEventLogStorage
from dagster._core.storage.runs.schema import RunsTable as Runs
from pydantic import Field

__all__ = ["build_prune_history_job", "build_prune_history_schedule", "prune_history"]

_BATCH = 20_000  # rows that one statement deletes

# What the assets' pages are made of, and the life of each run. The results of checks are in a table of their own.
_KEPT = [
    Event.ASSET_MATERIALIZATION,
    Event.ASSET_OBSERVATION,
    Event.RUN_ENQUEUED,
    Event.RUN_START,
    Event.RUN_SUCCESS,
    Event.RUN_FAILURE,
    Event.RUN_CANCELED,
]
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


class PruneConfig(dg.Config):
    """What may go."""

    older_than_days: float = Field(default=30, ge=0, description="Events of the last days stay, whatever they say.")


def prune_history(instance: dg.DagsterInstance, older_than_days: float) -> int:
    """Delete what ended runs said longer ago than that. Returns how many events it was.

    A group that a failed run had planned stays planned: that is how Dagster tells failed from missing.

    Raises:
        dagster.Failure: the history is not in one database.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage) or isinstance(storage, SqliteEventLogStorage):
        raise dg.Failure(
            "Only a history in PostgreSQL can be pruned: this one has a file for each run.",
            metadata={"remedy": "Use storage.postgres in dagster.yaml, as docker/dagster.yaml does."},
            allow_retries=False,
        )
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=older_than_days)
    deleted, found = 0, _BATCH
    with storage.index_connection() as connection:
        while found == _BATCH:
            found = connection.execute(_statement(before)).rowcount
            deleted += found
    return deleted


def _statement(before: datetime) -> sql.Delete:
    def runs(*statuses: dg.DagsterRunStatus) -> Any:
        return sql.select(Runs.c.run_id).where(Runs.c.status.in_([status.value for status in statuses]))

    kind = Events.c.dagster_event_type
    spent = sql.or_(kind != Event.ASSET_MATERIALIZATION_PLANNED.value, Events.c.run_id.in_(runs(_ENDED[0])))
    said = sql.or_(kind.is_(None), sql.and_(kind.not_in([event.value for event in _KEPT]), spent))
    chosen = sql.select(Events.c.id).where(Events.c.timestamp < before, said, Events.c.run_id.in_(runs(*_ENDED)))
    return sql.delete(Events).where(Events.c.id.in_(chosen.limit(_BATCH)))


def build_prune_history_job(name: str) -> dg.JobDefinition:
    """The job that prunes the history of the instance it runs in."""

    @dg.op(name=f"{name}_op")
    def prune(context: dg.OpExecutionContext, config: PruneConfig) -> None:
        deleted = prune_history(context.instance, config.older_than_days)
        context.log.info("%d events are gone; materializations and results of checks stay", deleted)

    @dg.job(name=name, description="Deletes what ended runs said more than 30 days ago; what is done stays done.")
    def job() -> None:
        prune()

    return job


def build_prune_history_schedule(job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Every Sunday at three, once it is switched on."""
    return dg.ScheduleDefinition(name=f"{job.name}_weekly", job=job, cron_schedule="0 3 * * 0")
