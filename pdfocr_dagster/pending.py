"""Which groups still have to be read, and which are being read now."""

from collections.abc import Mapping, Sequence

import dagster as dg
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)

from pdfocr_core.workspace import Workspace
from pdfocr_dagster.group_events import DOLMA, MARKDOWN, PAGES
from pdfocr_dagster.liveness import repair_runs
from pdfocr_dagster.partitions import asset_key, groups_per_run, ranges

__all__ = ["in_progress", "pending_ranges", "unfinished_runs"]

_UNFINISHED = list(NOT_FINISHED_STATUSES)


def unfinished_runs(instance: dg.DagsterInstance, tags: Mapping[str, str] | None = None) -> list[dg.DagsterRun]:
    """Runs that wait or go on, in whatever process; those that were killed are told from them first."""
    repair_runs(instance)
    return list(instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED, tags=tags)))


def pending_ranges(instance: dg.DagsterInstance, collection: str, workspace: Workspace) -> list[tuple[str, str]] | None:
    """Ranges (first, last) of neighbouring groups that lack an asset and that nobody reads now.

    None while a backfill is on its way: which of its groups come next is not known here.
    """
    if instance.get_backfills(status=BulkActionStatus.REQUESTED):
        return None
    keys = [asset_key(collection, name) for name in (PAGES, DOLMA, MARKDOWN)]
    order = list(instance.get_dynamic_partitions(collection))
    indexed, reopened = set(workspace.group_keys()), workspace.reopened()
    busy = in_progress(instance, order)
    done = [instance.get_materialized_partitions(key) for key in keys]
    todo = [
        key
        for key in order
        if key in indexed and key not in busy and (key in reopened or not all(key in of_asset for of_asset in done))
    ]
    return ranges(order, todo, groups_per_run())


def in_progress(instance: dg.DagsterInstance, order: Sequence[str]) -> dict[str, str]:
    """The groups that runs wait for or work on, each with the run's id; `order` is that of the partitions."""
    places = {key: place for place, key in enumerate(order)}
    busy: dict[str, str] = {}
    for run in unfinished_runs(instance):
        first, last = run.tags.get(ASSET_PARTITION_RANGE_START_TAG), run.tags.get(ASSET_PARTITION_RANGE_END_TAG)
        if first in places and last in places:
            busy.update(dict.fromkeys(order[places[first] : places[last] + 1], run.run_id))
        if PARTITION_NAME_TAG in run.tags:
            busy[run.tags[PARTITION_NAME_TAG]] = run.run_id
    return busy
