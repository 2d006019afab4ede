"""Everything that reading pages takes, put together from settings: the model's profile, its server, the workers.

The same session serves the library (`pdfocr_core.reading`) and Dagster runs. The server starts when the first page
needs it, so a run that finds everything done starts none.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from pdfocr_core.engines.engine import Engine, build_engine
from pdfocr_core.engines.model import PROMPT_ALLOWANCE
from pdfocr_core.engines.profile import Profile, check_licence, load_profile
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.flow.group import GroupResult, Stages
from pdfocr_core.flow.pilot import Gauges
from pdfocr_core.flow.scheduler import Connection, read_groups
from pdfocr_core.records import PageRecord
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.serving.arguments import value_of
from pdfocr_core.serving.canary import canary, canary_picture
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.cpu import CpuServer, usable_cores
from pdfocr_core.serving.keepalive import KeepAlive
from pdfocr_core.serving.managed import Canary
from pdfocr_core.serving.pace import Pace
from pdfocr_core.serving.preflight import check_context
from pdfocr_core.serving.remote import RemoteServer
from pdfocr_core.serving.server import InferenceServer
from pdfocr_core.serving.vllm import VllmServer, find_vllm
from pdfocr_core.settings import (
    EngineKind,
    IndexSettings,
    ReadSettings,
    RenderSettings,
    ServerSettings,
    StorageSettings,
)
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.index import IndexReport, update_index
from pdfocr_core.store import store_opener
from pdfocr_core.telemetry import Telemetry
from pdfocr_core.workspace import Workspace

__all__ = [
    "Servers",
    "Session",
    "build_server",
    "choose_engine",
    "choose_profile",
    "index_sources",
    "model_to_load",
]

# Settings of the picture: what the user sets goes before the profile's.
_PICTURE = {"longest_side_px", "image_format", "jpeg_quality"}
# Pages in flight before anything is known of the server.
_FIRST_IN_FLIGHT = {EngineKind.VLLM: 16, EngineKind.REMOTE: 8}
# What the server on this machine takes for a page while it prepares the picture, and the share of memory it may take.
_SERVER_BYTES_PER_PAGE = 100 * 1024**2
_MEMORY_SHARE = 0.6
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


def build_server(settings: ServerSettings, kind: EngineKind) -> InferenceServer:
    """The server as configured; nothing is started or asked yet.

    Raises:
        ConfigurationError: it cannot be as configured.
    """
    if kind is EngineKind.CPU:
        return CpuServer(workers=settings.cpu_workers, ready_timeout_s=min(settings.ready_timeout_s, 300.0))
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
    )


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


class Session:
    """A context manager; leaving it ends the server (unless it is shared) and the workers.

    Args:
        read: how pages are read.
        server: who reads them.
        telemetry: counters to fill; new ones when left out.
        servers: where to take the server from when several sessions share it.
        sources: how the sources' object stores are reached.
    """

    def __init__(
        self,
        read: ReadSettings,
        server: ServerSettings,
        telemetry: Telemetry | None = None,
        *,
        servers: Servers | None = None,
        sources: StorageSettings | None = None,
    ) -> None:
        self._sources = sources
        self.settings, self.server_settings = read, server
        self.telemetry = telemetry or Telemetry()
        self._own_servers = Servers() if servers is None else None
        self._servers = servers or self._own_servers or Servers()
        self.kind = choose_engine(server)
        self._server = self._servers.get(server, self.kind)
        self.profile = choose_profile(server, self.kind, self._server)
        self.engine: Engine = build_engine(
            self.profile,
            model=server.model if "/" in (server.model or "") else None,
            revision=server.revision,
            prompt_file=Path(server.prompt_file) if server.prompt_file else None,
            text_layer=read.text_layer.value,
            structured=self.kind is EngineKind.VLLM,
            temperatures=read.temperatures if "temperatures" in read.model_fields_set else None,
            **{name: getattr(read.render, name) for name in _PICTURE & read.render.model_fields_set},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server, unless it is shared."""
        if self._own_servers is not None:
            self._own_servers.close()

    async def read_groups(
        self,
        workspace: Workspace,
        keys: Sequence[str],
        stages: Stages | None = None,
        *,
        on_page: Callable[[PageRecord], None] | None = None,
    ) -> AsyncGenerator[GroupResult, None]:
        """See `pdfocr_core.flow.scheduler.read_groups`."""
        with ExitStack() as stack:
            pool = stack.enter_context(RenderPool(self.render_settings))
            fetcher = stack.enter_context(Fetcher(opener=store_opener(self._sources)))
            clients: list[ChatClient] = []

            async def connect() -> Connection:
                connection, client = await self._connect()
                clients.append(client)
                return connection

            groups = read_groups(
                keys,
                workspace=workspace,
                stages=stages or Stages(),
                engine=self.engine,
                settings=self.settings.model_copy(update={"render": self.render_settings}),
                pool=pool,
                fetcher=fetcher,
                connect=connect,
                telemetry=self.telemetry,
                on_page=on_page,
            )
            try:
                async for result in groups:
                    yield result
            finally:
                await groups.aclose()
                for client in clients:
                    await client.aclose()

    @property
    def render_settings(self) -> RenderSettings:
        """How pages are drawn: the settings, narrowed by what the model takes."""
        return self.settings.render.model_copy(
            update={
                "longest_side_px": self.engine.longest_side_px,
                "image_format": self.engine.image_format,
                "allow_grey": self.engine.allow_grey and self.settings.render.allow_grey,
            }
        )

    async def _connect(self) -> tuple[Connection, ChatClient]:
        phase, self.telemetry.phase = self.telemetry.phase, f"starting the {self.kind.value} server"
        endpoints = await asyncio.to_thread(self._server.endpoints)
        self.telemetry.phase = phase
        first, most = self._in_flight()
        keep_alive = KeepAlive(self._server, restarts=self.server_settings.restarts)
        client = ChatClient(
            endpoints,
            max_connections=most or first,
            request_timeout_s=self.settings.request_timeout_s,
            patience_s=self.settings.server_patience_s,
            on_unreachable=keep_alive.ensure,
            verify=self.server_settings.ca_bundle or True,
            pace=Pace(self.server_settings.requests_per_minute, self.server_settings.tokens_per_minute),
        )
        connection = Connection(
            client,
            endpoints[0].model,
            first,
            max_in_flight=most,
            gauges=Gauges(client.counts, client.metrics),
            # The CPU engine is ours and of one piece; it has no versions that could be mismatched.
            first_pages=0 if self.engine.deterministic else self.settings.judge_first_pages,
        )
        return connection, client

    def _in_flight(self) -> tuple[int, int | None]:
        """Pages in flight at the start, and how far the window may go; None for a fixed one."""
        if self.settings.in_flight:
            return self.settings.in_flight, None
        if self.kind is EngineKind.CPU:
            return 2 * self._cpu_workers(), None
        most = min(self.settings.max_in_flight, self.profile.serve.max_in_flight or self.settings.max_in_flight)
        if self.kind is EngineKind.VLLM:
            free = psutil.virtual_memory().available
            most = min(most, max(1, int(_MEMORY_SHARE * free / _SERVER_BYTES_PER_PAGE)))
        return min(_FIRST_IN_FLIGHT[self.kind], most), most

    def _cpu_workers(self) -> int:
        return self.server_settings.cpu_workers or usable_cores()


def index_sources(
    workspace: Workspace,
    sources: Sequence[str],
    settings: IndexSettings,
    render: RenderSettings,
    storage: StorageSettings | None = None,
) -> IndexReport:
    """List the sources and append what is new to the workspace's index; see `pdfocr_core.sources.index`."""
    with RenderPool(render) as pool:
        return update_index(workspace, sources, settings, counter=pool.count_pages_sync, opener=store_opener(storage))
