"""What a run would need on this machine, checked before anything is started."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from pdfocr_core.engines.model import PROMPT_ALLOWANCE, Profile
from pdfocr_core.errors import PdfocrError
from pdfocr_core.serving.arguments import value_of
from pdfocr_core.serving.choice import build_server, choose_engine, choose_profile, model_to_load
from pdfocr_core.serving.cpu import usable_cores
from pdfocr_core.serving.preflight import preflight
from pdfocr_core.serving.weights import cache_folder
from pdfocr_core.settings import EngineKind, ServerSettings, StorageSettings
from pdfocr_core.store import is_url
from pdfocr_core.workspace import open_workspace

__all__ = ["Check", "checks"]

_FREE_DISK_GB = 2
_CPU_WORKER_GB = 1.0


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: what was looked at, whether it will do, what to do when it will not."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def checks(workspace: str, settings: ServerSettings, storage: StorageSettings | None = None) -> Iterator[Check]:
    """All findings, one after the other; later ones may take a moment (a server is asked)."""
    yield from _packages()
    yield _workspace(workspace, storage)
    yield _disk(tempfile.gettempdir(), "temporary disk")
    kind = choose_engine(settings)
    yield Check(
        "engine", True, f"{kind.value} ({'asked for' if settings.engine is kind else 'chosen for this machine'})"
    )
    yield from _engine(settings, kind)


def _packages() -> Iterator[Check]:
    for name in ("pdfocr", "dagster", "pypdfium2", "obstore", "rapidocr"):
        try:
            yield Check(name, True, version(name))
        except PackageNotFoundError:
            yield Check(name, False, "not installed", f"Run `pip install {name}`.")


def _workspace(workspace: str, storage: StorageSettings | None) -> Check:
    probe = f".probe-{os.getpid()}"
    try:
        store = open_workspace(workspace, storage).store
        store.write(probe, b"")
        store.delete(probe)
    except (PdfocrError, OSError) as error:
        return Check("workspace", False, str(error), "Choose a place that can be written with --workspace.")
    return (
        Check("workspace", True, f"{workspace} can be written") if is_url(workspace) else _disk(workspace, "workspace")
    )


def _disk(path: str, name: str) -> Check:
    free = shutil.disk_usage(path).free / 1e9
    return Check(name, free >= _FREE_DISK_GB, f"{path}: {free:.1f} GB free", f"Free {_FREE_DISK_GB} GB or more.")


def _engine(settings: ServerSettings, kind: EngineKind) -> Iterator[Check]:
    try:
        server = build_server(settings, kind)
        profile = choose_profile(settings, kind, server)
    except PdfocrError as error:
        yield Check("model", False, str(error))
        return
    which = f", reading with {settings.cpu_model}" if kind is EngineKind.CPU else ""
    yield Check("model", True, f"{profile.model} ({profile.licence.id}){which}")
    if kind is EngineKind.CPU:
        workers = settings.cpu_workers or usable_cores()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        yield Check(
            "memory",
            memory >= workers * _CPU_WORKER_GB + 1,
            f"{memory:.1f} GB for {workers} OCR processes of up to {_CPU_WORKER_GB:.0f} GB",
            "Set PDFOCR_CPU_WORKERS to fewer processes.",
        )
    if kind is EngineKind.VLLM:
        yield from _vllm(settings, profile)
    if kind is EngineKind.REMOTE:
        try:
            endpoint = server.start()
        except PdfocrError as error:
            yield Check("server", False, str(error))
        else:
            yield Check("server", True, f"{endpoint.label} serves {endpoint.model}")


def _vllm(settings: ServerSettings, profile: Profile) -> Iterator[Check]:
    length = value_of([*profile.serve.args, *settings.vllm_args], "--max-model-len")
    for found in preflight(
        model_to_load(settings, profile),
        executable=settings.vllm_program,
        min_version=profile.serve.min_vllm,
        max_version=profile.serve.max_vllm,
        image_tokens=profile.worst_image_tokens,
        max_tokens=profile.sampling.max_tokens + PROMPT_ALLOWANCE,
        max_model_len=int(length) if length and length.isdigit() else None,
        revision=settings.revision or profile.revision,
        size=profile.size,
        cache=cache_folder(settings.cache_dir),
    ):
        yield Check(found.name, found.ok, found.detail, found.remedy)
