"""The asset graph of a collection. Bodies are short: they call `pdfocr_core` and report what happened.

`page_groups`, `dolma_documents` and `markdown_export` are one op over many partitions, so that one server serves them
all; the three materializations of a group are stored the moment the group ends.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg
from dagster._core.storage.tags import RETRY_NUMBER_TAG
from pydantic import Field

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.session import index_sources
from pdfocr_core.settings import IndexSettings
from pdfocr_dagster import checks
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.failing import failure
from pdfocr_dagster.group_events import DOLMA, MARKDOWN, PAGES, record_groups
from pdfocr_dagster.liveness import mark_run
from pdfocr_dagster.metadata import report_metadata
from pdfocr_dagster.partitions import (
    POOL,
    asset_key,
    group_partitions,
    groups_per_run,
    register_groups,
    register_pool,
)
from pdfocr_dagster.previews import thumbnails
from pdfocr_dagster.quality import QualityThresholds
from pdfocr_dagster.reporting import make_report
from pdfocr_dagster.resources import InferenceServer, PageSettings
from pdfocr_dagster.status import prices_of
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource

# Asks for a new group once, unless someone reads it already. `eager` would ask for every group again whenever the index
# is materialized.
FOLLOWS = dg.AutomationCondition.on_missing() & ~dg.AutomationCondition.in_progress()


class IndexConfig(dg.Config):
    """What to index."""

    sources: list[str] | None = Field(
        default=None,
        description="Files, folders, globs, archives, .txt lists or s3:// URLs. Variable: PDFOCR_SOURCES, one a line.",
    )
    pages_per_group: int | None = Field(default=None, description="Target pages of a group (partition). Default: 500.")
    count_pages: bool | None = Field(
        default=None, description="Open local files to count their pages; otherwise estimate. Default: true."
    )
    require_sources: bool | None = Field(
        default=None, description="Fail when a source holds nothing; false passes it by. Default: true."
    )


def build_work_index(collection: str, group_name: str) -> dg.AssetsDefinition:
    """The asset that lists the sources and registers their groups as partitions."""

    @dg.asset(
        key=asset_key(collection, "work_index"),
        group_name=group_name,
        kinds={"python"},
        description="Lists documents, groups the new ones and registers each group as a partition.",
    )
    def work_index(
        context: dg.AssetExecutionContext,
        config: IndexConfig,
        workspace: WorkspaceResource,
        sources: SourcesResource,
        pages: PageSettings,
    ) -> dg.MaterializeResult[None]:
        mark_run(context)
        named = config.sources or sources.named()
        try:
            if not named:
                raise ConfigurationError(
                    "No source is named.", remedy="Say `pdfocr run FOLDER`, or set `sources` or PDFOCR_SOURCES."
                )
            opened = workspace.open()
            settings = settings_from(IndexSettings, config.model_dump())
            read = pages.settings()
            report = index_sources(opened, named, settings, read.render, sources.storage(), read.markdown)
        except PdfocrError as error:
            raise failure(context, error) from error
        # Manifests are written, so a partition never names a group that is not there. All keys of the index, not only
        # the new ones: an earlier run may have died between its manifest and this line.
        register_pool(context.instance)
        new = register_groups(context.instance, collection, opened.group_keys())
        return dg.MaterializeResult(
            metadata={
                "workspace": opened.url,
                "sources": dg.MetadataValue.json(list(named)),
                "documents": report.documents,
                "new_documents": report.new_documents,
                "new_groups": len(new),
                "gone_documents": report.gone,
                "returned_documents": len(report.returned),
                "ignored_files": report.ignored,
                "bytes": report.bytes,
                "seconds": round(report.seconds, 3),
            }
        )

    return work_index


def build_groups(collection: str, group_name: str) -> dg.AssetsDefinition:
    """The op that reads groups: three assets, any subset of which can be materialized."""
    keys = {name: asset_key(collection, name) for name in (PAGES, DOLMA, MARKDOWN)}
    index = asset_key(collection, "work_index")
    partitions = group_partitions(collection)
    specs = [
        dg.AssetSpec(
            keys[PAGES],
            deps=[index],
            skippable=True,
            automation_condition=FOLLOWS,
            group_name=group_name,
            kinds={"openai"},
            description="Renders and reads every page of a group: one record per page, good or bad.",
        ),
        dg.AssetSpec(
            keys[DOLMA],
            deps=[keys[PAGES]],
            skippable=True,
            automation_condition=FOLLOWS,
            group_name=group_name,
            kinds={"json"},
            description="One Dolma document and one status row per source document.",
        ),
        dg.AssetSpec(
            keys[MARKDOWN],
            deps=[keys[DOLMA]],
            skippable=True,
            automation_condition=FOLLOWS,
            group_name=group_name,
            kinds={"markdown"},
            description="One Markdown file per document, in folders that mirror the sources.",
        ),
    ]

    @dg.multi_asset(
        name=f"{collection}_read_groups",
        specs=specs,
        check_specs=checks.group_check_specs(keys[PAGES], keys[DOLMA], partitions),
        can_subset=True,
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.multi_run(max_partitions_per_run=groups_per_run()),
        pool=POOL,
    )
    def read_groups(
        context: dg.AssetExecutionContext,
        workspace: WorkspaceResource,
        sources: SourcesResource,
        inference: InferenceServer,
        pages: PageSettings,
        quality: QualityThresholds,
    ) -> Iterator[Any]:
        mark_run(context)
        selected = {name: key for name, key in keys.items() if key in context.selected_asset_keys}
        chosen_checks = [check.name for check in context.selected_asset_check_keys]
        try:
            session = inference.session(pages.settings(), sources.storage())
            opened, thresholds = workspace.open(), quality.settings()
            with thumbnails(pages.settings(), sources.storage(), opened) as previews:
                yield from record_groups(
                    context,
                    session,
                    opened,
                    _not_recorded_yet(context, list(selected.values())[-1]),
                    assets=selected,
                    evaluate=lambda result: checks.evaluate_group(
                        chosen_checks, opened, keys[PAGES], keys[DOLMA], result, thresholds
                    ),
                    server=inference.settings(),
                    previews=previews,
                )
        except PdfocrError as error:
            raise failure(context, error) from error

    return read_groups


def build_report(collection: str, group_name: str) -> dg.AssetsDefinition:
    """The asset that sums up a collection."""
    key = asset_key(collection, "collection_report")

    @dg.asset(
        key=key,
        deps=[asset_key(collection, DOLMA)],
        group_name=group_name,
        kinds={"html", "parquet"},
        description="Sums up the status rows of all groups (the books must balance) as one HTML file, with its data as "
        "Parquet and CSV: totals, failures with what to do about them, sampled pages beside their text, cost.",
        check_specs=checks.collection_check_specs(key),
    )
    def collection_report(
        context: dg.AssetExecutionContext,
        workspace: WorkspaceResource,
        sources: SourcesResource,
        inference: InferenceServer,
        pages: PageSettings,
        quality: QualityThresholds,
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]
        try:
            opened = workspace.open()
            report = make_report(opened, inference.settings(), pages.settings(), sources.storage())
            thresholds = quality.settings()
        except PdfocrError as error:
            raise failure(context, error) from error
        return dg.MaterializeResult(
            metadata={
                "report": dg.MetadataValue.path(f"{opened.url}/report/index.html"),
                **report_metadata(report, prices_of(inference.settings())),
            },
            check_results=checks.evaluate_collection(key, report, thresholds),
        )

    return collection_report


def _not_recorded_yet(context: dg.AssetExecutionContext, last: dg.AssetKey) -> Sequence[str]:
    """The run's groups; in a retry only those that were not recorded by what it retries, a step or a run."""
    todo, runs = list(context.partition_keys), {context.run.run_id}
    if RETRY_NUMBER_TAG in context.run.tags:
        # Dagster started this run by itself when another was killed; what a person starts again is done again.
        _root, family = context.instance.get_run_group(context.run.run_id) or ("", ())
        runs.update(run.run_id for run in family)
    elif not context.retry_number:
        return todo
    records = context.instance.fetch_materializations(
        dg.AssetRecordsFilter(last, asset_partitions=todo), limit=10 * len(todo)
    ).records
    done = {record.partition_key for record in records if record.run_id in runs}
    return [key for key in todo if key not in done]
