"""Options and arguments that several commands have. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

WorkspaceOption = Annotated[
    str, typer.Option("--workspace", "-w", envvar="PDFOCR_WORKSPACE", help="Local folder or s3:// URL for all results.")
]
EndpointOption = Annotated[
    str | None, typer.Option("--endpoint", help="URL of an S3-compatible store; AWS_ENDPOINT_URL does the same.")
]
SourceProfileOption = Annotated[
    str | None, typer.Option("--source-profile", help="AWS profile for the sources; default: AWS_PROFILE.")
]
WorkspaceProfileOption = Annotated[
    str | None, typer.Option("--workspace-profile", help="AWS profile for the workspace; default: AWS_PROFILE.")
]


def existing(workspace: str) -> str:
    """The root of a workspace that has to be there already."""
    from pdfocr_core.store import is_url

    root = absolute(workspace)
    if not is_url(root) and not Path(root).is_dir():
        Console(stderr=True).print(f"pdfocr: There is no workspace at {root}.", style="red", soft_wrap=True)
        raise typer.Exit(2)
    return root


def place_of(root: str, endpoint: str | None, profile: str | None) -> dict[str, Any]:
    """Configuration of the resource `workspace`."""
    return without_none({"root": root, "endpoint": endpoint, "profile": profile})


def absolute(workspace: str) -> str:
    """A workspace as it is named in every run's configuration."""
    from pdfocr_core.store import is_url

    return workspace.rstrip("/") if is_url(workspace) else str(Path(workspace).absolute())


def without_none(values: dict[str, Any]) -> dict[str, Any]:
    """What was given."""
    return {name: value for name, value in values.items() if value is not None}
