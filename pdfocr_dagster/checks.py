"""Asset checks: the books must balance, per group and over the collection; `quality` has those that only warn."""

import warnings
from collections.abc import Collection, Iterator

import dagster as dg

from pdfocr_core.flow.group import GroupResult
from pdfocr_core.outputs.rates import rates_of
from pdfocr_core.outputs.report import Report
from pdfocr_core.settings import QualitySettings
from pdfocr_core.workspace import Workspace
from pdfocr_dagster.quality import COLLECTION_QUALITY, RATES, collection_quality, rate_results

PAGES_ADD_UP = "pages_add_up"
STATUSES_ADD_UP = "statuses_add_up"
BOOKS_BALANCE = "books_balance"
GROUP_CHECKS = (PAGES_ADD_UP, STATUSES_ADD_UP, *RATES)


def group_check_specs(
    pages: dg.AssetKey, dolma: dg.AssetKey, partitions: dg.PartitionsDefinition[str]
) -> list[dg.AssetCheckSpec]:
    """What must hold for the pages and the documents of a group, and how well it was read."""
    with warnings.catch_warnings():
        # Partitions of checks are marked as a preview; that is no news for whoever loads the definitions.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(
                PAGES_ADD_UP,
                asset=pages,
                partitions_def=partitions,
                description="Pages in = pages ok + fallback + blank + failed, for every document.",
            ),
            dg.AssetCheckSpec(
                STATUSES_ADD_UP,
                asset=dolma,
                partitions_def=partitions,
                description="Every document of the manifest has exactly one status row.",
            ),
            *(
                dg.AssetCheckSpec(name, asset=pages, partitions_def=partitions, description=words)
                for name, words in RATES.items()
            ),
        ]


def collection_check_specs(report: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """The same over the whole collection; books that do not balance stop what comes after the report."""
    return [
        dg.AssetCheckSpec(
            BOOKS_BALANCE,
            asset=report,
            blocking=True,
            description="Every document of the index and every page is accounted for, once.",
        ),
        *(dg.AssetCheckSpec(name, asset=report, description=words) for name, words in COLLECTION_QUALITY.items()),
    ]


def evaluate_group(
    selected: Collection[str],
    workspace: Workspace,
    pages: dg.AssetKey,
    dolma: dg.AssetKey,
    result: GroupResult,
    thresholds: QualitySettings,
) -> Iterator[dg.AssetCheckEvaluation]:
    """The selected checks of one group."""
    if PAGES_ADD_UP in selected and result.rows:
        wrong = [
            row.url
            for row in result.rows
            if row.pages != row.pages_ok + row.pages_fallback + row.pages_blank + row.pages_failed
        ]
        yield dg.AssetCheckEvaluation(
            asset_key=pages,
            check_name=PAGES_ADD_UP,
            passed=not wrong,
            partition=result.key,
            severity=dg.AssetCheckSeverity.ERROR,
            metadata={"wrong_documents": dg.MetadataValue.json(wrong[:20])},
        )
    if STATUSES_ADD_UP in selected and result.rows:
        expected = sorted(document.document_id for document in workspace.read_manifest(result.key).documents)
        found = sorted(row.document_id for row in result.rows)
        yield dg.AssetCheckEvaluation(
            asset_key=dolma,
            check_name=STATUSES_ADD_UP,
            passed=expected == found,
            partition=result.key,
            severity=dg.AssetCheckSeverity.ERROR,
            metadata={"documents": len(expected), "status_rows": len(found)},
        )
    if result.rows:
        for rate in rate_results(rates_of(result.rows), thresholds):
            if rate["check_name"] in selected:
                yield dg.AssetCheckEvaluation(asset_key=pages, partition=result.key, **rate)


def evaluate_collection(key: dg.AssetKey, report: Report, thresholds: QualitySettings) -> list[dg.AssetCheckResult]:
    """Whether the collection's books balance, and how well it was read."""
    books = report.books
    return [
        dg.AssetCheckResult(
            asset_key=key,
            check_name=BOOKS_BALANCE,
            passed=books.balanced,
            severity=dg.AssetCheckSeverity.ERROR,
            metadata={"missing": books.missing, "extra": books.extra, "unbalanced_documents": books.unbalanced},
        ),
        *(dg.AssetCheckResult(asset_key=key, **found) for found in collection_quality(report, thresholds)),
    ]
