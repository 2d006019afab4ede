"""An OpenAI-compatible server that counts: what was sent, how often, and how many at once.

Its text depends on the picture alone, so that outputs of two runs can be compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "pdfocr-cpu"

_HEADER = "---\nprimary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False\n---\n"


class CountingServer(ThreadingHTTPServer):
    """`pictures` counts requests by picture; `seconds` is how long each answer takes; `foreign` answers have no header."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seconds = seconds
        self.foreign = False
        self.pictures: Counter[str] = Counter()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def requests(self) -> int:
        return self.pictures.total()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._send({"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 16384}]})
        else:
            self._send({})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        image = next(part for part in body["messages"][-1]["content"] if part["type"] == "image_url")["image_url"][
            "url"
        ]
        digest = hashlib.sha256(image.encode()).hexdigest()
        with self.server.lock:
            self.server.pictures[digest] += 1
        time.sleep(self.server.seconds)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": f"{'' if self.server.foreign else _HEADER}Picture {digest}."},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        self._send({"id": "1", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage})

    def _send(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # clients are killed on purpose
            super().handle()

    def log_message(self, *_arguments: object) -> None:
        pass


@contextmanager
def counting_server(seconds: float = 0.0) -> Iterator[CountingServer]:
    """A running server; ended at the end."""
    server = CountingServer(seconds)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
