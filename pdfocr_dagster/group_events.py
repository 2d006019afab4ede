"""Reads groups inside an op and reports each to Dagster the moment it ends."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from pdfocr_core.errors import PdfocrError
from pdfocr_core.flow.group import GroupResult, Stages
from pdfocr_core.session import Session
from pdfocr_core.settings import ServerSettings
from pdfocr_core.workspace import Workspace
from pdfocr_dagster import run_log
from pdfocr_dagster.bridge import AsyncBridge
from pdfocr_dagster.failing import failure_of_groups
from pdfocr_dagster.metadata import group_metadata
from pdfocr_dagster.observe import log_document, log_page
from pdfocr_dagster.ownership import Ownership
from pdfocr_dagster.previews import Thumbnails
from pdfocr_dagster.run_lines import RunLines
from pdfocr_dagster.status import prices_of
from pdfocr_dagster.termination import on_sigterm

__all__ = ["DOLMA", "MARKDOWN", "PAGES", "record_groups"]

PAGES, DOLMA, MARKDOWN = "page_groups", "dolma_documents", "markdown_export"

_TOLD_WITHIN_S = 0.25  # an interrupt and what is told of its cause come in two threads

Evaluate = Callable[[GroupResult], Iterator[dg.AssetCheckEvaluation]]


def record_groups(
    context: dg.AssetExecutionContext | dg.OpExecutionContext,
    session: Session,
    workspace: Workspace,
    todo: Sequence[str],
    *,
    assets: Mapping[str, dg.AssetKey],
    evaluate: Evaluate,
    server: ServerSettings,
    previews: Thumbnails | None = None,
) -> Iterator[Any]:
    """Read the groups and yield the events of each.

    Args:
        context: the op's.
        session: how they are read.
        workspace: where they are.
        todo: their keys.
        assets: the assets that are wanted, by name.
        evaluate: the checks of one group.
        server: the prices for the metadata.
        previews: draws a page of each group; without it there are no pictures.

    Raises:
        dagster.Failure: some groups failed by themselves; the others are whole.
        PdfocrError: the run cannot go on.
    """
    stages = Stages(pages=PAGES in assets, dolma=DOLMA in assets, markdown=MARKDOWN in assets)
    failed: dict[str, PdfocrError] = {}
    lines = RunLines(context.log, session.telemetry)
    ownership = Ownership(context.instance, context.run.run_id)

    def read() -> AsyncIterator[GroupResult]:
        return session.read_groups(workspace, todo, stages, on_page=log_page)

    def waiting() -> None:
        lines.waiting()
        ownership.look()

    def leave() -> float:
        return session.settings.stop_grace_s if session.stopping.told_by(_TOLD_WITHIN_S) else 0.0

    with (
        on_sigterm(session.stopping.tell),
        run_log.captured(session.telemetry),
        AsyncBridge(read, on_wait=waiting, on_leave=leave) as results,
    ):
        for result in results:
            ownership.confirm()
            if result.error is not None:
                context.log.error("group %s: %s", result.key, result.error)
                failed[result.key] = result.error
                continue
            metadata = group_metadata(
                result,
                prices=prices_of(server),
                samples=session.telemetry.samples_of_last(result.seconds),
            )
            for row in result.rows:
                log_document(row)
            for name, key in assets.items():
                of_asset = {**metadata, **_files(workspace, name, result.key)}
                picture = previews.of(result) if previews is not None and name == PAGES else None
                if picture is not None:
                    of_asset["sampled_page"] = picture
                yield dg.AssetMaterialization(key, partition=result.key, metadata=of_asset)
            yield from evaluate(result)
            lines.group(_line(result))
        lines.end()
    if failed:
        raise failure_of_groups(context, failed, len(todo))


def _files(workspace: Workspace, name: str, key: str) -> dict[str, dg.MetadataValue[Any]]:
    """Where to find what an asset's partition stands for."""
    files = {
        PAGES: {"page_records": f"pages/{key}.jsonl.zst", "manifest": f"groups/{key}.json"},
        DOLMA: {"documents_file": f"results/output_{key}.jsonl", "status_rows": f"status/{key}.jsonl"},
        MARKDOWN: {"folder": "markdown"},
    }[name]
    return {label: dg.MetadataValue.path(f"{workspace.url}/{path}") for label, path in files.items()}


def _line(result: GroupResult) -> str:
    pages = sum(row.pages for row in result.rows)
    how = "was read before" if result.reused else f"{pages} pages in {result.seconds:.1f} s"
    return f"group {result.key}: {len(result.rows)} documents, {how}"
