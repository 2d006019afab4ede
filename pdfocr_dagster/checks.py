"""Asset checks: the books must balance, per group and over the collection."""

import warnings
from collections.abc import Iterator

import dagster as dg

from pdfocr_core.flow.group import GroupResult
from pdfocr_core.outputs.report import Books
from pdfocr_core.workspace import Workspace

PAGES_ADD_UP = "pages_add_up"
STATUSES_ADD_UP = "statuses_add_up"
BOOKS_BALANCE = "books_balance"


def group_check_specs(
    pages: dg.AssetKey, dolma: dg.AssetKey, partitions: dg.PartitionsDefinition[str]
) -> list[dg.AssetCheckSpec]:
    """One check on the pages of a group, one on its documents."""
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
        ]


def collection_check_spec(report: dg.AssetKey) -> dg.AssetCheckSpec:
    """The same over the whole collection."""
    return dg.AssetCheckSpec(
        BOOKS_BALANCE, asset=report, description="Every document of the index and every page is accounted for, once."
    )


def evaluate_group(
    context: dg.AssetExecutionContext, workspace: Workspace, pages: dg.AssetKey, dolma: dg.AssetKey, result: GroupResult
) -> Iterator[dg.AssetCheckEvaluation]:
    """The selected checks of one group."""
    selected = {key.name for key in context.selected_asset_check_keys}
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


def evaluate_collection(report: dg.AssetKey, books: Books) -> dg.AssetCheckResult:
    """Whether the collection's books balance."""
    return dg.AssetCheckResult(
        asset_key=report,
        check_name=BOOKS_BALANCE,
        passed=books.balanced,
        severity=dg.AssetCheckSeverity.ERROR,
        metadata={"missing": books.missing, "extra": books.extra, "unbalanced_documents": books.unbalanced},
    )
