"""An OpenAI-compatible server that fails by plan, for tests of whatever talks to such servers.

    with fault_server(Plan({Fault.CLOSE: 0.2, Fault.OVERLOAD: 0.2}, seed=7)) as server:
        ...  # send to server.url, then look at server.asked, server.answered and server.met

Its good answers hang on the picture alone, so that the outputs of two runs can be compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.streams import as_chunk, events

__all__ = ["MODEL", "FaultServer", "fault_server", "good_text"]

MODEL = "pdfocr-cpu"
_FRONT_MATTER = (
    "---\nprimary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\n"
    "is_diagram: False\n---\n"
)
_TOKENS = 400  # of an answer that loops
_CHUNK = b" " * 65536
_PART_S = 0.002  # between two parts of a stream


def good_text(digest: str) -> str:
    """What a page with this picture reads, below the front matter."""
    return f"Picture {digest}."


class FaultServer(ThreadingHTTPServer):
    """A server of this process; see `fault_server`.

    Attributes:
        plan: what it does wrong; may be changed while it runs.
        model: the name that it serves.
        seconds: how long a good answer takes.
        asked: requests by the digest of their picture.
        answered: good answers sent whole, by the same.
        met: how often each fault was played.
        key: the only bearer token that is taken; None takes any.
        keys: every `Authorization` header that came.
        refuses: fields of a request for which it is answered with 400.
        offers: fields that its own description says it knows.
        broken_off: streams that the client closed before their end.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self,
        plan: Plan,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        model: str = MODEL,
        seconds: float = 0.0,
        refuses: Collection[str] = (),
        offers: Collection[str] = (),
    ) -> None:
        super().__init__((host, port), _Handler)
        self.plan, self.model, self.seconds = plan, model, seconds
        self.refuses, self.offers = frozenset(refuses), frozenset(offers)
        self.broken_off = 0
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.met: Counter[Fault] = Counter()
        self.key: str | None = None
        self.keys: set[str] = set()
        self.lock = threading.Lock()
        self._stopping = threading.Event()
        self._down_until = 0.0
        self._open: set[socket.socket] = set()

    @property
    def url(self) -> str:
        """The base URL, with `/v1`."""
        host, port = self.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}/v1"

    def crash(self) -> None:
        """Break all connections and answer nobody for a while."""
        with self.lock:
            self._down_until = time.monotonic() + self.plan.down_s
            victims, self._open = self._open, set()
        for victim in victims:
            with contextlib.suppress(OSError):
                victim.shutdown(socket.SHUT_RDWR)

    def hold(self, seconds: float) -> None:
        """Wait that long, or until the server is stopped."""
        self._stopping.wait(seconds)

    def stop(self) -> None:
        """End; whoever hangs is let go."""
        self._stopping.set()
        self.shutdown()
        self.server_close()

    @property
    def stopping(self) -> bool:
        """Whether it is about to end."""
        return self._stopping.is_set()

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - as the base class has it
        """Whether a new connection is taken: not while the server is down."""
        with self.lock:
            if time.monotonic() < self._down_until:
                return False
            self._open.add(request)
        return True

    def close_request(self, request: Any) -> None:
        """Forget a connection."""
        with self.lock:
            self._open.discard(request)
        super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are what this server is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultServer
    _interval = 0  # tokens in a part, where the client wants a stream
    _counting = False

    def do_GET(self) -> None:
        if self._is_stranger() and not self.path.endswith("/health"):
            self._send({"error": {"message": "Unauthorized."}}, status=401)
        elif self.path.split("?")[0].endswith("/models"):
            entry = {"id": self.server.model, "object": "model", "max_model_len": 16384}
            self._send({"object": "list", "data": [entry]})
        elif self.path.endswith("/openapi.json") and self.server.offers:
            request = {"properties": dict.fromkeys(self.server.offers, True)}
            self._send({"components": {"schemas": {"ChatCompletionRequest": request}}})
        else:
            self._send({}, status=200 if self.path.endswith("/health") else 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        digest = _digest(body)
        server = self.server
        if self._is_stranger():
            self._send({"error": {"message": "Unauthorized."}}, status=401)
            return
        if refused := sorted(server.refuses & body.keys()):
            self._send({"error": {"message": f"Unrecognized request argument supplied: {refused[0]}"}}, status=400)
            return
        self._interval = int(body.get("stream_interval") or 1) if body.get("stream") else 0
        self._counting = bool((body.get("stream_options") or {}).get("continuous_usage_stats"))
        with server.lock:
            server.keys.add(self.headers.get("Authorization", ""))
            fault = server.plan.fault(digest, server.asked[digest])
            server.asked[digest] += 1
            if fault is not None:
                server.met[fault] += 1
        if body.get("model") != server.model:
            self._send({"error": {"message": f"The model {body.get('model')} does not exist."}}, status=404)
        elif fault is None:
            self._answer(digest)
        else:
            self._fail(fault, digest, int(body.get("max_tokens") or _TOKENS))

    def _is_stranger(self) -> bool:
        return self.server.key is not None and self.headers.get("Authorization") != f"Bearer {self.server.key}"

    def _answer(self, digest: str, **changes: Any) -> None:
        self.server.hold(self.server.seconds)
        answer = completion(self.server.model, _FRONT_MATTER + good_text(digest)) | changes
        self._complete(answer)
        with self.server.lock:
            self.server.answered[digest] += 1

    def _fail(self, fault: Fault, digest: str, max_tokens: int) -> None:
        server, plan = self.server, self.server.plan
        match fault:
            case Fault.HANG:
                server.hold(plan.hang_s)
                self.close_connection = True
            case Fault.CRASH:
                server.crash()
            case Fault.OVERLOAD:
                after = {} if plan.retry_after_s is None else {"Retry-After": f"{plan.retry_after_s:g}"}
                self._send({"error": {"message": "Too many requests."}}, status=429, headers=after)
            case Fault.ERROR:
                self._send({"error": {"message": f"Internal server error. {self._echo()}"}}, status=500)
            case Fault.REFUSE:
                self._send({"error": {"message": f"The picture cannot be read. {self._echo()}"}}, status=400)
            case Fault.OUT_OF_MEMORY:
                self._send({"error": {"message": "CUDA out of memory."}}, status=500)
                server.crash()
            case Fault.FLOOD:
                self._flood()
            case Fault.GARBAGE:
                kind = "text/event-stream" if self._interval else "application/json"
                self._send_bytes(b"data: \x80\xff<html>" + digest.encode() + b"\n\n", kind=kind)
            case _:
                self._answer_badly(fault, digest, max_tokens)

    def _echo(self) -> str:
        """What careless servers put into their messages, and clients must not pass on."""
        return f"{self.path} {' '.join(f'{name}: {value}' for name, value in self.headers.items())}"

    def _answer_badly(self, fault: Fault, digest: str, max_tokens: int) -> None:
        """The faults that look like answers."""
        model = self.server.model
        good = _FRONT_MATTER + good_text(digest)
        match fault:
            case Fault.CLOSE:
                self._complete(completion(model, good), share=0.5)
            case Fault.LOOP:
                looping = "and so on " * max(1, max_tokens if self._interval else min(max_tokens, _TOKENS))
                self._complete(completion(model, f"{good}\n{looping}", finish_reason="length"))
            case Fault.TRUNCATE:
                self._complete(completion(model, good[: len(good) - 30], finish_reason="length"))
            case Fault.FOREIGN:
                self._complete(completion(model, json.dumps([{"category": "Text", "text": good_text(digest)}])))
            case Fault.USAGE:
                self._answer(digest, usage={"prompt_tokens": -5, "completion_tokens": 1e400, "total_tokens": "many"})
            case Fault.OTHER_PAGE:
                self._complete(
                    completion(model, _FRONT_MATTER + good_text(hashlib.sha256(digest.encode()).hexdigest()))
                )
            case _:
                self.server.model = f"{model}-other"
                self._answer(digest)

    def _complete(self, answer: dict[str, Any], *, share: float = 1.0) -> None:
        """Send a completion, or the first share of it, the way the client asked for it."""
        if not self._interval:
            self._send(answer, share=share)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        parts = list(events(answer, interval=self._interval, counting=self._counting))
        try:
            for part in parts[: int(len(parts) * share)]:
                self.wfile.write(as_chunk(part))
                self.server.hold(_PART_S)
        except OSError:
            with self.server.lock:
                self.server.broken_off += 1
            self.close_connection = True
            return
        if share < 1:
            self.close_connection = True
        else:
            self.wfile.write(as_chunk(b""))

    def _flood(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(2**40))
        self.end_headers()
        self.close_connection = True
        while not self.server.stopping:
            self.wfile.write(_CHUNK)

    def _send(
        self, answer: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None, share: float = 1.0
    ) -> None:
        self._send_bytes(json.dumps(answer).encode(), status=status, headers=headers, share=share)

    def _send_bytes(
        self,
        data: bytes,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        share: float = 1.0,
        kind: str = "application/json",
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: int(len(data) * share)])
        self.close_connection = self.close_connection or share < 1

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: a test looks at the counters."""


def completion(model: str, text: str, *, finish_reason: str = "stop") -> dict[str, Any]:
    """A chat completion as such servers send it."""
    tokens = len(text) // 4
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason},
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens},
    }


def _digest(body: dict[str, Any]) -> str:
    """What identifies the page: its picture, or all messages of a request without one."""
    content = body["messages"][-1]["content"]
    pictures = [part["image_url"]["url"] for part in content if isinstance(part, dict) and "image_url" in part]
    return hashlib.sha256((pictures[0] if pictures else json.dumps(body["messages"])).encode()).hexdigest()


@contextmanager
def fault_server(
    plan: Plan | None = None,
    *,
    port: int = 0,
    model: str = MODEL,
    seconds: float = 0.0,
    refuses: Collection[str] = (),
    offers: Collection[str] = (),
) -> Iterator[FaultServer]:
    """A running server on the loopback address; ended at the end."""
    server = FaultServer(plan or Plan(), port=port, model=model, seconds=seconds, refuses=refuses, offers=offers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
