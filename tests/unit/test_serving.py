"""Arguments, endpoints, diagnoses, metrics, and servers started, found wanting and ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import psutil
import pytest

from pdfocr_core.errors import ConfigurationError, ServerUnavailable
from pdfocr_core.serving import arguments, guard
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.cpu import CpuServer
from pdfocr_core.serving.diagnosis import death_of
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.keepalive import KeepAlive
from pdfocr_core.serving.managed import ManagedServer
from pdfocr_core.serving.metrics import Load, parse_metrics
from pdfocr_core.serving.remote import RemoteServer
from pdfocr_core.serving.vllm import VllmServer
from tests.ports import quiet_port

STAND_IN = Path(__file__).parents[1] / "faults" / "stand_in_server.py"


def stand_in(**options: object) -> CpuServer:
    return CpuServer(program=[sys.executable, str(STAND_IN)], workers=1, **options)  # type: ignore[arg-type]


# Arguments.


def test_later_arguments_replace_earlier_ones_and_lists_come_last() -> None:
    merged = arguments.merge(
        ["--max-model-len", "4096", "--logits_processors", "a", "b", "--enable-prefix-caching", "--seed", "-1"],
        ["--max_model_len=8192", "--no-enable-prefix-caching", "-tp", "2"],
        ["--tensor-parallel-size", "4"],
    )
    assert merged == [
        *("--max_model_len=8192", "--no-enable-prefix-caching", "--seed", "-1", "--tensor-parallel-size", "4"),
        *("--logits_processors", "a", "b"),
    ]


def test_a_repeated_flag_of_one_source_is_kept() -> None:
    assert arguments.merge(["--middleware", "a", "--middleware", "b"]) == ["--middleware", "a", "--middleware", "b"]


def test_a_value_without_a_flag_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="does not follow a flag"):
        arguments.merge(["some/model", "--seed", "1"])


def test_options_become_arguments() -> None:
    options = {
        "dtype": "half",
        "enforce_eager": True,
        "x": False,
        "limit": {"image": 1},
        "names": ["a", "b"],
        "n": None,
    }
    assert arguments.from_options(options) == [
        *("--dtype", "half", "--enforce-eager", "--no-x", "--limit", '{"image": 1}', "--names", "a", "b")
    ]


# Endpoints.


def test_an_endpoint_knows_its_urls_and_hides_its_secrets() -> None:
    endpoint = Endpoint("https://host:8443/base/v1?sig=topsecret", "key-secret", headers=(("x-team", "header-secret"),))
    assert endpoint.url("models") == "https://host:8443/base/v1/models?sig=topsecret"
    assert endpoint.root_url("health") == "https://host:8443/base/health?sig=topsecret"
    assert endpoint.label == "https://host:8443/base/v1"
    assert "secret" not in endpoint.label + endpoint.redact("key-secret topsecret header-secret")
    assert "key-secret" not in repr(endpoint)
    assert "header-secret" not in repr(endpoint)
    assert Endpoint("http://host:1").base_url == "http://host:1/v1"
    assert not Endpoint("http://localhost.example").is_local
    assert Endpoint("http://[::1]:80").is_local


@pytest.mark.parametrize("url", ["ftp://x", "host:8000", "http://", "https://user:pw-secret@host/v1"])
def test_a_wrong_url_is_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Endpoint(url)
    assert "pw-secret" not in str(caught.value)


# Diagnoses.


@pytest.mark.parametrize(
    ("line", "words", "kind"),
    [
        ("vllm: error: unrecognized arguments: --max-modle-len 1", "does not know one of its", ConfigurationError),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
            "ran out of memory",
            ConfigurationError,
        ),
        ("GatedRepoError: 403 Client Error. Cannot access gated repo for url", "access to it has", ConfigurationError),
        (
            "OSError: no/model is not a local folder and is not a valid model identifier",
            "cannot find",
            ConfigurationError,
        ),
        ("OSError: [Errno 98] Address already in use", "port taken", ServerUnavailable),
        ("RuntimeError: Failed to infer device type", "no usable GPU", ConfigurationError),
        ("OSError: [Errno 28] No space left on device", "disk full", ConfigurationError),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x.jinja'", "misses a file", ConfigurationError),
        ("something nobody foresaw", "something nobody foresaw", ServerUnavailable),
    ],
)
def test_the_cause_of_a_death_is_read_from_the_log(line: str, words: str, kind: type[Exception]) -> None:
    error = death_of("vLLM", 1, ["INFO loading", line, "exiting"])
    assert type(error) is kind
    assert words in str(error)
    assert line in str(error)
    assert error.remedy


def test_a_silent_kill_is_taken_for_lack_of_memory() -> None:
    assert "memory" in str(death_of("vLLM", 137, []))


# Metrics.


def test_metrics_of_an_older_version_and_of_nothing() -> None:
    text = (
        'vllm_num_requests_waiting{a="x y"} 2\nvllm:gpu_cache_usage_perc 0.5\nvllm:num_requests_waiting 3 1700000000\n'
    )
    assert parse_metrics(text) == Load(waiting=5.0, kv_cache_usage=0.5)
    assert parse_metrics("<html>") == Load()


# A managed server.


def test_a_server_is_started_once_checked_by_the_canary_and_ended() -> None:
    seen: list[Endpoint] = []
    with stand_in(canary=seen.append) as server:
        assert not server.alive()
        with_threads: list[Endpoint] = []
        threads = [threading.Thread(target=lambda: with_threads.append(server.start())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(with_threads)) == 1
        assert server.start().model == "stand-in"
        assert len(seen) == 1
        assert server.alive()
        guarded = guard.descendants(server.pid or 0)
        assert len(guarded) == 1
    assert not server.running()
    assert not set(guarded) & set(guard.living_parents())


def test_the_key_is_neither_on_the_command_line_nor_in_the_log() -> None:
    with stand_in() as server:
        endpoint = server.start()
        assert endpoint.api_key
        for pid in (server.pid or 0, *guard.descendants(server.pid or 0)):
            assert endpoint.api_key.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert "listening, my key is ***" in server.tail()


def test_a_failing_canary_ends_the_server() -> None:
    def canary(endpoint: Endpoint) -> None:
        raise ConfigurationError("the page came back empty")

    server = stand_in(canary=canary)
    with pytest.raises(ConfigurationError, match="came back empty"):
        server.start()
    assert not server.running()


def test_a_server_that_dies_while_starting_is_reported_at_once_with_its_cause() -> None:
    server = stand_in(env={"STAND_IN_DIES": "error: unrecognized arguments: --foo"}, ready_timeout_s=60.0)
    started = time.monotonic()
    with pytest.raises(ConfigurationError, match="unrecognized arguments: --foo"):
        server.start()
    assert time.monotonic() - started < 30


def test_a_taken_port_is_tried_again_elsewhere_and_then_said() -> None:
    server = stand_in(env={"STAND_IN_DIES": "OSError: [Errno 98] Address already in use"})
    with pytest.raises(ServerUnavailable, match="port taken"):
        server.start()


def test_a_fixed_port_that_is_taken_is_said_before_anything_starts() -> None:
    with foreign_server({}) as url:
        server = stand_in(port=int(url.rpartition(":")[2]))
        with pytest.raises(ConfigurationError, match="is taken by another program"):
            server.start()


def test_a_server_that_never_gets_ready_is_ended_after_the_time_out() -> None:
    server = stand_in(env={"STAND_IN_SLOW": "600"}, ready_timeout_s=1.5)
    with pytest.raises(ServerUnavailable, match="not ready after 2 s"):
        server.start()
    assert not server.running()


def test_stop_ends_a_start_that_is_under_way() -> None:
    server = stand_in(env={"STAND_IN_SLOW": "600"})
    outcome: list[BaseException] = []

    def start() -> None:
        try:
            server.start()
        except ServerUnavailable as error:
            outcome.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    while not server.running():
        time.sleep(0.05)
    server.stop()
    thread.join(120)
    assert "stopped while starting" in str(outcome[0])
    assert not server.running()


def test_a_restart_keeps_the_address_and_the_key() -> None:
    with stand_in() as server:
        before, pid = server.start(), server.pid
        assert server.restart() == before
        assert server.pid != pid


def test_a_killed_server_is_brought_back_and_the_pages_asked_again() -> None:
    async def work(server: ManagedServer) -> tuple[set[str], int]:
        keeper = KeepAlive(server)
        async with ChatClient(server.endpoints(), on_unreachable=keeper.ensure, first_delay_s=0.01) as client:
            before = await client.ask(b"{}")
            os.kill(int(before.text), signal.SIGKILL)
            answers = await asyncio.gather(*(client.ask(b"{}") for _ in range(10)))
            return {before.text} ^ {answer.text for answer in answers}, keeper.restarts

    with stand_in() as server:
        pids, restarts = asyncio.run(work(server))
    assert len(pids) == 2
    assert restarts == 1


@pytest.mark.parametrize(("deaths", "comes_up"), [(1, True), (2, False)])
def test_a_server_that_is_killed_while_it_starts_is_started_once_more(deaths: int, comes_up: bool) -> None:
    server = stand_in()
    left = [deaths]

    def canary(endpoint: Endpoint) -> None:
        if left[0]:
            left[0] -= 1
            with httpx.Client(trust_env=False) as client:
                headers = endpoint.request_headers()
                said = client.post(endpoint.url("chat/completions"), json={}, headers=headers).json()
            os.kill(int(said["choices"][0]["message"]["content"]), signal.SIGKILL)
            raise ServerUnavailable("it does not answer")

    server._canary = canary
    try:
        if comes_up:
            assert server.start().model
        else:
            with pytest.raises(ServerUnavailable, match="killed from outside"):
                server.start()
    finally:
        server.stop()


def test_a_killed_guard_is_not_taken_for_a_server_without_memory() -> None:
    server = stand_in()
    victims = ["guard", "server"]

    def canary(endpoint: Endpoint) -> None:
        if not victims:
            return
        assert server.pid is not None
        guard = psutil.Process(server.pid)
        (guard if victims.pop(0) == "guard" else guard.children()[0]).kill()
        raise ServerUnavailable("it does not answer")

    server._canary = canary
    try:
        assert server.start().model
        server._end()
        victims += ["guard"] * 3
        with pytest.raises(ServerUnavailable, match=r"looks after .* was killed from outside"):
            server.start()
    finally:
        server.stop()


def test_a_page_that_kills_the_real_process_costs_only_itself() -> None:
    async def work(server: ManagedServer) -> tuple[list[object], int]:
        keeper = KeepAlive(server, restarts=5)
        async with ChatClient(server.endpoints(), on_unreachable=keeper.ensure, first_delay_s=0.01) as client:
            bodies = [json.dumps({"kill": number == 2}).encode() for number in range(6)]
            return await asyncio.gather(*(client.ask(body) for body in bodies), return_exceptions=True), keeper.restarts

    with stand_in() as server:
        outcomes, restarts = asyncio.run(work(server))
    assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, False, True, False, False, False]
    assert "died 3 times" in str(outcomes[2])
    assert restarts == 3


def test_the_budget_of_restarts_ends() -> None:
    async def work(server: ManagedServer) -> None:
        keeper = KeepAlive(server, restarts=1)
        for expected in (1, 1):
            server.stop()
            await keeper.ensure()
            assert keeper.restarts == expected

    with stand_in() as server:
        server.start()
        with pytest.raises(ServerUnavailable, match="after 1 restarts"):
            asyncio.run(work(server))


def test_a_stuck_server_is_started_again_and_a_healthy_one_left_alone() -> None:
    async def work(server: ManagedServer) -> None:
        keeper = KeepAlive(server)
        server.start()
        assert await keeper.ensure() is None
        assert await keeper.ensure(stuck=True) == server.endpoints()
        assert keeper.restarts == 1

    with stand_in() as server:
        asyncio.run(work(server))


# vLLM's command line.


def test_the_command_line_of_vllm(tmp_path: Path) -> None:
    server = VllmServer(
        "org/model",
        revision="abc",
        serve_args=["--max-model-len", "4096", "--limit-mm-per-prompt", '{"image": 1}'],
        options={"tensor_parallel_size": 2, "dtype": None},
        extra_args=["--max-model-len", "8192", "--api-key", "my-own-key", "--port", str(port := quiet_port())],
        env={"EXTRA": "1"},
        executable=sys.executable,
    )
    command = server.command(port)
    assert command[1:3] == ["serve", "org/model"]
    assert command[3:] == [
        *("--host", "127.0.0.1", "--port", str(port), "--disable-uvicorn-access-log", "--revision", "abc"),
        *("--max-model-len", "8192", "--limit-mm-per-prompt", '{"image": 1}', "--tensor-parallel-size", "2"),
    ]
    environment = server.environment(server._api_key)
    assert environment["VLLM_API_KEY"] == "my-own-key"
    assert environment["EXTRA"] == "1"


def test_a_relative_model_directory_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").mkdir()
    monkeypatch.chdir(tmp_path)
    server = VllmServer("weights", revision="main", executable=sys.executable)
    command = server.command(1)
    assert command[2] == str(tmp_path / "weights")
    assert "--revision" not in command
    with pytest.raises(ConfigurationError, match="no model directory"):
        VllmServer("./nowhere")


def test_a_missing_vllm_is_said_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ConfigurationError, match=r"pdfocr\[vllm\]"):
        VllmServer("org/model").start()


# Servers of others.


@contextmanager
def foreign_server(models: object, status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = json.dumps(models).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


ONE = {"data": [{"id": "only", "root": "org/only"}]}
TWO = {"data": [{"id": "a"}, {"id": "b", "root": "org/b"}]}


@pytest.mark.parametrize(
    ("models", "wanted", "found"),
    [(ONE, None, "only"), (ONE, "another", "only"), (TWO, "a", "a"), (TWO, "org/b", "b")],
)
def test_the_served_model_is_matched(models: object, wanted: str | None, found: str) -> None:
    with foreign_server(models) as url, RemoteServer([url], model=wanted) as server:
        assert server.start().model == found
        assert server.alive()
        assert server.running()


@pytest.mark.parametrize(
    ("models", "status", "wanted", "words"),
    [
        (TWO, 200, None, "serves 2 models: a, b"),
        (TWO, 200, "c", "does not serve c. It serves: a, b"),
        ({"hello": 1}, 200, None, "does not answer like an OpenAI"),
        (ONE, 401, None, "refuses the API key"),
        (ONE, 403, None, "denies access"),
        (ONE, 404, None, "no such address"),
    ],
)
def test_what_is_wrong_with_a_remote_server_is_said(
    models: object, status: int, wanted: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PDFOCR_API_KEY", "remote-secret")
    with foreign_server(models, status) as url, pytest.raises(ConfigurationError) as caught:
        RemoteServer([url], model=wanted).start()
    assert words in str(caught.value)
    assert "remote-secret" not in str(caught.value)


def test_a_remote_server_that_does_not_answer_is_said_after_the_wait() -> None:
    with pytest.raises(ServerUnavailable, match="does not answer"):
        RemoteServer([f"http://127.0.0.1:{quiet_port()}"], wait_s=0.2).start()


def test_several_urls_must_serve_the_same_model() -> None:
    other = {"data": [{"id": "other"}]}
    with foreign_server(ONE) as one, foreign_server(other) as two:
        with pytest.raises(ConfigurationError, match="different models: only, other"):
            RemoteServer([one, two]).start()
        assert len(RemoteServer([one, one]).endpoints()) == 2


def test_a_remote_server_is_left_running_by_keep_alive_and_stop() -> None:
    with foreign_server(ONE) as url:
        server = RemoteServer([url])
        server.start()
        assert asyncio.run(KeepAlive(server).ensure(stuck=True)) is None
        server.stop()
        assert httpx.get(url + "/v1/models", trust_env=False).status_code == 200
