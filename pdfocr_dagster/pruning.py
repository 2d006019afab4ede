"""What `pdfocr prune` does: shows what superseded and gone documents take up, and removes it when told to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.execution.backfill import BulkActionStatus
from rich.console import Console
from rich.filesize import decimal

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.prune import Pruned, prune
from pdfocr_core.store import is_url
from pdfocr_dagster import runs
from pdfocr_dagster.pending import unfinished_runs
from pdfocr_dagster.storage import WorkspaceResource
from pdfocr_dagster.wording import short

__all__ = ["check_idle", "prune_workspace"]

_SHOWN = 10


def prune_workspace(place: Mapping[str, Any], collection: str, console: Console, *, remove: bool) -> Pruned:
    """Show, and with `remove` take away, the results of superseded and gone documents.

    Raises:
        ConfigurationError: a run is writing to the workspace, or the collection is another one's.
    """
    root = str(place["root"])
    workspace = WorkspaceResource(**place).open()
    if not remove:
        found = prune(workspace, remove=False)
        _print(console, found, "would be removed")
        if found.documents:
            console.print("Nothing was removed. Add --yes to remove them.")
        return found
    with runs.open_instance(root) as (instance, _home):
        check_idle(instance, root)
        collection_runs = runs.CollectionRuns(instance, collection, {"workspace": place})
        collection_runs.check_owner(root)
        found = prune(workspace, remove=True)
        if found.documents:
            collection_runs.report()
    _print(console, found, "were removed")
    return found


def check_idle(instance: dg.DagsterInstance, root: str) -> None:
    """Refuse while anything of this Dagster instance may be writing to the workspace.

    Raises:
        ConfigurationError: a run or a backfill is on its way; those of other workspaces do not count.
    """
    active = [run.run_id for run in unfinished_runs(instance) if _may_write(run, root)]
    active += [backfill.backfill_id for backfill in instance.get_backfills(status=BulkActionStatus.REQUESTED)]
    if active:
        raise ConfigurationError(
            f"A run is writing to {root}: {', '.join(active[:3])}.",
            code="run_active",
            remedy="Wait until it has ended, or end it in the Dagster UI.",
        )


def _may_write(run: dg.DagsterRun, root: str) -> bool:
    config: Any = run.run_config
    for name in ("resources", "workspace", "config", "root"):
        config = config.get(name) if isinstance(config, Mapping) else None
    if not isinstance(config, str):
        return True  # it takes the workspace from its environment, which we cannot see
    named = config.rstrip("/") if is_url(config) else str(Path(config).absolute())
    return named == root


def _print(console: Console, found: Pruned, what: str) -> None:
    if found.documents:
        by_kind = ", ".join(f"{kind} {decimal(size)}" for kind, size in sorted(found.bytes.items()) if size)
        console.print(
            f"Results of {len(found.documents)} documents in {found.groups} groups {what} "
            f"({found.number('superseded')} superseded, {found.number('gone')} gone, "
            f"{found.number('left_over')} left over): {decimal(sum(found.bytes.values()))} ({by_kind}).",
            highlight=False,
            soft_wrap=True,
        )
    else:
        console.print("No results of superseded or gone documents.")
    for document in found.documents[:_SHOWN]:
        console.print(f"    {document.why}: {short(document.url)}", markup=False, highlight=False, soft_wrap=True)
    if len(found.documents) > _SHOWN:
        console.print(f"    … and {len(found.documents) - _SHOWN} more")
    if found.held:
        console.print(f"{found.held} superseded documents stay: their new version has not been read, or not well.")
