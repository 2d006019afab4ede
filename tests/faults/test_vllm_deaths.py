"""The real vLLM (CPU build) killed in the middle: pages arrive, nothing of it is left.

Needs PDFOCR_TEST_VLLM, the path of a `vllm` program, and PDFOCR_TEST_VLLM_MODEL, a directory with a tiny model.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving import guard
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.keepalive import KeepAlive
from pdfocr_core.serving.vllm import VllmServer

PROGRAM = os.environ.get("PDFOCR_TEST_VLLM", "")
MODEL = os.environ.get("PDFOCR_TEST_VLLM_MODEL", "")

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (PROGRAM and MODEL), reason="PDFOCR_TEST_VLLM and PDFOCR_TEST_VLLM_MODEL are not set"),
]

ARGUMENTS = [
    *("--load-format", "dummy", "--dtype", "float32", "--enforce-eager", "--max-model-len", "4096"),
    *("--served-model-name", "ocr", "--limit-mm-per-prompt", '{"image": 1}'),
    *("--no-enable-prefix-caching", "--mm-processor-cache-gb", "0"),
]
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}


def vllm(model: str = MODEL, extra_args: tuple[str, ...] = ()) -> VllmServer:
    return VllmServer(model, serve_args=ARGUMENTS, extra_args=extra_args, env=ENVIRONMENT, executable=PROGRAM)


@pytest.fixture(scope="module")
def server() -> Iterator[VllmServer]:
    with vllm() as running:
        running.start()
        yield running


def request_body(max_tokens: int = 40) -> bytes:
    picture = io.BytesIO()
    Image.new("RGB", (300, 400), "white").save(picture, "JPEG")
    url = "data:image/jpeg;base64," + base64.b64encode(picture.getvalue()).decode()
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "OCR:"}]
    request = {"model": "ocr", "max_tokens": max_tokens, "messages": [{"role": "user", "content": content}]}
    # At temperature 0 random weights repeat themselves to the end, so the length of an answer is known.
    return json.dumps({**request, "temperature": 0}).encode()


def find(server: VllmServer, who: str) -> int:
    parents = guard.living_parents()
    for pid in guard.descendants(server.pid or 0):
        if who == "server" and parents[pid] == server.pid:
            return pid
        if who.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError(f"no process {who}")


@pytest.mark.parametrize("who", ["server", "VLLM::EngineCore"])
def test_pages_in_flight_survive_a_kill_and_nothing_old_is_left(server: VllmServer, who: str) -> None:
    async def work() -> int:
        keeper = KeepAlive(server)
        async with ChatClient(server.endpoints(), on_unreachable=keeper.ensure) as client:
            await client.ask(request_body())
            asked = [asyncio.create_task(client.ask(request_body(1000))) for _ in range(6)]
            await asyncio.sleep(0.3)
            assert not any(task.done() for task in asked)
            os.kill(find(server, who), signal.SIGKILL)
            assert len(await asyncio.gather(*asked)) == 6
        return keeper.restarts

    before = guard.descendants(server.pid or 0)
    assert asyncio.run(work()) == 1
    assert not set(before) & set(guard.living_parents())


def test_its_metrics_are_understood(server: VllmServer) -> None:
    async def work() -> None:
        async with ChatClient(server.endpoints(), on_unreachable=KeepAlive(server).ensure) as client:
            await client.ask(request_body())
            load = await client.metrics()
            assert load.running == 0
            assert load.kv_cache_usage is not None
            assert load.generation_tokens is not None
            assert load.generation_tokens >= 40

    asyncio.run(work())


@pytest.mark.parametrize(
    ("model", "extra_args", "words"),
    [
        (MODEL, ("--max-modle-len", "1"), "does not know one of its arguments"),
        (MODEL, ("--max-model-len", "400000"), "longer context than the model has"),
        (MODEL, ("--chat-template", "/no/such.jinja"), "misses a file"),
        ("no/such-model", (), "not in the local cache"),
    ],
)
def test_what_cannot_work_is_said_with_its_cause(model: str, extra_args: tuple[str, ...], words: str) -> None:
    with vllm(model, extra_args) as server, pytest.raises(ConfigurationError, match=words):
        server.start()
