"""What a streamed answer costs the client, by the tokens in one part: CPU milliseconds per page of 600 tokens.

    python -m benchmarks.stream_cost [--pages 300] [--seconds 0.5]

The server is a process of its own and sends the parts as a model would write them, spread over the seconds of an answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from benchmarks import harness
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.endpoint import Endpoint, free_port
from pdfocr_core.testing.streams import as_chunk, events

MODEL = "model"
TEXT = "".join(f"{number * 7919 % 9973:04}" for number in range(600))
COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-0123456789abcdef",
    "model": MODEL,
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1800, "completion_tokens": 600},
}
PICTURE = "A" * 400_000
INTERVALS = (0, 1, 8, 16, 32, 64, 128)
AT_ONCE = 32


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Answer request after request of one connection."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            interval = json.loads(await reader.readexactly(int(length.partition(b":")[2])))["stream_interval"]
            if not interval:
                body = json.dumps(COMPLETION).encode()
                await asyncio.sleep(seconds)
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                )
                writer.write(body)
                continue
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            parts = list(events(COMPLETION, interval=interval, counting=True))
            for part in parts:
                writer.write(as_chunk(part))
                await asyncio.sleep(seconds / len(parts))
            writer.write(as_chunk(b""))
    writer.close()


async def serve(port: int, seconds: float) -> None:
    """Serve until ended."""
    server = await asyncio.start_server(lambda reader, writer: answer(reader, writer, seconds), "127.0.0.1", port)
    await server.serve_forever()


async def measure(port: int, interval: int, pages: int) -> float:
    """CPU milliseconds of this process per page."""
    body = json.dumps({"stream_interval": interval, "picture": PICTURE}).encode()
    places = asyncio.Semaphore(AT_ONCE)
    async with ChatClient([Endpoint(f"http://127.0.0.1:{port}/v1", "key", MODEL)]) as client:

        async def page() -> None:
            async with places:
                answered = await client.ask(body)
            if answered.text != TEXT or answered.completion_tokens != 600:
                raise SystemExit(f"another answer came than was sent: {answered}")

        await page()
        before = time.process_time()
        await asyncio.gather(*(page() for _ in range(pages)))
        return 1000 * (time.process_time() - before) / pages


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.serve, options.seconds))
        return
    port = free_port()
    argv = [sys.executable, "-m", "benchmarks.stream_cost", "--serve", str(port), "--seconds", str(options.seconds)]
    server = subprocess.Popen(argv)
    try:
        rows = []
        for interval in INTERVALS:
            costs = sorted(asyncio.run(measure(port, interval, options.pages)) for _ in range(options.repeats))
            parts = interval or "not streamed"
            rows.append({"tokens in a part": parts, "CPU ms/page, least": costs[0], "most": costs[-1]})
    finally:
        server.kill()
        server.wait()
    harness.report("stream-cost", rows, f"{options.pages} answers of 600 tokens each, {AT_ONCE} at once")


if __name__ == "__main__":
    main()
