"""What HTTP clients cost per request, by the requests in flight: CPU milliseconds of the client's process.

    python -m benchmarks.http_clients [--requests 2000] [--in-flight 32 512]

The server holds every request for a while, as an engine does, so that as many are in flight as are allowed. Bodies have the
size of a page. `ours` is `ChatClient`, with its retries, accounts and breakers, on whatever it is built on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

from benchmarks import harness

BODY = json.dumps({"model": "pdfocr-cpu", "messages": [{"role": "user", "content": "A" * 300_000}]}).encode()
HEADERS = {"content-type": "application/json"}
Ask = Callable[[], Awaitable[None]]


async def _measure(ask: Ask, requests: int, in_flight: int) -> float:
    places = asyncio.Semaphore(in_flight)

    async def one() -> None:
        async with places:
            await ask()

    await asyncio.gather(*(one() for _ in range(in_flight)))  # connections are made before
    before = time.process_time()
    await asyncio.gather(*(one() for _ in range(requests)))
    return 1000 * (time.process_time() - before) / requests


async def _httpx(url: str, requests: int, in_flight: int) -> float:
    import httpx

    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx.AsyncClient(limits=limits, timeout=60.0) as client:

        async def ask() -> None:
            answer = await client.post(url + "/v1/chat/completions", content=BODY, headers=HEADERS)
            json.loads(answer.content)

        return await _measure(ask, requests, in_flight)


async def _aiohttp(url: str, requests: int, in_flight: int) -> float:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:

        async def ask() -> None:
            async with session.post(url + "/v1/chat/completions", data=BODY, headers=HEADERS) as answer:
                json.loads(await answer.read())

        return await _measure(ask, requests, in_flight)


async def _openai(url: str, requests: int, in_flight: int) -> float:
    import httpx
    import openai

    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    http = openai.DefaultAsyncHttpxClient(limits=limits, timeout=60.0)
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none", http_client=http) as client:

        async def ask() -> None:
            content = "A" * 300_000
            await client.chat.completions.create(model="pdfocr-cpu", messages=[{"role": "user", "content": content}])

        return await _measure(ask, requests, in_flight)


async def _ours(url: str, requests: int, in_flight: int) -> float:
    from pdfocr_core.serving.client import ChatClient
    from pdfocr_core.serving.endpoint import Endpoint

    endpoint = Endpoint(f"{url}/v1", None, "pdfocr-cpu")
    async with ChatClient([endpoint], max_connections=in_flight) as client:

        async def ask() -> None:
            await client.ask(BODY)

        return await _measure(ask, requests, in_flight)


CLIENTS = {"httpx": _httpx, "aiohttp": _aiohttp, "openai": _openai, "ours": _ours}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, nargs="*", default=[32, 128, 512])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        client, url, in_flight = options.one
        print(asyncio.run(CLIENTS[client](url, options.requests, int(in_flight))))
        return
    rows = []
    with harness.Stub("--seats", "100000", "--mean-s", "1.0", "--sigma", "0.3") as stub:
        for in_flight in options.in_flight:
            row: dict[str, float] = {"in flight": in_flight}
            for client in CLIENTS:
                # A process each: what one client leaves behind is not another's cost.
                argv = [sys.executable, "-m", "benchmarks.http_clients", "--requests", str(options.requests)]
                argv += ["--one", client, stub.url, str(in_flight)]
                done = subprocess.run(argv, check=True, capture_output=True, text=True)
                row[f"{client} ms"] = float(done.stdout)
            rows.append(row)
    harness.report("http-clients", rows, f"{options.requests} requests of 300 kB, held for about a second")


if __name__ == "__main__":
    main()
