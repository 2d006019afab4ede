"""The viewer's server: reads the workspace, listens on this machine only, changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.scratch import scratch_folder
from pdfocr_core.store import StoreOpener, open_store
from pdfocr_core.viewer.catalogue import Catalogue, Query
from pdfocr_core.viewer.counterpart import Counterpart
from pdfocr_core.viewer.figures import figure_name, figures_view
from pdfocr_core.viewer.guarding import Guarded
from pdfocr_core.viewer.pages import GroupCache, document_view, page_view
from pdfocr_core.viewer.pictures import NoPicture, Pictures
from pdfocr_core.workspace import Workspace

__all__ = ["build_app", "serve"]

logger = logging.getLogger("pdfocr.viewer")

HOST = "127.0.0.1"
REFRESH_S = 3.0
REFRESH_REMOTE_S = 15.0  # listings of an object store take time and money
_MOST_ROWS = 500
_SHUTDOWN_S = 1


def assets() -> Path:
    """The folder with page, style and scripts."""
    return Path(str(files("pdfocr_core.viewer") / "assets"))


def serve(
    workspace: Workspace,
    *,
    port: int,
    compare: Workspace | None = None,
    passwords: Sequence[str] = (),
    opener: StoreOpener = open_store,
    on_ready: Callable[[str], None],
) -> None:
    """Serve until told to end; `on_ready` is given the address. With port 0 a free one is taken.

    Raises:
        ConfigurationError: the port is taken.
    """
    import uvicorn

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        raise ConfigurationError(
            f"Port {port} of {HOST} cannot be listened on: {error.strerror}.",
            remedy="Name another one with --port, or 0 for any that is free.",
        ) from error
    listener.listen()
    app = build_app(workspace, compare=compare, passwords=passwords, opener=opener)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=_SHUTDOWN_S,
        lifespan="on",
    )
    on_ready(f"http://{HOST}:{listener.getsockname()[1]}/")
    # uvicorn sends itself the signal again once it has shut down; an exception lets Python clean up after that.
    signal.signal(signal.SIGTERM, _leave)
    with contextlib.suppress(SystemExit, KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit


def build_app(
    workspace: Workspace,
    *,
    compare: Workspace | None = None,
    passwords: Sequence[str] = (),
    opener: StoreOpener = open_store,
) -> Starlette:
    """The application over one workspace, each page beside the same page of `compare`."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        state = app.state
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(scratch_folder())
            catalogue = stack.enter_context(Catalogue(workspace, folder / "catalogue.sqlite"))
            pictures = stack.enter_context(Pictures(workspace, folder, passwords=passwords, opener=opener))
            state.other = stack.enter_context(Counterpart(compare, folder / "other.sqlite")) if compare else None
            state.workspace, state.url, state.problem = workspace, workspace.url, ""
            state.every_s = REFRESH_S if workspace.store.local_root is not None else REFRESH_REMOTE_S
            state.catalogue, state.pictures, state.groups = catalogue, pictures, GroupCache(workspace)
            refreshing = asyncio.create_task(_keep_fresh(app))
            try:
                yield
            finally:
                refreshing.cancel()

    return Starlette(
        routes=[
            Route("/", _page),
            Route("/api/workspace", _workspace),
            Route("/api/documents", _documents),
            Route("/api/documents/{id}", _document),
            Route("/api/documents/{id}/pages/{page:int}", _record),
            Route("/api/documents/{id}/pages/{page:int}/image", _picture),
            Route("/api/documents/{id}/pages/{page:int}/figures/{number:int}", _figure),
            Mount("/assets", StaticFiles(directory=assets())),
        ],
        middleware=[Middleware(Guarded)],
        exception_handlers={PdfocrError: _unreadable, OSError: _unreadable, ValueError: _unreadable},
        lifespan=lifespan,
    )


async def _keep_fresh(app: Starlette) -> None:
    """Look at the workspace now and then, also while a run writes to it; a look costs listings and what is new."""
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await asyncio.to_thread(app.state.catalogue.refresh)
            if app.state.other is not None:
                await asyncio.to_thread(app.state.other.catalogue.refresh)
            app.state.problem = ""
        except (PdfocrError, OSError, ValueError) as error:
            logger.warning("the workspace could not be looked at: %s", error)
            app.state.problem = f"The workspace cannot be read at the moment: {error}"
        # Never more than a tenth of the time, however large the workspace is.
        await asyncio.sleep(max(app.state.every_s, 10 * (asyncio.get_running_loop().time() - began)))


async def _page(_request: Request) -> Response:
    return Response((assets() / "index.html").read_bytes(), media_type="text/html; charset=utf-8")


def _workspace(request: Request) -> Response:
    state = request.app.state
    about = {"workspace": state.url, "complete": state.catalogue.complete, "problem": state.problem}
    about["compare"] = state.other.url if state.other else None
    return JSONResponse({**about, **state.catalogue.totals()})


def _documents(request: Request) -> Response:
    asked = request.query_params
    query = Query(
        text=asked.get("q", ""),
        status=asked.get("status", ""),
        reason=asked.get("reason", ""),
        language=asked.get("language", ""),
        method=asked.get("method", ""),
        doubtful=asked.get("doubtful") == "1",
        order=asked.get("order", "index"),
        offset=_number(asked.get("offset"), 0),
        limit=min(_number(asked.get("limit"), 100), _MOST_ROWS),
    )
    total, rows = request.app.state.catalogue.find(query)
    return JSONResponse({"total": total, "documents": rows})


def _number(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else default


def _document(request: Request) -> Response:
    row = _row(request)
    if row is None:
        return _not_there("There is no such document in this workspace.")
    group = request.app.state.groups.group(row["group"])
    return JSONResponse(document_view(row, group))


def _record(request: Request) -> Response:
    row = _row(request)
    number = request.path_params["page"]
    page = request.app.state.groups.group(row["group"]).page(row["document_id"], number) if row else None
    if row is None or page is None:
        return _not_there("There is no record of this page.")
    here = f"api/documents/{row['document_id']}/pages/{number}"
    other = request.app.state.other
    figures = figures_view(request.app.state.workspace, row, page, lambda figure: f"{here}/figures/{figure}")
    return JSONResponse(page_view(page, f"{here}/image", "", other.of(row, page) if other else None, figures))


def _figure(request: Request) -> Response:
    row = _row(request)
    if row is None:
        return _not_there("There is no such document in this workspace.")
    workspace: Workspace = request.app.state.workspace
    name = figure_name(workspace, row, request.path_params["page"], request.path_params["number"])
    try:
        data = workspace.store.read(name)
    except FileNotFoundError:
        return _not_there("There is no such figure.")
    return Response(data, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


async def _picture(request: Request) -> Response:
    row = _row(request)
    if row is None:
        return _not_there("There is no such document in this workspace.")
    number = request.path_params["page"]
    group = await asyncio.to_thread(request.app.state.groups.group, row["group"])
    page = group.page(row["document_id"], number)
    rotation = page.rotation_applied if page else 0
    try:
        picture = await request.app.state.pictures.draw(row["group"], row["document_id"], number, rotation)
    except NoPicture as error:
        problem = {"reason": error.reason, "detail": error.detail, "remedy": error.remedy}
        return JSONResponse(problem, status_code=404)
    return Response(picture, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=300"})


def _row(request: Request) -> dict[str, Any] | None:
    row: dict[str, Any] | None = request.app.state.catalogue.row(request.path_params["id"])
    return row


async def _unreadable(_request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": f"The workspace cannot be read at the moment: {error}"}, status_code=503)


def _not_there(words: str) -> Response:
    return JSONResponse({"detail": words}, status_code=404)
