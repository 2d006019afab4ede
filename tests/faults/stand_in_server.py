"""A server for tests, run by path: answers like the real one and dies as it is told.

    python stand_in_server.py --host H --port P --workers N [--token WORD]

With a token it keeps a child that is hard to get rid of, and that can be found by the token.

Environment: `STAND_IN_DIES` is written to stderr before an exit with code 1; `STAND_IN_SLOW` delays the first answers;
`PDFOCR_SERVER_API_KEY` or `VLLM_API_KEY` is the key asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STUBBORN = "import signal,time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
STARTED = time.monotonic()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/health":
            slow = float(os.environ.get("STAND_IN_SLOW", "0"))
            self.reply(503 if time.monotonic() - STARTED < slow else 200, {})
        elif self.path == "/v1/models" and self.key_is_right():
            self.reply(200, {"data": [{"id": "stand-in"}]})
        else:
            self.reply(401 if self.path == "/v1/models" else 404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        self.reply(200, {"choices": [{"message": {"content": str(os.getpid())}, "finish_reason": "stop"}]})

    def key_is_right(self) -> bool:
        key = os.environ.get("PDFOCR_SERVER_API_KEY") or os.environ.get("VLLM_API_KEY")
        return self.headers["authorization"] == f"Bearer {key}"

    def reply(self, status: int, data: object) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--token", default="")
    options, _ = parser.parse_known_args()
    if message := os.environ.get("STAND_IN_DIES"):
        sys.exit(message)
    server = ThreadingHTTPServer((options.host, options.port), Handler)
    # Like a vLLM engine process whose API server was killed: out of the group, deaf to SIGTERM.
    if options.token:
        subprocess.Popen([sys.executable, "-c", STUBBORN, options.token], start_new_session=True)
    sys.stdout.write(f"listening, my key is {os.environ.get('PDFOCR_SERVER_API_KEY')}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
