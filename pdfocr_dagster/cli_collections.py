"""The commands for collections that change, and for those that come from elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_dagster import cli_options as option

__all__ = ["import_olmocr", "prune"]

FAILED, WRONG_USE = 1, 2


def prune(
    workspace: Annotated[str, typer.Argument(help="The workspace to look at.")],
    remove: Annotated[
        bool, typer.Option("--yes", "--delete", help="Remove them; otherwise they are only shown.")
    ] = False,
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
    collection: Annotated[str, typer.Option(help="As for `pdfocr run`.")] = "pdfocr",
) -> None:
    """Show the results of documents whose source has changed or is gone, and remove them when told to."""
    from pdfocr_dagster.command import print_error
    from pdfocr_dagster.pruning import prune_workspace

    try:
        place = option.place_of(option.existing(workspace), endpoint, workspace_profile)
        prune_workspace(place, collection, Console(), remove=remove)
    except PdfocrError as error:
        print_error(error, Console(stderr=True))
        raise typer.Exit(WRONG_USE if isinstance(error, ConfigurationError) else FAILED) from None


def import_olmocr(
    olmocr: Annotated[str, typer.Argument(help="The olmOCR workspace: a local folder or s3:// URL. It is only read.")],
    workspace: option.WorkspaceOption = "workspace",
    base: Annotated[
        str, typer.Option(help="The folder olmOCR was run in, for documents named by relative paths.")
    ] = ".",
    markdown: Annotated[bool, typer.Option(help="Write Markdown files too.")] = True,
    keep_changed: Annotated[
        bool, typer.Option(help="Take results of sources written after them, as after copying the sources.")
    ] = False,
    allow_absent: Annotated[bool, typer.Option(help="Go on where none of the sources is there.")] = False,
    ignore_locks: Annotated[bool, typer.Option(help="Go on where workers of olmOCR hold locks.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what would be imported.")] = False,
    source_profile: option.SourceProfileOption = None,
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
    collection: Annotated[str, typer.Option(help="As for `pdfocr run`.")] = "pdfocr",
) -> None:
    """Adopt a workspace of olmOCR: its results are taken over, what it lost is left for the next run."""
    from pdfocr_dagster.command import print_error
    from pdfocr_dagster.importing import ImportOrder, import_olmocr
    from pdfocr_dagster.places import no_empty_folder

    order = ImportOrder(
        olmocr=option.absolute(olmocr),
        place=option.place_of(option.absolute(workspace), endpoint, workspace_profile),
        sources=option.without_none({"endpoint": endpoint, "profile": source_profile}),
        base=base,
        collection=collection,
        markdown=markdown,
        keep_changed=keep_changed,
        allow_absent=allow_absent,
        ignore_locks=ignore_locks,
        dry_run=dry_run,
    )
    try:
        with no_empty_folder(str(order.place["root"])):
            import_olmocr(order, Console())
    except PdfocrError as error:
        print_error(error, Console(stderr=True))
        raise typer.Exit(WRONG_USE if isinstance(error, ConfigurationError) else FAILED) from None
