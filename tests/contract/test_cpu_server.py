"""The CPU server as a client meets it: a real process, real pictures, real HTTP."""

from __future__ import annotations

import base64
import concurrent.futures
import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from PIL import Image, ImageDraw

from pdfocr_core.cpu_engine.server import command
from tests.ports import quiet_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process handling is tested on Linux")

KEY = "a-key-for-tests"
SENTENCES = [
    "The quick brown fox jumps over the lazy dog",
    "and nobody in the whole village was surprised",
    "because it had been doing so every morning",
    "for as long as anyone could remember it.",
]
HEADER = re.compile(
    r"\A---\nprimary_language: (\w+)\nis_rotation_valid: (True|False)\nrotation_correction: (0|90|180|270)\n"
    r"is_table: (True|False)\nis_diagram: (True|False)\n---\n(.*)\Z",
    re.DOTALL,
)


class Server:
    """One server process; `client` sends the key with every request."""

    def __init__(self, workers: int = 1, key: str | None = KEY) -> None:
        self.port = quiet_port()
        environment = {name: value for name, value in os.environ.items() if name != "PDFOCR_SERVER_API_KEY"}
        self.process = subprocess.Popen(
            command("127.0.0.1", self.port, workers),
            env=environment | ({"PDFOCR_SERVER_API_KEY": key} if key else {}),
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=300, trust_env=False
        )

    def wait_until_answering(self, *statuses: int) -> int:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if (status := self.client.get("/health").status_code) in statuses:
                    return status
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"no health of {statuses}; exit code {self.process.poll()}")

    def ask(self, picture: bytes, **more: Any) -> httpx.Response:
        return self.client.post("/v1/chat/completions", json=request_for(picture, **more))

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def workers(self) -> list[psutil.Process]:
        return [process for process in self.family() if "spawn_main" in " ".join(process.cmdline())]

    def wait_for_pages(self, running: int, waiting: int = 0) -> None:
        """Until so many are being read and so many wait."""
        deadline = time.monotonic() + 120
        while (found := self.load()) != (running, waiting):
            assert time.monotonic() < deadline, found
            time.sleep(0.01)

    def load(self) -> tuple[float, float]:
        """How many pages are being read, and how many wait."""
        text = self.client.get("/metrics").text
        return metric_in(text, "num_requests_running"), metric_in(text, "num_requests_waiting")

    def metric(self, name: str) -> float:
        return metric_in(self.client.get("/metrics").text, name)

    def end(self) -> str:
        """End it, if it has not ended, and return what it logged."""
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.communicate(timeout=120)[1].decode()


def metric_in(text: str, name: str) -> float:
    found = re.search(rf"^vllm:{name}\{{.*\}} (\S+)$", text, re.MULTILINE)
    assert found, name
    return float(found[1])


def request_for(picture: bytes, **more: Any) -> dict[str, Any]:
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    content = [{"type": "text", "text": "Read this page."}, {"type": "image_url", "image_url": {"url": url}}]
    return {"model": "pdfocr-cpu", "messages": [{"role": "user", "content": content}], "temperature": 0.1, **more}


def page(turned: int = 0) -> bytes:
    image = Image.new("RGB", (760, 800), "white")
    draw = ImageDraw.Draw(image)
    for number, sentence in enumerate(SENTENCES):
        draw.text((50, 80 + 44 * number), sentence, fill="black", font_size=30)
    return png(image.rotate(turned, expand=True))


def long_page() -> bytes:
    """One that takes seconds, so that whoever looks for it finds it being read."""
    image = Image.new("RGB", (2200, 3000), "white")
    draw = ImageDraw.Draw(image)
    for number in range(66):
        for column in range(3):
            draw.text(
                (50 + 710 * column, 40 + 44 * number), SENTENCES[(number + column) % 4], fill="black", font_size=30
            )
    return png(image)


def png(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def content_of(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


def wait_for_end_of(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    return psutil.wait_procs(processes, timeout=seconds)[1]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server(workers=2)
    try:
        running.wait_until_answering(200)
        yield running
    finally:
        log = running.end()
    assert "is ready" in log
    assert "Traceback" not in log
    assert "leaked" not in log


def test_a_page_comes_back_as_front_matter_and_markdown(server: Server) -> None:
    answer = HEADER.match(content_of(server.ask(page())))
    assert answer is not None
    assert answer.groups()[:5] == ("en", "True", "0", "False", "False")
    assert " ".join(SENTENCES) in " ".join(answer[6].split())


def test_the_answer_has_openais_form_and_counts_words(server: Server) -> None:
    before = server.metric("generation_tokens_total")
    body = server.ask(page()).json()
    words = len(HEADER.match(body["choices"][0]["message"]["content"])[6].split())  # type: ignore[index]
    assert body["object"] == "chat.completion"
    assert body["model"] == "pdfocr-cpu"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"] == {"prompt_tokens": 0, "completion_tokens": words, "total_tokens": words}
    lines = body["choices"][0]["message"]["pdfocr_lines"]
    assert sum(len(line["text"].split()) for line in lines) == words
    for line in lines:
        assert line.keys() == {"text", "x0", "y0", "x1", "y1", "score"}
        assert 0 <= line["x0"] < line["x1"] <= 1
        assert 0 <= line["y0"] < line["y1"] <= 1
        assert 0.5 <= line["score"] <= 1
    assert server.metric("generation_tokens_total") == before + words


@pytest.mark.parametrize("turned", [90, 180, 270])
def test_a_turned_page_asks_to_be_turned_back_and_is_content_then(server: Server, turned: int) -> None:
    asked = HEADER.match(content_of(server.ask(page(turned))))
    assert asked is not None
    assert asked[2] == "False"
    assert asked[6] == ""
    assert (turned + int(asked[3])) % 360 == 0
    assert "is_rotation_valid: True" in content_of(server.ask(page(turned + int(asked[3]))))


def test_an_empty_page_is_answered_with_nothing(server: Server) -> None:
    answer = HEADER.match(content_of(server.ask(png(Image.new("L", (800, 1000), 255)))))
    assert answer is not None
    assert answer.groups() == ("null", "True", "0", "False", "False", "")


def test_the_same_picture_gives_the_same_answer(server: Server) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        answers = {content_of(response) for response in threads.map(server.ask, [page()] * 4)}
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"messages": [{"role": "user", "content": "Hello"}]}, 400, "no image"),
        ({"messages": "Hello"}, 400, "not a list"),
        ({"model": "gpt-4o"}, 404, "does not exist"),
        ({"stream": True}, 400, "stream"),
        ({"n": 2}, 400, "one answer"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(
    server: Server, change: dict[str, Any], status: int, said: str
) -> None:
    response = server.ask(page(), **change)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert said in error["message"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.org/page.png", "fetches nothing"),
        ("file:///etc/passwd", "fetches nothing"),
        ("data:image/png;base64,???", "base64"),
        ("data:image/png;base64," + base64.b64encode(b"no picture at all").decode(), "no picture"),
        ("data:image/png;base64," + base64.b64encode(page()[:3000]).decode(), "decoded"),
        ("data:image/png;base64,", "no picture"),
    ],
)
def test_an_image_that_cannot_be_read_is_refused(server: Server, url: str, said: str) -> None:
    content = [{"type": "image_url", "image_url": {"url": url}}]
    response = server.client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": content}]})
    assert response.status_code == 400
    assert said in response.json()["error"]["message"]


def test_two_images_and_broken_json_are_refused(server: Server) -> None:
    double = request_for(page())
    double["messages"] *= 2
    assert server.client.post("/v1/chat/completions", json=double).status_code == 400
    broken = server.client.post("/v1/chat/completions", content=b'{"messages": [')
    assert broken.status_code == 400
    assert "not JSON" in broken.json()["error"]["message"]


def test_the_key_is_asked_for_everywhere_but_at_health(server: Server) -> None:
    with httpx.Client(base_url=server.client.base_url, trust_env=False) as stranger:
        assert stranger.get("/health").status_code == 200
        for path in ("/v1/models", "/metrics"):
            assert stranger.get(path).status_code == 401
        refused = stranger.post("/v1/chat/completions", json={}, headers={"Authorization": "Bearer wrong"})
    assert refused.status_code == 401
    assert refused.json()["error"]["code"] == "invalid_api_key"


def test_models_and_metrics_have_vllms_names(server: Server) -> None:
    assert [model["id"] for model in server.client.get("/v1/models").json()["data"]] == ["pdfocr-cpu"]
    for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "prompt_tokens_total"):
        assert server.metric(name) == 0


def test_it_says_how_many_pages_run_and_wait_and_stays_responsive(server: Server) -> None:
    workers = server.workers()
    with concurrent.futures.ThreadPoolExecutor(5) as threads:
        # Held up until all five are there.
        for process in workers:
            process.suspend()
        try:
            pages = [threads.submit(server.ask, page()) for _ in range(5)]
            server.wait_for_pages(2, 3)
        finally:
            for process in workers:
                process.resume()
        while not all(future.done() for future in pages):
            assert server.load()[0] <= 2
    assert all(future.result().status_code == 200 for future in pages)


def test_a_page_whose_process_dies_is_answered_500_and_the_next_one_is_read(server: Server) -> None:
    workers, picture = server.workers(), long_page()
    before = {process: sum(process.cpu_times()[:2]) for process in workers}
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        pages = [threads.submit(server.ask, picture) for _ in range(2)]
        server.wait_for_pages(2)
        while any(sum(process.cpu_times()[:2]) < used + 0.1 for process, used in before.items()):
            assert not any(future.done() for future in pages)
            time.sleep(0.01)  # until each has taken its page
        for process in workers:
            process.kill()
        answers = [future.result() for future in pages]
    assert {answer.status_code for answer in answers} == {500}
    assert answers[0].json()["error"]["code"] == "worker_lost"
    assert SENTENCES[0] in content_of(server.ask(page()))


def test_it_is_not_healthy_before_it_can_read_and_ends_whole_while_loading() -> None:
    picture = page()
    for _ in range(5):
        loading = Server(key=None)
        if loading.wait_until_answering(503, 200) == 503 and loading.ask(picture).status_code == 503:
            break
        loading.end()  # it was ready before anybody looked
    else:
        pytest.fail("it was healthy each time")
    family = loading.family()
    loading.process.send_signal(signal.SIGTERM)
    assert loading.process.wait(timeout=60) == 0
    assert not wait_for_end_of(family, 60)
    assert "Traceback" not in loading.end()


def test_sigterm_in_the_middle_of_a_page_ends_it_with_its_workers() -> None:
    busy = Server(key=None)
    busy.wait_until_answering(200)
    family = busy.family()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        asked = threads.submit(busy.ask, long_page())
        busy.wait_for_pages(1)
        busy.process.send_signal(signal.SIGTERM)
        assert busy.process.wait(timeout=60) == 0
        asked.exception()
    assert family
    assert not wait_for_end_of(family, 60)
    busy.end()


def test_workers_do_not_outlive_a_killed_server() -> None:
    killed = Server(key=None)
    killed.wait_until_answering(200)
    family = killed.family()
    killed.process.kill()
    assert family
    assert not wait_for_end_of(family, 60)
    killed.end()


def test_a_port_that_is_taken_ends_it_with_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = subprocess.run(
            command("127.0.0.1", port, 1),
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            cwd=Path(__file__).parents[2],
        )
    assert result.returncode == 1
    assert "Address already in use. Name another one with --port" in result.stderr
