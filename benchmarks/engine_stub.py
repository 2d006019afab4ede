"""A model server that costs next to nothing: what remains is the client's own cost.

    python -m benchmarks.engine_stub --port 18080                          answers at once
    python -m benchmarks.engine_stub --port 18080 --seats 64 --mean-s 2    decodes 64 pages at a time, lognormal times

`GET /stats` says how many requests came, how many were in flight at most, how busy the seats were from the first request
to the last answer (1.0: the engine never waited), and how busy the same pages could have kept them at best.
`POST /reset` zeroes it, and the times come again.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import math
import random
import time
from typing import Any

import httptools

MODEL = "pdfocr-cpu"
_WORDS = "river toll ledger wagon cattle landing ferry rain road account mail north keeper lamp orchard quarry".split()  # noqa: SIM905


def _page(seed: int) -> str:
    """About 600 tokens in which nothing repeats itself."""
    chance = random.Random(seed)  # noqa: S311 - filler
    header = "primary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False"
    return f"---\n{header}\n---\n" + " ".join(f"{chance.choice(_WORDS)}{chance.randrange(1000)}" for _ in range(400))


_ANSWERS = [
    json.dumps(
        {
            "id": "stub",
            "object": "chat.completion",
            "model": MODEL,
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": _page(seed)}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 1800, "completion_tokens": 600, "total_tokens": 2400},
        }
    ).encode()
    for seed in range(16)
]
_MODELS = json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 16384}]}).encode()


class Seats:
    """The engine: so many pages at a time, each for a lognormal time."""

    def __init__(self, seats: int, mean_s: float, sigma: float, seed: int) -> None:
        self.seats, self.mean_s, self.sigma = seats, mean_s, sigma
        self._places = asyncio.Semaphore(seats) if seats else None
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        self._chance = random.Random(self._seed)  # noqa: S311 - a simulation
        self.requests = self.running = self.in_flight = self.peak = 0
        self.busy_s = 0.0
        self.first = self.last = self.first_at = 0.0
        # Decoding time until the queue was empty for good: the end of a run, when seats fall empty, left out.
        self.last_queued: tuple[float, float] = (0.0, 0.0)
        self.times: list[float] = []

    async def page(self) -> None:
        """Take a seat for as long as a page takes."""
        now = time.monotonic()
        self.first = self.first or now
        self.first_at = self.first_at or time.time()
        self.requests += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        if self._places is not None:
            async with self._places:
                self.running += 1
                mean = math.log(self.mean_s) - self.sigma**2 / 2
                seconds = self._chance.lognormvariate(mean, self.sigma)
                self.times.append(seconds)
                await asyncio.sleep(seconds)
                self.busy_s += seconds
                self.running -= 1
                if self.in_flight >= self.seats:
                    self.last_queued = (time.monotonic(), self.busy_s)
        self.in_flight -= 1
        self.last = time.monotonic()

    def stats(self) -> dict[str, Any]:
        span = self.last - self.first
        utilisation = self.busy_s / (self.seats * span) if self.seats and span else None
        until, busy = self.last_queued
        before_end = busy / (self.seats * (until - self.first)) if self.seats and until > self.first else None
        return {
            "requests": self.requests,
            "peak_in_flight": self.peak,
            "span_s": span,
            "seat_utilisation": utilisation,
            "utilisation_of_the_best": self._best(),
            "utilisation_until_last_start": before_end,
            "first_at": self.first_at,
        }

    def _best(self) -> float | None:
        """The utilisation with all pages there from the beginning: what is lost at the end cannot be helped."""
        if not self.seats or not self.times:
            return None
        free = [0.0] * self.seats
        for seconds in self.times:
            heapq.heapreplace(free, free[0] + seconds)
        return sum(self.times) / (self.seats * max(free))

    def metrics(self) -> bytes:
        waiting = max(0, self.in_flight - self.running)
        # An engine is given room for its seats and a little more.
        cache = self.running / (1.1 * self.seats) if self.seats else 0.0
        gauges = {"num_requests_running": self.running, "num_requests_waiting": waiting, "kv_cache_usage_perc": cache}
        return "".join(f"vllm:{name} {value}\n" for name, value in gauges.items()).encode()


class _Connection(asyncio.Protocol):
    def __init__(self, seats: Seats) -> None:
        self._seats = seats

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP
        self._transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url = url

    def on_message_complete(self) -> None:
        path = self._url.decode().partition("?")[0]
        if path.endswith("/chat/completions"):
            task = asyncio.ensure_future(self._seats.page())
            task.add_done_callback(lambda _task: self._send(_ANSWERS[self._seats.requests % len(_ANSWERS)]))
        elif path == "/stats":
            self._send(json.dumps(self._seats.stats()).encode())
        elif path == "/metrics":
            self._send(self._seats.metrics())
        else:
            if path == "/reset":
                self._seats.reset()
            self._send(_MODELS)

    def _send(self, body: bytes) -> None:
        if not self._transport.is_closing():
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self._transport.write(head.encode() + body)


async def _serve(options: argparse.Namespace) -> None:
    seats = Seats(options.seats, options.mean_s, options.sigma, options.seed)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(seats), "127.0.0.1", options.port)
    await server.serve_forever()


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description="A model server that costs next to nothing.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seats", type=int, default=0)
    parser.add_argument("--mean-s", type=float, default=2.0)
    parser.add_argument("--sigma", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
