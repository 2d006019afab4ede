"""Which groups still have to be read, and which are being read now."""

from collections.abc import Mapping

import dagster as dg
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)

from pdfocr_core.workspace import Workspace
from pdfocr_dagster.assets import DOLMA, GROUPS_PER_RUN, MARKDOWN, PAGES
from pdfocr_dagster.liveness import repair_runs
from pdfocr_dagster.partitions import asset_key, ranges

__all__ = ["pending_ranges", "unfinished_runs"]

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
    indexed = set(workspace.group_keys())
    busy = _in_progress(instance, order)
    done = [instance.get_materialized_partitions(key) for key in keys]
    todo = [
        key for key in order if key in indexed and key not in busy and not all(key in of_asset for of_asset in done)
    ]
    return ranges(order, todo, GROUPS_PER_RUN)


def _in_progress(instance: dg.DagsterInstance, order: list[str]) -> set[str]:
    places = {key: place for place, key in enumerate(order)}
    busy: set[str] = set()
    for run in unfinished_runs(instance):
        first, last = run.tags.get(ASSET_PARTITION_RANGE_START_TAG), run.tags.get(ASSET_PARTITION_RANGE_END_TAG)
        if first in places and last in places:
            busy.update(order[places[first] : places[last] + 1])
        busy.add(run.tags.get(PARTITION_NAME_TAG, ""))
    return busy
