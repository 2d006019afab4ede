"""What `pdfocr import-olmocr` does: takes an olmOCR workspace over, and tells Dagster what is done by that."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from rich.console import Console

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.flow.group import GroupResult
from pdfocr_core.migration.adopt import ImportedGroup, OlmocrImport, adopt
from pdfocr_core.migration.olmocr import OlmocrWorkspace
from pdfocr_core.migration.sources import Sources
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import IndexSettings, RenderSettings
from pdfocr_core.store import Store, is_url, open_store, store_opener
from pdfocr_core.workspace import Workspace
from pdfocr_dagster import runs
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.metadata import group_metadata
from pdfocr_dagster.partitions import asset_key, register_groups
from pdfocr_dagster.pruning import check_idle
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource
from pdfocr_dagster.wording import short

__all__ = ["ImportOrder", "import_olmocr"]

_SHOWN = 10


@dataclass(frozen=True)
class ImportOrder:
    """What the user asked for.

    Attributes:
        olmocr: the root of the olmOCR workspace; it is reached as our own workspace is.
        place, sources: configuration of the resources of these names.
        base: the folder that olmOCR was run in.
    """

    olmocr: str
    place: Mapping[str, Any]
    sources: Mapping[str, Any] = field(default_factory=dict)
    base: str = "."
    collection: str = "pdfocr"
    markdown: bool = True
    keep_changed: bool = False
    allow_absent: bool = False
    ignore_locks: bool = False
    dry_run: bool = False


def import_olmocr(order: ImportOrder, console: Console) -> OlmocrImport:
    """Carry it out, or with `dry_run` only say what would be done.

    Raises:
        ConfigurationError: see `pdfocr_core.migration.adopt`; or one of the workspaces is being written to.
    """
    root = str(order.place["root"])
    if root == order.olmocr:
        raise ConfigurationError(
            f"{root} cannot be both workspaces.",
            remedy="Name a new folder or prefix with --workspace; the olmOCR workspace is only read.",
        )
    resource = WorkspaceResource(**order.place)
    theirs = _open_theirs(order.olmocr, resource)
    olmocr = OlmocrWorkspace(theirs)
    locked = olmocr.locked()
    if locked and not order.ignore_locks:
        raise ConfigurationError(
            f"olmOCR is working on {order.olmocr}: {len(locked)} of its work items are locked, {locked[0]} among them.",
            code="olmocr_running",
            remedy="Wait until it has ended; if it was killed, give --ignore-locks.",
        )
    next(olmocr.items(), None)  # a folder that is none of olmOCR's is refused before anything is made
    workspace = resource.open()
    if order.dry_run:
        report = _adopt(order, workspace, olmocr, None)
        _print(console, order, report)
        return report
    with runs.open_instance(root) as (instance, _home):
        check_idle(instance, root)
        collection = runs.CollectionRuns(instance, order.collection, {"workspace": order.place})
        collection.check_owner(root)
        report = _adopt(order, workspace, olmocr, instance)
        register_groups(instance, order.collection, report.to_read)
        if report.groups or report.to_read:
            collection.report()
    _print(console, order, report)
    return report


def _open_theirs(url: str, resource: WorkspaceResource) -> Store:
    if not is_url(url) and not os.path.isdir(url):  # noqa: PTH112
        raise ConfigurationError(f"There is no folder {url}.", remedy="Name the olmOCR workspace.")
    return open_store(url, resource.storage())


def _adopt(
    order: ImportOrder, workspace: Workspace, olmocr: OlmocrWorkspace, instance: dg.DagsterInstance | None
) -> OlmocrImport:
    settings = settings_from(IndexSettings, {})
    sources = Sources(order.base, store_opener(SourcesResource(**order.sources).storage()), settings.archive_limits)
    tell = None if instance is None else _Teller(order, instance)
    with RenderPool(RenderSettings()) as pool:
        return adopt(
            workspace,
            olmocr,
            sources,
            settings,
            counter=pool.count_pages_sync if settings.count_pages else None,
            on_group=tell,
            markdown=order.markdown,
            keep_changed=order.keep_changed,
            allow_absent=order.allow_absent,
            write=instance is not None,
        )


class _Teller:
    """Reports each imported group to Dagster as materialized, once."""

    def __init__(self, order: ImportOrder, instance: dg.DagsterInstance) -> None:
        self._order, self._instance = order, instance
        self._keys = [asset_key(order.collection, name) for name in runs.group_assets(markdown=order.markdown)]
        self._done = {key: set(instance.get_materialized_partitions(key)) for key in self._keys}

    def __call__(self, group: ImportedGroup) -> None:
        register_groups(self._instance, self._order.collection, [group.key])
        result = GroupResult(group.key, rows=group.rows, reused=True)
        metadata = {
            **group_metadata(result),
            "imported_from": self._order.olmocr,
            "olmocr_work_item": group.item,
        }
        for key in self._keys:
            if group.key not in self._done[key]:
                event = dg.AssetMaterialization(key, partition=group.key, metadata=metadata)
                self._instance.report_runless_asset_event(event)


def _print(console: Console, order: ImportOrder, report: OlmocrImport) -> None:
    done = "would be imported" if order.dry_run else "imported"
    taken = f"{len(report.imported)} documents with {report.pages} pages {done} in {len(report.groups)} groups"
    lines = [f"olmOCR: {report.items} work items; {taken}, {report.known} were there before."]
    not_done = len(report.lost) + len(report.unfinished) + len(report.changed) + len(report.mixed)
    if not_done:
        lines.append(f"Not done, read by the next `pdfocr run`: {not_done} documents in {len(report.to_read)} groups.")
    if report.damaged:
        lines.append(f"{report.damaged} lines of results are damaged; their documents count as not done.")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for words, urls in (
        ("discarded by olmOCR without a word", report.lost),
        ("not finished by olmOCR", report.unfinished),
        (f"written again after olmOCR read them ({_changed(order)})", report.changed),
        ("left for the next run by an earlier import; olmOCR's results need a new workspace now", report.left),
        ("of the same name as another member of their archive, which olmOCR confuses", report.mixed),
        ("imported, though the source is not there any more (marked as gone)", report.absent),
        ("neither a result nor a source", report.missing),
    ):
        _list(console, words, urls)


def _changed(order: ImportOrder) -> str:
    """What can be done about sources that are newer than their results: once they are indexed, a run reads them."""
    if order.dry_run:
        return "--keep-changed takes the results all the same"
    return "the next run reads them; for olmOCR's results import with --keep-changed into a new workspace"


def _list(console: Console, words: str, urls: Sequence[str]) -> None:
    if urls:
        console.print(f"  {len(urls)} {words}:", markup=False, highlight=False, soft_wrap=True)
    for url in urls[:_SHOWN]:
        console.print(f"    {short(url)}", markup=False, highlight=False, soft_wrap=True)
    if len(urls) > _SHOWN:
        console.print(f"    … and {len(urls) - _SHOWN} more")
