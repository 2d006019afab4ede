"""The HTTP side: OpenAI's chat completions, vLLM's health and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import signal
import socket
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pdfocr_core.cpu_engine.answer import Answer
from pdfocr_core.cpu_engine.failures import BadPicture
from pdfocr_core.cpu_engine.models import DEFAULT_MODEL, choose_model
from pdfocr_core.cpu_engine.pool import OcrPool, PageTooSlow, WorkerLost
from pdfocr_core.cpu_engine.request import MODEL, BadRequest, page_request
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.layout.placed import ANSWER_FIELD, for_answer

__all__ = ["build_app", "command", "serve"]

logger = logging.getLogger("pdfocr.cpu_engine")

KEY_VARIABLE = "PDFOCR_SERVER_API_KEY"
MAX_BODY_BYTES = 128 * 1024**2
SHUTDOWN_S = 1  # how long pages in work may still take when the server is told to end


def command(host: str, port: int, workers: int = 0, model: str = DEFAULT_MODEL) -> list[str]:
    """The command that starts this server in a process of its own; 0 workers means one per core."""
    module = [sys.executable, "-m", "pdfocr_core.cpu_engine"]
    return [*module, "--host", host, "--port", str(port), "--workers", str(workers), "--model", model]


def serve(host: str, port: int, workers: int, model: str = DEFAULT_MODEL) -> int:
    """Serve until told to end; returns the exit code."""
    import uvicorn

    try:
        choose_model(model)
    except ConfigurationError as error:
        logger.error("%s", error)
        return 1
    try:
        listeners = _listen(host, port)
    except OSError as error:
        logger.error(
            "Port %d of %s cannot be listened on: %s. Name another one with --port, or end the program that has it.",
            *(port, host, error),
        )
        return 1
    failures: list[BaseException] = []
    app = build_app(workers, os.environ.get(KEY_VARIABLE), failures, model=model)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=SHUTDOWN_S,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    logger.info("CPU OCR server starts on http://%s:%d with %d processes, model %s", host, port, workers, model)
    # uvicorn sends itself the signal again once it has shut down; an exception lets Python clean up after that.
    signal.signal(signal.SIGTERM, _leave)
    with contextlib.suppress(SystemExit, KeyboardInterrupt):
        server.run(sockets=listeners)
    logger.info("CPU OCR server has ended")
    return 0 if server.started and not failures else 1


def _listen(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host. Connections are refused until the server listens."""
    with contextlib.ExitStack() as stack:
        listeners = []
        found = dict.fromkeys(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))  # a name can be listed twice
        for family, kind, protocol, _name, address in found:
            listener = stack.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listeners.append(listener)
        stack.pop_all()
        return listeners


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit


def build_app(
    workers: int, api_key: str | None, failures: list[BaseException] | None = None, *, model: str = DEFAULT_MODEL
) -> Starlette:
    """The application; what makes it impossible to serve is put into `failures` before it ends itself."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        pool = OcrPool(workers, model)
        app.state.pool = pool
        starting = asyncio.create_task(_start(pool, failures))
        try:
            yield
        finally:
            starting.cancel()
            await asyncio.to_thread(pool.stop)

    app = Starlette(
        routes=[
            Route("/health", _health),
            Route("/metrics", _metrics),
            Route("/v1/models", _models),
            Route("/v1/chat/completions", _complete, methods=["POST"]),
        ],
        middleware=[Middleware(_KeyCheck, api_key=api_key)] if api_key else [],
        lifespan=lifespan,
    )
    app.state.tokens = 0
    app.state.pages = 0
    return app


async def _start(pool: OcrPool, failures: list[BaseException] | None) -> None:
    began = time.monotonic()
    try:
        await pool.start()
    except Exception as error:
        logger.exception("CPU OCR server cannot serve")
        if failures is not None:
            failures.append(error)
        signal.raise_signal(signal.SIGTERM)
    else:
        logger.info("CPU OCR server is ready after %.1f s", time.monotonic() - began)


class _KeyCheck:
    """Asks for the key everywhere but at `/health`."""

    def __init__(self, app: ASGIApp, api_key: str) -> None:
        self._app = app
        self._expected = f"Bearer {api_key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                message = f"the API key is missing or wrong; the server was started with {KEY_VARIABLE} set"
                await _error(401, message, "invalid_api_key")(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _health(request: Request) -> Response:
    ready = request.app.state.pool.ready
    return PlainTextResponse("" if ready else "loading\n", status_code=200 if ready else 503)


async def _models(_request: Request) -> Response:
    return JSONResponse({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "pdfocr"}]})


async def _metrics(request: Request) -> Response:
    state = request.app.state
    values: Mapping[str, tuple[str, float]] = {
        "vllm:num_requests_running": ("gauge", state.pool.running),
        "vllm:num_requests_waiting": ("gauge", state.pool.waiting),
        "vllm:kv_cache_usage_perc": ("gauge", 0.0),
        "vllm:prompt_tokens_total": ("counter", 0.0),
        "vllm:generation_tokens_total": ("counter", state.tokens),
        "vllm:request_success_total": ("counter", state.pages),
    }
    lines = [
        f'# TYPE {name} {kind}\n{name}{{model_name="{MODEL}"}} {value:g}\n' for name, (kind, value) in values.items()
    ]
    return PlainTextResponse("".join(lines), media_type="text/plain; version=0.0.4")


async def _complete(request: Request) -> Response:
    pool: OcrPool = request.app.state.pool
    if not pool.ready:
        return _error(503, "the models are still loading", "loading", headers={"Retry-After": "1"})
    try:
        asked = page_request(await _body(request))
        answer = await pool.read(asked, request.is_disconnected)
    except BadRequest as error:
        return _error(error.status, str(error), error.code, error.param)
    except PageTooSlow as error:
        return _error(400, f"{error}; send a smaller picture", "page_too_slow")
    except WorkerLost as error:
        return _error(500, f"{error}; ask again", "worker_lost")
    except BadPicture as error:
        return _error(400, str(error), "invalid_image", "messages")
    except Exception as error:
        logger.exception("a page could not be read")
        return _error(500, f"{type(error).__name__} while reading the page", "internal_error")
    if answer is None:
        return Response(status_code=499)
    words = len(answer.markdown.split())
    request.app.state.tokens += words
    request.app.state.pages += 1
    return JSONResponse(_completion(answer, words))


async def _body(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise BadRequest(f"the request is larger than {MAX_BODY_BYTES} bytes", status=413, code="too_large")
        chunks.append(chunk)
    return b"".join(chunks)


def _completion(answer: Answer, words: int) -> dict[str, Any]:
    """OpenAI's form, with one field more: the message's `pdfocr_lines`, where each line stands on the picture.

    There are no tokens here: completion tokens are words, and pictures and prompts count for none.
    """
    message = {"role": "assistant", "content": answer.content, ANSWER_FIELD: for_answer(answer.lines)}
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 0, "completion_tokens": words, "total_tokens": words},
    }


def _error(
    status: int, message: str, code: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    kind = "server_error" if status >= 500 else "authentication_error" if status == 401 else "invalid_request_error"
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return JSONResponse(body, status_code=status, headers=dict(headers or {}))
