"""From settings to the server that reads: which engine, which model profile, and the server built for them."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from pdfocr_core.cpu_engine.models import choose_model
from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.model import PROMPT_ALLOWANCE
from pdfocr_core.engines.profile import Profile, check_licence, load_profile
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.abilities import STREAM_INTERVAL
from pdfocr_core.serving.arguments import value_of
from pdfocr_core.serving.canary import canary, canary_picture
from pdfocr_core.serving.cpu import CpuServer
from pdfocr_core.serving.managed import Canary
from pdfocr_core.serving.preflight import check_context
from pdfocr_core.serving.remote import RemoteServer
from pdfocr_core.serving.server import InferenceServer
from pdfocr_core.serving.vllm import VllmServer, find_vllm
from pdfocr_core.serving.vllm_version import VersionRange
from pdfocr_core.serving.weights import cache_folder
from pdfocr_core.settings import EngineKind, ServerSettings

__all__ = [
    "Servers",
    "build_server",
    "check_settings",
    "choose_engine",
    "choose_profile",
    "model_to_load",
    "weights_of",
]

_CANARY_TOKENS = 16
_DEFAULT_MODEL = {EngineKind.CPU: "pdfocr-cpu", EngineKind.VLLM: "olmocr-2"}


def choose_engine(settings: ServerSettings) -> EngineKind:
    """What `auto` stands for here: the servers that are named, vLLM where it and a GPU are found, else the CPU."""
    if settings.engine is not EngineKind.AUTO:
        return settings.engine
    if settings.server_urls:
        return EngineKind.REMOTE
    try:
        find_vllm(settings.vllm_program)
    except ConfigurationError:
        return EngineKind.CPU
    return EngineKind.VLLM if _gpu_is_visible() else EngineKind.CPU


def _gpu_is_visible() -> bool:
    program = shutil.which("nvidia-smi")
    if program is None:
        return False
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and b"GPU" in listed.stdout


def choose_profile(settings: ServerSettings, kind: EngineKind, server: InferenceServer) -> Profile:
    """The profile of the model that will read.

    Raises:
        ConfigurationError: no profile fits the model, or its licence needs to be accepted.
    """
    name = settings.model or _DEFAULT_MODEL.get(kind) or server.start().model
    directories = [Path(settings.profiles_dir)] if settings.profiles_dir else []
    profile = load_profile(name, directories)
    check_licence(profile, settings.accept_license)
    return profile


def check_settings(settings: ServerSettings) -> None:
    """What is wrong whatever there is to read, said before any source is listed; nothing is started or asked.

    Raises:
        ConfigurationError: such a server, or such a model on it, cannot be.
    """
    kind = choose_engine(settings)
    server = build_server(settings, kind)
    if settings.model or kind in _DEFAULT_MODEL:
        choose_profile(settings, kind, server)


def build_server(settings: ServerSettings, kind: EngineKind) -> InferenceServer:
    """The server as configured; nothing is started or asked yet.

    Raises:
        ConfigurationError: it cannot be as configured.
    """
    if kind is EngineKind.CPU:
        choose_model(settings.cpu_model)
        return CpuServer(
            workers=settings.cpu_workers,
            model=settings.cpu_model,
            ready_timeout_s=min(settings.ready_timeout_s, 300.0),
        )
    if kind is EngineKind.REMOTE:
        if not settings.server_urls:
            raise ConfigurationError(
                "engine=remote needs the URL of a server.",
                remedy="Set server_urls (--server), for example http://host:8000/v1.",
            )
        return RemoteServer(
            settings.server_urls,
            model=_served_name(settings),
            api_key=settings.api_key,
            key_header=settings.key_header,
            headers=_headers(settings.headers),
            verify=settings.ca_bundle or True,
        )
    profile = load_profile(settings.model or _DEFAULT_MODEL[kind], _directories(settings))
    _check_context(settings, profile)
    return VllmServer(
        model_to_load(settings, profile),
        revision=settings.revision or profile.revision,
        serve_args=profile.serve.args,
        extra_args=settings.vllm_args,
        env=profile.serve.env,
        executable=settings.vllm_program,
        ready_timeout_s=settings.ready_timeout_s,
        canary=_first_page(profile),
        versions=_versions(profile),
        stream_interval=0 if settings.stream is False else STREAM_INTERVAL,
        cache=cache_folder(settings.cache_dir),
    )


def _versions(profile: Profile) -> VersionRange:
    serve = profile.serve
    return VersionRange(serve.min_vllm, serve.max_vllm, why=serve.version_gated, image_tag=serve.image_tag)


def _first_page(profile: Profile) -> Canary:
    # Without structured output nothing holds the few tokens to a form, and none is needed.
    least = int(profile.sampling.extra_body.get("min_tokens", 0))
    engine = build_engine(profile, max_tokens=max(_CANARY_TOKENS, least))

    def body_for(served_model: str) -> bytes:
        return engine.request(
            canary_picture(engine.image_format),
            engine.image_format,
            temperature=engine.temperatures[0],
            served_model=served_model,
        )

    return canary(body_for)


def _check_context(settings: ServerSettings, profile: Profile) -> None:
    """Refuse a context in which no page could ever be read, before minutes go into loading the model."""
    length = value_of([*profile.serve.args, *settings.vllm_args], "--max-model-len")
    if length is None or not length.isdigit():
        return
    needed = (profile.worst_image_tokens or 0) + PROMPT_ALLOWANCE
    found = check_context(needed, profile.sampling.max_tokens, int(length))
    if not found.ok:
        raise ConfigurationError(f"The context is too small for {profile.name}: {found.detail}.", remedy=found.remedy)


def _directories(settings: ServerSettings) -> list[Path]:
    return [Path(settings.profiles_dir)] if settings.profiles_dir else []


def weights_of(settings: ServerSettings, kind: EngineKind) -> tuple[str | None, str | None]:
    """Which copy of the weights reads: model and revision; None leaves the profile's."""
    if kind is EngineKind.CPU:
        identity = choose_model(settings.cpu_model).identity
        return f"{_DEFAULT_MODEL[kind]}/{identity.rpartition('-')[0]}", identity
    return settings.model if "/" in (settings.model or "") else None, settings.revision


def model_to_load(settings: ServerSettings, profile: Profile) -> str:
    """What vLLM loads: a local directory or hub id as the user named it, else the profile's."""
    named = settings.model or ""
    return named if "/" in named or Path(named).is_dir() else profile.model


def _headers(lines: Sequence[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not name or not colon or not value or not line.isascii():
            # The line itself may be a secret.
            raise ConfigurationError("A header of `headers` is not of the form `Name: value`.")
        headers[name] = value
    return headers


def _served_name(settings: ServerSettings) -> str | None:
    """The name to look for at a remote server: a profile's short name stands for its hub id."""
    if settings.model is None:
        return None
    return load_profile(settings.model, _directories(settings)).model


class Servers:
    """Servers that outlive a session, by their settings; thread-safe."""

    def __init__(self) -> None:
        self._servers: dict[ServerSettings, InferenceServer] = {}
        self._lock = threading.Lock()

    def get(self, settings: ServerSettings, kind: EngineKind) -> InferenceServer:
        """The server of these settings, built on first use."""
        with self._lock:
            if settings not in self._servers:
                self._servers[settings] = build_server(settings, kind)
            return self._servers[settings]

    def close(self) -> None:
        """End them all."""
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            server.stop()
