"""Every night: index, then read everything that is not done, failed groups of the day included."""

import time

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from pdfocr_dagster.group_events import DOLMA, MARKDOWN, PAGES
from pdfocr_dagster.partitions import asset_key
from pdfocr_dagster.pending import pending_ranges, unfinished_runs
from pdfocr_dagster.sensors import COLLECTION_TAG, index_request, named_for
from pdfocr_dagster.storage import WorkspaceResource

__all__ = ["build_nightly_ingestion", "build_nightly_reading"]

NIGHTLY_TAG = "pdfocr/nightly"
# After an indexing; several intervals of new_groups_sensor, so that the two never ask for the same group.
_SETTLE_S = 180


def build_nightly_ingestion(collection: str, cron: str = "0 2 * * *") -> dg.ScheduleDefinition:
    """The schedule that requests the night's indexing; `nightly_reading` goes on when that has ended."""

    @dg.schedule(
        name=named_for(collection, "nightly_ingestion"),
        target=dg.AssetSelection.assets(asset_key(collection, "work_index")),
        cron_schedule=cron,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Indexes the sources every night. Switch nightly_reading on as well.",
    )
    def nightly_ingestion(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if unfinished_runs(context.instance, {COLLECTION_TAG: collection}):
            return dg.SkipReason("An indexing is on its way.")
        key = f"nightly-{context.scheduled_execution_time:%Y%m%dT%H%M}"
        return index_request(collection, key, **{NIGHTLY_TAG: key})

    return nightly_ingestion


def build_nightly_reading(collection: str) -> dg.SensorDefinition:
    """The sensor that reads what is not done after each nightly indexing."""
    keys = [asset_key(collection, name) for name in (PAGES, DOLMA, MARKDOWN)]

    @dg.sensor(
        name=named_for(collection, "nightly_reading"),
        target=dg.AssetSelection.assets(*keys),
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="After the night's indexing, reads every group that is not done and that nobody reads now.",
    )
    def nightly_reading(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SensorResult:
        nights = context.instance.get_run_records(
            dg.RunsFilter(tags={COLLECTION_TAG: collection}, statuses=[dg.DagsterRunStatus.SUCCESS]), limit=100
        )
        last = next((record for record in nights if NIGHTLY_TAG in record.dagster_run.tags), None)
        night = None if last is None else last.dagster_run.tags[NIGHTLY_TAG]
        if last is None or night is None or night == context.cursor:
            return dg.SensorResult(skip_reason="No nightly indexing has ended since the last look.")
        if time.time() - (last.end_time or time.time()) < _SETTLE_S:
            return dg.SensorResult(skip_reason="New groups are left to new_groups_sensor first.", cursor=context.cursor)
        pending = pending_ranges(context.instance, collection, workspace.open())
        if pending is None:
            return dg.SensorResult(skip_reason="A backfill is on its way.", cursor=context.cursor)
        requests = [
            dg.RunRequest(
                run_key=f"{night}-{first}-{end}",
                asset_selection=keys,
                tags={ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: end},
            )
            for first, end in pending
        ]
        return dg.SensorResult(run_requests=requests, cursor=night)

    return nightly_reading
