"""Options and arguments that several commands have. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

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


@contextmanager
def told_files() -> Iterator[None]:
    """A file of the user's that cannot be read or written ends the command with its name and the reason."""
    try:
        yield
    except OSError as error:
        reason = f"{error.filename} cannot be used: {error.strerror}" if error.filename else str(error)
        _refuse(f"{reason}. Name another place, or let this user reach it.", code=1)


def existing(workspace: str) -> str:
    """The root of a workspace that has to be there already."""
    from pdfocr_core.store import is_url

    root = absolute(workspace)
    if is_url(root):
        return root
    folder = Path(root)
    if not folder.is_dir():
        _refuse(f"There is no workspace at {root}. Name the folder that `pdfocr run` was given with --workspace.")
    if any(folder.iterdir()) and not any((folder / name).is_dir() for name in ("index", "groups", "report")):
        _refuse(f"{root} is no workspace. Name the folder that `pdfocr run` was given with --workspace.")
    return root


def _refuse(words: str, code: int = 2) -> NoReturn:
    Console(stderr=True).print(f"pdfocr: {words}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(code)


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
