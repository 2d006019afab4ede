"""Everything that reading pages takes, put together from settings: the model's profile, its server, the workers.

The same session serves the library (`pdfocr_core.reading`) and Dagster runs. The server starts when the first page
needs it, so a run that finds everything done starts none.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from pdfocr_core.engines.engine import Engine, build_engine
from pdfocr_core.flow.connection import Connection
from pdfocr_core.flow.form import RequestForm, form_for
from pdfocr_core.flow.group import GroupResult, Stages
from pdfocr_core.flow.pilot import Gauges
from pdfocr_core.flow.scheduler import read_groups
from pdfocr_core.flow.stopping import Stopping
from pdfocr_core.outputs.assemble import rewrite_markdown
from pdfocr_core.records import PageRecord
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.serving.choice import Servers, choose_engine, choose_profile, weights_of
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.cpu import usable_cores
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.keepalive import KeepAlive
from pdfocr_core.serving.managed import ManagedServer
from pdfocr_core.serving.open_files import connections_possible
from pdfocr_core.serving.pace import Pace
from pdfocr_core.serving.recycling import Recycling
from pdfocr_core.settings import (
    EngineKind,
    IndexSettings,
    MarkdownSettings,
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

__all__ = ["Servers", "Session", "index_sources"]

logger = logging.getLogger("pdfocr.session")

# Settings of the picture: what the user sets goes before the profile's.
_PICTURE = {"longest_side_px", "image_format", "jpeg_quality"}
# Pages in flight before anything is known of the server.
_FIRST_IN_FLIGHT = {EngineKind.VLLM: 16, EngineKind.REMOTE: 8}
# What the server on this machine takes for a page while it prepares the picture, and the share of memory it may take.
_SERVER_BYTES_PER_PAGE = 100 * 1024**2
_MEMORY_SHARE = 0.6


class Session:
    """A context manager; leaving it ends the server (unless it is shared) and the workers.

    Args:
        read: how pages are read.
        server: who reads them.
        telemetry: counters to fill; new ones when left out.
        servers: where to take the server from when several sessions share it.
        sources: how the sources' object stores are reached.

    Attributes:
        stopping: ends the reading before its time, from any thread.
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
        self.telemetry.price_in, self.telemetry.price_out = server.price_in, server.price_out
        self.stopping = Stopping()
        self._idle = threading.Event()
        self._idle.set()
        self._own_servers = Servers() if servers is None else None
        self._servers = servers or self._own_servers or Servers()
        self.kind = choose_engine(server)
        self._server = self._servers.get(server, self.kind)
        self.profile = choose_profile(server, self.kind, self._server)
        weights, revision = weights_of(server, self.kind)
        self.engine: Engine = build_engine(
            self.profile,
            model=weights,
            revision=revision,
            prompt_file=Path(server.prompt_file) if server.prompt_file else None,
            text_layer=read.text_layer.value,
            keep_margins=read.keep_margins,
            structured=self.kind is not EngineKind.CPU,
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
        """End the server, unless it is shared; a reading that was told to end may still end by itself."""
        if self.stopping.told:
            self._idle.wait(self.settings.stop_grace_s)
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
            self._idle.clear()
            stack.callback(self._idle.set)
            pool = stack.enter_context(RenderPool(self.render_settings))
            fetcher = stack.enter_context(Fetcher(self.settings.archive_limits, opener=store_opener(self._sources)))
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
                stopping=self.stopping,
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
        keep_alive = KeepAlive(self._server, restarts=self.server_settings.restarts, ending=lambda: self.stopping.told)
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
            form=await self._form(endpoints),
            between_groups=self._recycling(keep_alive, client),
        )
        return connection, client

    async def _form(self, endpoints: Sequence[Endpoint]) -> RequestForm | None:
        if self.kind is EngineKind.CPU:
            return None
        settings = self.server_settings
        return await asyncio.to_thread(
            form_for,
            self.engine,
            self._server,
            endpoints,
            stream=settings.stream,
            verify=settings.ca_bundle or True,
        )

    def _recycling(self, keep_alive: KeepAlive, client: ChatClient) -> Callable[[], Coroutine[Any, Any, None]] | None:
        settings, server = self.server_settings, self._server
        wanted = settings.recycle_pages or settings.recycle_memory_mb
        if not wanted or not isinstance(server, ManagedServer) or self.kind is not EngineKind.VLLM:
            return None
        return Recycling(
            server, keep_alive, client, pages=settings.recycle_pages, memory_mb=settings.recycle_memory_mb
        ).between_groups

    def _in_flight(self) -> tuple[int, int | None]:
        """Pages in flight at the start, and how far the window may go; None for a fixed one."""
        if self.settings.in_flight:
            return self._as_files_allow(self.settings.in_flight), None
        if self.kind is EngineKind.CPU:
            return 2 * self._cpu_workers(), None
        most = min(self.settings.max_in_flight, self.profile.serve.max_in_flight or self.settings.max_in_flight)
        if self.kind is EngineKind.VLLM:
            free = psutil.virtual_memory().available
            most = min(most, max(1, int(_MEMORY_SHARE * free / _SERVER_BYTES_PER_PAGE)))
        most = self._as_files_allow(most)
        # As many pages are judged before more are sent, so no more are at stake.
        return min(max(_FIRST_IN_FLIGHT[self.kind], self.settings.judge_first_pages), most), most

    def _as_files_allow(self, pages: int) -> int:
        if (possible := connections_possible(pages)) < pages:
            logger.warning(
                "The system lets this process have %d pages in flight instead of %d: raise its limit of open files "
                "(`ulimit -n`, `LimitNOFILE=`).",
                possible,
                pages,
            )
        return possible

    def _cpu_workers(self) -> int:
        return self.server_settings.cpu_workers or usable_cores()


def index_sources(
    workspace: Workspace,
    sources: Sequence[str],
    settings: IndexSettings,
    render: RenderSettings,
    storage: StorageSettings | None = None,
    markdown: MarkdownSettings | None = None,
) -> IndexReport:
    """List the sources and append what is new to the workspace's index; see `pdfocr_core.sources.index`."""
    with RenderPool(render) as pool:
        report = update_index(workspace, sources, settings, counter=pool.count_pages_sync, opener=store_opener(storage))
    rewrite_markdown(workspace, report.returned, markdown)
    return report
