"""The command `pdfocr view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pdfocr_core.errors import PdfocrError
from pdfocr_dagster import cli_options as option

__all__ = ["view"]

WRONG_USE = 2


def view(
    workspace: Annotated[str, typer.Argument(help="The workspace to look at: a local folder or s3:// URL.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes any that is free.")] = 8800,
    compare: Annotated[
        str | None, typer.Option(help="Another workspace with the same documents, to be shown beside this one.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(file_okay=False, help="Write the viewer into this folder, to be opened from disk.")
    ] = None,
    max_documents: Annotated[int, typer.Option(min=1, help="Documents of an export at most.")] = 1000,
    pictures: Annotated[bool, typer.Option(help="Draw the pages for an export too.")] = True,
    launch: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
    source_profile: option.SourceProfileOption = None,
    workspace_profile: option.WorkspaceProfileOption = None,
    endpoint: option.EndpointOption = None,
) -> None:
    """Look at a workspace in the browser: documents, pages, what was read. Nothing is changed."""
    from rich.progress import Progress

    from pdfocr_core.store import store_opener
    from pdfocr_core.viewer import export as exporting
    from pdfocr_core.viewer.serve import serve
    from pdfocr_dagster.environment import variable
    from pdfocr_dagster.storage import SourcesResource, WorkspaceResource

    console = Console(stderr=True)
    roots = [option.existing(name) for name in (workspace, compare) if name is not None]
    try:
        opened = [WorkspaceResource(**option.place_of(root, endpoint, workspace_profile)).open() for root in roots]
        other = opened[1] if compare is not None else None
        opener = store_opener(SourcesResource(endpoint=endpoint, profile=source_profile).storage())
        passwords = (variable("passwords") or "").splitlines()
        if export is None:

            def ready(address: str) -> None:
                console.print(
                    f"Serving {roots[0]} at {address} (Ctrl-C ends it).", highlight=False, markup=False, soft_wrap=True
                )
                if launch:
                    typer.launch(address)

            serve(opened[0], port=port, compare=other, passwords=passwords, opener=opener, on_ready=ready)
            return
        with (
            option.told_files(),
            Progress(console=console, disable=not console.is_terminal, transient=True) as progress,
        ):
            task = progress.add_task("Writing documents", total=None)
            number = exporting.export(
                opened[0],
                export,
                compare=other,
                most=max_documents,
                pictures=pictures,
                passwords=passwords,
                opener=opener,
                on_document=lambda done, total: progress.update(task, completed=done, total=total),
            )
        console.print(
            f"{number} documents are in {export / 'index.html'}.", highlight=False, markup=False, soft_wrap=True
        )
    except PdfocrError as error:
        console.print(f"pdfocr: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(WRONG_USE) from None
