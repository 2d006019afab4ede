"""What `pdfocr run` and `pdfocr retry` do: index, read what is not done, report, print the books."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import typer
from rich.console import Console

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.outputs.report import books_of
from pdfocr_core.records import StatusRow
from pdfocr_core.workspace import Workspace
from pdfocr_dagster import local_run, runs
from pdfocr_dagster.liveness import repair_runs
from pdfocr_dagster.progress import Progress
from pdfocr_dagster.storage import WorkspaceResource
from pdfocr_dagster.summary import print_summary, short

OK, FAILED, WRONG_USE, NOT_ALL_OK, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass(frozen=True)
class Order:
    """What the user asked for.

    Attributes:
        index: configuration of `work_index`; None to leave the index as it is.
        resources: configuration of the resources; the workspace's root is added.
        again: read every group again.
        retry: reasons whose groups are taken up again; None for an ordinary run.
    """

    workspace: str
    collection: str
    index: Mapping[str, Any] | None = None
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    markdown: bool = True
    again: bool = False
    retry: Collection[str] | None = None
    as_json: bool = False
    quiet: bool = False


def carry_out(order: Order, console: Console) -> int:
    """Do it, and return the exit code; whatever goes wrong is told in plain words."""
    try:
        return _carry_out(order, console)
    except KeyboardInterrupt:
        console.print("Stopped. What was read is kept; the same command goes on from here.")
        return INTERRUPTED
    except PdfocrError as error:
        print_error(error, console)
        return WRONG_USE if isinstance(error, ConfigurationError) else FAILED


def print_error(error: PdfocrError, console: Console) -> None:
    """One error, with its remedy."""
    console.print(f"pdfocr: {error}", style="red", markup=False, highlight=False, soft_wrap=True)


def _carry_out(order: Order, console: Console) -> int:
    place = {**order.resources.get("workspace", {}), "root": order.workspace}
    resources = {**order.resources, "workspace": place}
    workspace = WorkspaceResource(**place).open()
    with runs.open_instance(order.workspace) as (instance, home), local_run.sharing() as shared:
        if not order.quiet:
            console.print(f"History for the Dagster UI: {short(home)}", highlight=False, soft_wrap=True)
        repair_runs(instance)
        collection = runs.CollectionRuns(instance, order.collection, resources)
        collection.check_owner(order.workspace)
        with Progress(shared.telemetry, console, quiet=order.quiet):
            success = _execute(order, collection, shared, workspace)
        for error in shared.failures:
            print_error(error, console)
        if not success and not shared.failures:
            console.print("pdfocr: The run failed. Its log is in the Dagster UI (`dagster dev`).", style="red")
            for line in dict.fromkeys(collection.errors):
                console.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)
        if not success:
            configuration = bool(shared.failures) and all(isinstance(e, ConfigurationError) for e in shared.failures)
            return WRONG_USE if configuration else FAILED
    books, rows = books_of(workspace)
    if order.as_json:
        typer.echo(json.dumps(books.to_json(), indent=1))
    print_summary(console, books, rows, order.workspace, shared.telemetry)
    return OK if books.not_ok == 0 and books.pending == 0 else NOT_ALL_OK


def _execute(order: Order, collection: runs.CollectionRuns, shared: local_run.LocalRun, workspace: Workspace) -> bool:
    names = runs.group_assets(markdown=order.markdown)
    if order.index is not None:
        shared.telemetry.phase = "listing the sources"
        if not collection.index(order.index):
            return False
    if order.retry is None:
        todo = collection.todo(workspace.group_keys(), names, again=order.again)
    else:
        _books, rows = books_of(workspace)
        todo = groups_with(rows, order.retry)
        collection.todo(todo, names, again=True)
    shared.telemetry.phase = "reading" if todo else "nothing to read"
    success = collection.groups(todo, names)
    shared.telemetry.phase = "writing the report"
    return collection.report() and success


def groups_with(rows: Sequence[StatusRow], reasons: Collection[str]) -> list[str]:
    """Groups that have a document or a page with one of these reasons, in order."""
    return list(dict.fromkeys(row.group for row in rows if {row.reason, *row.page_reasons} & set(reasons)))


def reasons_of(rows: Sequence[StatusRow], statuses: Collection[str]) -> set[str]:
    """Every reason of documents with one of these statuses, their pages' reasons included."""
    found: set[str] = set()
    for row in rows:
        if row.status.value in statuses:
            found |= {reason for reason in (row.reason, *row.page_reasons) if reason}
    return found
