"""Reading again only what failed: the job `retry_failed`, and the choice that it shares with `pdfocr retry`.

Nothing else tries a document again that could not be read: it has its status row, and its group is done.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import dagster as dg
from pydantic import Field

from pdfocr_core.errors import ConfigurationError, PdfocrError, Reason
from pdfocr_core.outputs.report import books_of
from pdfocr_core.records import DocumentStatus, StatusRow
from pdfocr_core.settings import QualitySettings
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.workspace import Workspace
from pdfocr_dagster import checks
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.failing import failure
from pdfocr_dagster.group_events import DOLMA, MARKDOWN, PAGES, record_groups
from pdfocr_dagster.liveness import mark_run
from pdfocr_dagster.metadata import report_metadata
from pdfocr_dagster.partitions import POOL, asset_key
from pdfocr_dagster.reporting import make_report
from pdfocr_dagster.resources import InferenceServer, PageSettings
from pdfocr_dagster.status import prices_of
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource

__all__ = ["Choice", "RetryConfig", "build_retry_job", "choose", "choose_failed"]

NOT_OK = (DocumentStatus.FAILED.value, DocumentStatus.PARTIAL.value)


@dataclass(frozen=True)
class Choice:
    """What is read again: documents and pages with these reasons, in these groups."""

    reasons: frozenset[str]
    groups: tuple[str, ...]


def choose(rows: Iterable[StatusRow], reasons: Collection[str], statuses: Collection[str]) -> Choice:
    """What has one of these reasons, or one of the reasons of documents with these statuses; all failures without both.

    Raises:
        ConfigurationError: there is no such reason or status.
    """
    _check(reasons, [reason.value for reason in Reason], "reason")
    _check(statuses, [status.value for status in DocumentStatus], "status")
    rows = list(rows)
    wanted = set(reasons)
    if statuses or not reasons:
        chosen = set(statuses or NOT_OK)
        wanted |= {reason for row in rows if row.status.value in chosen for reason in _reasons(row)}
    groups = dict.fromkeys(row.group for row in rows if wanted & set(_reasons(row)))
    return Choice(frozenset(wanted), tuple(groups))


def choose_failed(workspace: Workspace, reasons: Collection[str], statuses: Collection[str]) -> Choice:
    """`choose` over a whole workspace, but for versions of documents that have been replaced: there is nothing to read."""
    standings = standings_of(workspace).by_document()
    rows = books_of(workspace)[1]
    return choose(
        [row for row in rows if standings.get((row.group, row.document_id)) is not Standing.SUPERSEDED],
        reasons,
        statuses,
    )


def _reasons(row: StatusRow) -> list[str]:
    return [reason for reason in (row.reason, *row.page_reasons) if reason]


def _check(given: Collection[str], known: Collection[str], what: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ConfigurationError(
            f"There is no {what} {', '.join(map(repr, unknown))}.", remedy=f"Known are: {', '.join(known)}."
        )


class RetryConfig(dg.Config):
    """What to read again; without anything, all that failed."""

    reasons: list[str] = Field(default=[], description="Reason codes, as in the status rows: renderer_timeout, …")
    statuses: list[str] = Field(
        default=[], description="failed, partial: every reason that documents with this status have."
    )
    markdown: bool = Field(default=True, description="Write Markdown files too.")


def build_retry_job(collection: str, name: str) -> dg.JobDefinition:
    """The job that reads again only what failed, and then writes the report."""
    keys = {asset: asset_key(collection, asset) for asset in (PAGES, DOLMA, MARKDOWN)}
    report = asset_key(collection, "collection_report")

    @dg.op(
        name=f"{name}_groups",
        out=dg.Out(dg.Nothing, is_required=False),
        pool=POOL,
        description="Reads documents and pages again that have the configured reasons; all others are kept.",
    )
    def retry_groups(
        context: dg.OpExecutionContext,
        config: RetryConfig,
        workspace: WorkspaceResource,
        sources: SourcesResource,
        inference: InferenceServer,
        pages: PageSettings,
    ) -> Iterator[Any]:
        mark_run(context)
        try:
            opened = workspace.open()
            choice = choose_failed(opened, config.reasons, config.statuses)
            context.log.info("%d groups have something to read again: %s", len(choice.groups), sorted(choice.reasons))
            if choice.groups:
                thresholds = settings_from(QualitySettings, {})
                again = pages.settings().model_copy(update={"retry": tuple(sorted(choice.reasons))})
                yield from record_groups(
                    context,
                    inference.session(again, sources.storage()),
                    opened,
                    choice.groups,
                    assets={asset: key for asset, key in keys.items() if config.markdown or asset != MARKDOWN},
                    evaluate=lambda result: checks.evaluate_group(
                        checks.GROUP_CHECKS, opened, keys[PAGES], keys[DOLMA], result, thresholds
                    ),
                    server=inference.settings(),
                )
            written = make_report(opened, inference.settings(), pages.settings(), sources.storage())
        except PdfocrError as error:
            raise failure(context, error) from error
        yield dg.AssetMaterialization(report, metadata=report_metadata(written, prices_of(inference.settings())))

    @dg.job(name=name, executor_def=dg.in_process_executor, description="Reads again only what failed.")
    def retry_failed() -> None:
        retry_groups()

    return retry_failed
