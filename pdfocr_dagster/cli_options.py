"""Options and arguments that several commands have. Imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

if TYPE_CHECKING:
    from pdfocr_core.settings import ObserveSettings

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

CpuModelOption = Annotated[
    str | None,
    typer.Option(
        "--cpu-model", help="What the CPU engine reads with: accurate, balanced (default), fast or a directory."
    ),
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


def observing(metrics_port: int | None = None, log_file: str | None = None) -> ObserveSettings:
    """What people see of a run, from options and environment; a wrong value ends the command."""
    from pdfocr_core.errors import PdfocrError
    from pdfocr_core.settings import ObserveSettings
    from pdfocr_dagster.environment import settings_from

    try:
        return settings_from(ObserveSettings, {"metrics_port": metrics_port, "log_file": log_file})
    except PdfocrError as error:
        _refuse(str(error))


def cpu_model(given: str | None) -> str | None:
    """A directory is named from the root on: Dagster's processes may run elsewhere."""
    return str(Path(given).expanduser().absolute()) if given and Path(given).expanduser().is_dir() else given


def server_urls(given: list[str] | None) -> list[str] | None:
    """The URLs for the run's configuration, which Dagster keeps: those with a secret in them take another way."""
    if given and any("?" in url or "@" in url for url in given):
        os.environ["PDFOCR_SERVER_URLS"] = "\n".join(given)
        return None
    return given or None
