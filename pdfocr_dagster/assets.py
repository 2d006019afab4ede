"""The asset graph of a collection. Bodies are short: they call `pdfocr_core` and report what happened.

`page_groups`, `dolma_documents` and `markdown_export` are one op over many partitions, so that one server serves them
all; the three materializations of a group are stored the moment the group ends.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.flow.group import GroupResult, Stages
from pdfocr_core.outputs.report import write_report
from pdfocr_core.session import index_sources
from pdfocr_core.settings import IndexSettings
from pdfocr_dagster import checks, local_run, run_log
from pdfocr_dagster.bridge import AsyncBridge
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.liveness import mark_run
from pdfocr_dagster.metadata import books_metadata, group_metadata
from pdfocr_dagster.partitions import asset_key, group_partitions, register_groups
from pdfocr_dagster.resources import InferenceServer, PageSettings
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource

PAGES, DOLMA, MARKDOWN = "page_groups", "dolma_documents", "markdown_export"
GROUPS_PER_RUN = 50
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


def failure(error: PdfocrError) -> dg.Failure:
    """How Dagster is told of one of our errors: only what may pass by itself is retried."""
    _remember(error)
    return dg.Failure(
        description=str(error), metadata={"code": error.code, "remedy": error.remedy}, allow_retries=error.retryable
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
                raise ConfigurationError("No source is named.", remedy="Set `sources`, or PDFOCR_SOURCES.")
            opened = workspace.open()
            settings = settings_from(IndexSettings, config.model_dump())
            report = index_sources(opened, named, settings, pages.settings().render, sources.storage())
        except PdfocrError as error:
            raise failure(error) from error
        # Manifests are written, so a partition never names a group that is not there. All keys of the index, not only
        # the new ones: an earlier run may have died between its manifest and this line.
        new = register_groups(context.instance, collection, opened.group_keys())
        return dg.MaterializeResult(
            metadata={
                "workspace": opened.url,
                "sources": dg.MetadataValue.json(list(named)),
                "documents": report.documents,
                "new_documents": report.new_documents,
                "new_groups": len(new),
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
        backfill_policy=dg.BackfillPolicy.multi_run(max_partitions_per_run=GROUPS_PER_RUN),
        pool="inference",
    )
    def read_groups(
        context: dg.AssetExecutionContext,
        workspace: WorkspaceResource,
        sources: SourcesResource,
        inference: InferenceServer,
        pages: PageSettings,
    ) -> Iterator[Any]:
        mark_run(context)
        selected = [name for name in (PAGES, DOLMA, MARKDOWN) if keys[name] in context.selected_asset_keys]
        stages = Stages(pages=PAGES in selected, dolma=DOLMA in selected, markdown=MARKDOWN in selected)
        failed: dict[str, PdfocrError] = {}
        try:
            server = inference.settings()
            session = inference.session(pages.settings(), sources.storage())
            opened = workspace.open()
            todo = _not_recorded_by_this_run(context, keys[selected[-1]])
            with run_log.captured(), AsyncBridge(lambda: session.read_groups(opened, todo, stages)) as results:
                for result in results:
                    if result.error is not None:
                        context.log.error("group %s: %s", result.key, result.error)
                        failed[result.key] = result.error
                        continue
                    metadata = group_metadata(
                        result,
                        price_in=server.price_in,
                        price_out=server.price_out,
                        samples=session.telemetry.samples_of_last(result.seconds),
                    )
                    for name in selected:
                        yield dg.AssetMaterialization(keys[name], partition=result.key, metadata=metadata)
                    yield from checks.evaluate_group(context, opened, keys[PAGES], keys[DOLMA], result)
                    context.log.info(_line(result))
        except PdfocrError as error:
            raise failure(error) from error
        if failed:
            for reason in failed.values():
                _remember(reason)
            raise dg.Failure(
                f"{len(failed)} of {len(todo)} groups failed",
                metadata={"groups": {key: str(reason) for key, reason in failed.items()}},
            )

    return read_groups


def build_report(collection: str, group_name: str) -> dg.AssetsDefinition:
    """The asset that sums up a collection."""
    key = asset_key(collection, "collection_report")

    @dg.asset(
        key=key,
        deps=[asset_key(collection, DOLMA)],
        group_name=group_name,
        kinds={"csv"},
        description="Sums up the status rows of all groups: the books must balance.",
        check_specs=[checks.collection_check_spec(key)],
    )
    def collection_report(workspace: WorkspaceResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
        try:
            opened = workspace.open()
            books = write_report(opened)
        except PdfocrError as error:
            raise failure(error) from error
        return dg.MaterializeResult(
            metadata={"report": dg.MetadataValue.path(f"{opened.url}/report"), **books_metadata(books)},
            check_results=[checks.evaluate_collection(key, books)],
        )

    return collection_report


def _not_recorded_by_this_run(context: dg.AssetExecutionContext, last: dg.AssetKey) -> Sequence[str]:
    """The run's groups; after a step retry only those that this very run has not recorded yet."""
    todo = list(context.partition_keys)
    if not context.retry_number:
        return todo
    records = context.instance.fetch_materializations(
        dg.AssetRecordsFilter(last, asset_partitions=todo), limit=10 * len(todo)
    ).records
    done = {record.partition_key for record in records if record.run_id == context.run_id}
    return [key for key in todo if key not in done]


def _remember(error: PdfocrError) -> None:
    current = local_run.current()
    if current is not None:
        current.failures.append(error)


def _line(result: GroupResult) -> str:
    pages = sum(row.pages for row in result.rows)
    how = "was read before" if result.reused else f"{pages} pages in {result.seconds:.1f} s"
    return f"group {result.key}: {len(result.rows)} documents, {how}"
