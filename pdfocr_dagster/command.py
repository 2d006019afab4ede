"""What `pdfocr run` and `pdfocr retry` do: index, read what is not done, report, print the books."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.outputs.books import Books, read_books
from pdfocr_core.serving.choice import check_settings
from pdfocr_core.settings import ObserveSettings, ServerSettings
from pdfocr_core.sources.standing import standings_of
from pdfocr_core.telemetry import Telemetry
from pdfocr_core.workspace import Workspace
from pdfocr_dagster import local_run, runs
from pdfocr_dagster.liveness import repair_runs
from pdfocr_dagster.misspelt import misspelt
from pdfocr_dagster.observe import observed
from pdfocr_dagster.places import no_empty_folder
from pdfocr_dagster.progress import Progress, Show, print_event
from pdfocr_dagster.reporting import reported_books
from pdfocr_dagster.resources import InferenceServer
from pdfocr_dagster.retry_hint import retry_words
from pdfocr_dagster.retrying import Choice
from pdfocr_dagster.storage import WorkspaceResource
from pdfocr_dagster.summary import BadDocuments, print_summary
from pdfocr_dagster.wording import short

OK, FAILED, WRONG_USE, NOT_ALL_OK, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass(frozen=True)
class Order:
    """What the user asked for.

    Attributes:
        index: configuration of `work_index`; None to leave the index as it is.
        resources: configuration of the resources; the workspace's root is added.
        again: read every group again.
        retry: groups that are taken up again; None for an ordinary run.
    """

    workspace: str
    collection: str
    index: Mapping[str, Any] | None = None
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    markdown: bool = True
    again: bool = False
    retry: Choice | None = None
    as_json: bool = False
    quiet: bool = False
    observing: ObserveSettings = field(default_factory=ObserveSettings)

    @property
    def show(self) -> Show:
        """Who looks at the progress; JSON goes before quiet."""
        return Show.MACHINES if self.as_json else Show.NOBODY if self.quiet else Show.PEOPLE


def carry_out(order: Order, console: Console) -> int:
    """Do it, and return the exit code; whatever goes wrong is told in plain words."""
    try:
        with no_empty_folder(order.workspace):
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
    for name, right in misspelt(os.environ):
        console.print(f"pdfocr: {name} is set, and nothing reads it. Is {right} meant?", style="yellow", soft_wrap=True)
    place = {**order.resources.get("workspace", {}), "root": order.workspace}
    resources = {**order.resources, "workspace": place}
    workspace = WorkspaceResource(**place).open()
    server = InferenceServer(**order.resources.get("inference", {})).settings()
    check_settings(server)
    with runs.open_instance(order.workspace) as (instance, home), local_run.sharing() as shared:
        if not order.quiet:
            console.print(f"History for the Dagster UI: {short(home)}", highlight=False, soft_wrap=True)
        repair_runs(instance)
        collection = runs.CollectionRuns(instance, order.collection, resources)
        collection.check_owner(order.workspace)
        with observed(shared.telemetry, order.observing), Progress(shared.telemetry, console, order.show):
            success, books = _execute(order, collection, shared, workspace, server)
        for error in shared.failures:
            print_error(error, console)
        if collection.left_to_others:
            runs_of_others = ", ".join(sorted(set(collection.left_to_others.values())))
            left = len(collection.left_to_others)
            some = "1 group is being read" if left == 1 else f"{left} groups are being read"
            console.print(
                f"pdfocr: {some} by another run ({runs_of_others}) and left to it. "
                "`pdfocr status` shows how far it is; if it is not alive, end it in the Dagster UI.",
                style="yellow",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        if not success and not shared.failures:
            console.print("pdfocr: The run failed. Its log is in the Dagster UI (`dagster dev`).", style="red")
            for line in dict.fromkeys(collection.errors):
                console.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)
        if not success:
            configuration = bool(shared.failures) and all(isinstance(e, ConfigurationError) for e in shared.failures)
            return WRONG_USE if configuration else FAILED
    bad = BadDocuments(standings_of(workspace).by_document())
    if books is None or books.not_ok:
        books = read_books(workspace, bad.add)
    if order.as_json:
        print_event("end", workspace=order.workspace, **books.to_json())
    retry = retry_words(short(order.workspace), server, resources, collection=order.collection, markdown=order.markdown)
    print_summary(console, books, bad, order.workspace, shared.telemetry, retry=retry)
    return OK if bad.unexpected == 0 and books.pending == 0 else NOT_ALL_OK


def _execute(
    order: Order,
    collection: runs.CollectionRuns,
    shared: local_run.LocalRun,
    workspace: Workspace,
    server: ServerSettings,
) -> tuple[bool, Books | None]:
    """Whether all went well; and the books, where there was nothing to do and the report has them."""
    names = runs.group_assets(markdown=order.markdown)
    if order.index is not None:
        shared.telemetry.phase = "listing the sources"
        if not collection.index(order.index):
            return False, None
    if order.retry is None:
        keys, not_done = workspace.group_keys(), workspace.reopened()
        todo = collection.todo(keys, names, again=order.again, not_done=not_done)
    else:
        todo = list(order.retry.groups)
        collection.todo(todo, names, again=True)
    shared.telemetry.phase = "reading" if todo else "nothing to read"
    _plan(shared.telemetry, workspace, set(todo))
    success = collection.groups(todo, names)
    if todo and len(collection.left_to_others) == len(todo):
        return success, None  # the runs that read them write the report
    if not todo and collection.reported_since(names) and (books := reported_books(workspace, server)):
        return success, books
    shared.telemetry.phase = "writing the report"
    return collection.report() and success, None


def _plan(telemetry: Telemetry, workspace: Workspace, todo: Collection[str]) -> None:
    """Tell beforehand how much there is to read: groups become known one by one otherwise."""
    rows = [row.pages for row in workspace.read_index() if row.group in todo] if todo else []
    telemetry.plan(len(todo), len(rows), sum(rows))
