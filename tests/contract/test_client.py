"""The client against real sockets that misbehave: no page pays for the server's trouble, none waits in vain."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from pdfocr_core.errors import ConfigurationError, PageError, Reason, ServerUnavailable
from pdfocr_core.serving import client as client_module
from pdfocr_core.serving import lanes
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.lanes import FAILURES_TO_OPEN, Lane
from tests.ports import quiet_port

KEY = "geheimer-schluessel"
Act = Callable[["Scripted"], None]


class Scripted(BaseHTTPRequestHandler):
    """Answers each request by the test's own function."""

    protocol_version = "HTTP/1.1"
    act: Act
    body: dict[str, Any]

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        self.body = json.loads(content)
        type(self).act(self)

    def do_GET(self) -> None:
        if self.path != "/metrics":
            self.reply(404, "nothing here")
            return
        lines = [
            "# HELP vllm:num_requests_running x",
            'vllm:num_requests_running{engine="0"} 3.0',
            'vllm:num_requests_running{engine="1"} 4.0',
            'vllm:num_requests_waiting{engine="0"} NaN',
            'vllm:kv_cache_usage_perc{engine="0"} 0.25',
            'vllm:kv_cache_usage_perc{engine="1"} 0.5',
        ]
        self.reply(200, "\n".join(lines))

    def good(self, text: str = "read") -> None:
        answer = {
            "model": "served",
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        }
        self.reply(200, json.dumps(answer))

    def reply(self, status: int, text: str, **headers: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def cut(self) -> None:
        """Promise more than is sent, then close."""
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def serving(act: Act, port: int = 0) -> Iterator[Endpoint]:
    handler = type("Handler", (Scripted,), {"act": staticmethod(act)})
    server = QuietServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", KEY, "served")
    finally:
        server.shutdown()
        server.server_close()


def first(count: int, bad: Act) -> Act:
    """The first requests are answered badly, all later ones well."""
    lock = threading.Lock()
    seen = [0]

    def act(request: Scripted) -> None:
        with lock:
            seen[0] += 1
            number = seen[0]
        if number <= count:
            bad(request)
        else:
            request.good()

    return act


def run(work: Callable[[ChatClient], Awaitable[Any]], *endpoints: Endpoint, **options: Any) -> Any:
    async def main() -> Any:
        async with ChatClient(endpoints, **{"first_delay_s": 0.01, "patience_s": 60.0, **options}) as client:
            return await work(client)

    return asyncio.run(main())


def test_a_good_answer_with_its_tokens_and_the_key_in_the_header() -> None:
    seen = []

    def act(request: Scripted) -> None:
        seen.append((request.headers["authorization"], request.headers["content-type"], request.path))
        request.good("text")

    with serving(act) as endpoint:
        answer = run(lambda client: client.ask(b"{}"), endpoint)
    assert (answer.text, answer.finish_reason, answer.model) == ("text", "stop", "served")
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)
    assert answer.seconds > 0
    assert seen == [(f"Bearer {KEY}", "application/json", "/v1/chat/completions")]


@pytest.mark.parametrize(
    "content",
    [
        '{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}',
        '{"choices": [{"message": {"content": []}, "finish_reason": "stop"}], "usage": null}',
    ],
)
def test_an_answer_without_text_is_empty_text(content: str) -> None:
    with serving(lambda request: request.reply(200, content)) as endpoint:
        assert run(lambda client: client.ask(b"{}"), endpoint).text == ""


@pytest.mark.parametrize(
    "bad",
    [
        lambda request: request.reply(500, "oops"),
        lambda request: request.reply(503, "", retry_after="0"),
        lambda request: request.reply(429, "slow down"),
        lambda request: request.reply(200, "not json"),
        lambda request: request.reply(200, '{"error": {"message": "in a 200"}}'),
        lambda request: request.reply(200, "zzz", content_encoding="gzip"),
        Scripted.cut,
    ],
    ids=["500", "503", "429", "no-json", "error-in-200", "bad-gzip", "cut"],
)
def test_the_servers_trouble_is_waited_out(bad: Act) -> None:
    async def work(client: ChatClient) -> tuple[str, int, int]:
        answer = await client.ask(b"{}")
        return answer.text, client.counts.sent, client.counts.retried

    with serving(first(3, bad)) as endpoint:
        assert run(work, endpoint) == ("read", 4, 3)


def test_many_pages_under_random_trouble_all_arrive_once() -> None:
    lock = threading.Lock()
    random_numbers = iter(range(10**6))
    answered: list[int] = []

    def act(request: Scripted) -> None:
        with lock:
            number = next(random_numbers)
        if number % 7 == 0:
            request.reply(500, "")
        elif number % 11 == 0:
            request.cut()
        elif number % 5 == 0:
            request.reply(429, "")
        else:
            with lock:
                answered.append(request.body["page"])
            request.good(str(request.body["page"]))

    async def work(client: ChatClient) -> list[str]:
        answers = await asyncio.gather(*(client.ask(json.dumps({"page": page}).encode()) for page in range(150)))
        assert client.counts.answered == 150
        assert client.counts.sent == 150 + client.counts.retried
        return [answer.text for answer in answers]

    with serving(act) as endpoint:
        assert run(work, endpoint, max_connections=16) == [str(page) for page in range(150)]
    assert sorted(answered) == list(range(150))


def test_retry_after_is_honoured() -> None:
    times: list[float] = []

    def act(request: Scripted) -> None:
        times.append(time.monotonic())
        if len(times) == 1:
            request.reply(429, "", retry_after="1")
        else:
            request.good()

    with serving(act) as endpoint:
        run(lambda client: client.ask(b"{}"), endpoint)
    assert times[1] - times[0] >= 1.0


def test_a_hanging_request_ends_at_its_deadline_and_is_asked_again() -> None:
    with serving(first(1, lambda _: time.sleep(5))) as endpoint:
        answer = run(lambda client: client.ask(b"{}"), endpoint, request_timeout_s=1.0)
    assert answer.text == "read"


def test_a_trickling_answer_ends_at_its_deadline_too() -> None:
    def trickle(request: Scripted) -> None:
        request.send_response(200)
        request.send_header("content-length", "100")
        request.end_headers()
        for _ in range(50):
            request.wfile.write(b" ")
            time.sleep(0.1)

    with serving(first(1, trickle)) as endpoint:
        assert run(lambda client: client.ask(b"{}"), endpoint, request_timeout_s=1.0).text == "read"


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_request_is_the_pages_fault_at_once(status: int) -> None:
    picture = "A" * 100_000
    seen = []

    def act(request: Scripted) -> None:
        seen.append(1)
        request.reply(status, json.dumps({"error": {"message": f"too long: {picture}"}}))

    with serving(act) as endpoint, pytest.raises(PageError) as caught:
        run(lambda client: client.ask(b"{}"), endpoint)
    assert caught.value.reason is Reason.REFUSED_BY_SERVER
    assert caught.value.detail.startswith(f"HTTP {status}: too long: AAA")
    assert len(caught.value.detail) < 400
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "refuses the API key"), (403, "denies access"), (404, "no such address"), (308, "no such address")],
)
def test_wrong_key_or_url_ends_at_once_without_showing_a_secret(status: int, words: str) -> None:
    with serving(lambda request: request.reply(status, f"you sent {KEY}")) as endpoint:
        asked = Endpoint(endpoint.base_url + "?token=querygeheim", KEY)
        with pytest.raises(ConfigurationError, match=words) as caught:
            run(lambda client: client.ask(b"{}"), asked)
    assert KEY not in str(caught.value)
    assert "querygeheim" not in str(caught.value)


def test_a_query_string_goes_with_every_request_and_into_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    paths = []

    def act(request: Scripted) -> None:
        paths.append(request.path)
        request.good()

    with serving(act) as endpoint:
        azure = Endpoint(endpoint.base_url + "?api-version=1", "bare", key_header="api-key")
        run(lambda client: client.ask(b"{}"), azure)
    assert paths == ["/v1/chat/completions?api-version=1"]
    assert "api-version" not in caplog.text


def test_a_server_that_stays_away_ends_the_run_after_the_patience() -> None:
    nobody = Endpoint(f"http://127.0.0.1:{quiet_port()}/v1", KEY)

    async def work(client: ChatClient) -> list[object]:
        return await asyncio.gather(*(client.ask(b"{}") for _ in range(20)), return_exceptions=True)

    started = time.monotonic()
    outcomes = run(work, nobody, patience_s=0.6)
    assert time.monotonic() - started >= 0.6
    assert {type(outcome) for outcome in outcomes} == {ServerUnavailable}


def test_a_server_that_comes_late_is_waited_for() -> None:
    port = quiet_port()

    async def work(client: ChatClient) -> str:
        asked = asyncio.create_task(client.ask(b"{}"))
        await asyncio.sleep(0.5)
        with serving(Scripted.good, port):
            return (await asked).text

    assert run(work, Endpoint(f"http://127.0.0.1:{port}/v1")) == "read"


def test_a_page_that_alone_keeps_failing_is_given_up_and_the_others_arrive() -> None:
    def act(request: Scripted) -> None:
        if request.body.get("poison"):
            request.reply(500, "cannot take this one")
        else:
            request.good()

    async def work(client: ChatClient) -> PageError:
        poison = asyncio.create_task(client.ask(b'{"poison": true}'))
        while not poison.done():
            await client.ask(b"{}")
        with pytest.raises(PageError) as caught:
            await poison
        return caught.value

    with serving(act) as endpoint:
        error = run(work, endpoint)
    assert error.reason is Reason.REFUSED_BY_SERVER
    assert "cannot take this one" in error.detail


def test_a_poison_page_that_is_the_last_one_left_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def act(request: Scripted) -> None:
        if request.body.get("poison"):
            request.reply(500, "never")
        else:
            request.good()

    async def work(client: ChatClient) -> None:
        await client.ask(b"{}")
        with pytest.raises(PageError):
            await client.ask(b'{"poison": true}')
        # The client is not broken by it.
        assert (await client.ask(b"{}")).text == "read"

    with serving(act) as endpoint:
        # With pauses of the breaker this short the eighth failure comes after a second or two, long before the patience ends.
        monkeypatch.setattr(lanes, "FIRST_PAUSE_S", 0.1)
        monkeypatch.setattr(lanes, "LONGEST_PAUSE_S", 0.1)
        run(work, endpoint, patience_s=10.0)


def test_requests_are_balanced_and_a_dead_server_is_left_out() -> None:
    served = {"a": 0, "b": 0}

    def counting(name: str) -> Act:
        def act(request: Scripted) -> None:
            served[name] += 1
            time.sleep(0.1)
            request.good()

        return act

    async def work(client: ChatClient) -> None:
        await asyncio.gather(*(client.ask(b"{}") for _ in range(40)))

    dead = Endpoint(f"http://127.0.0.1:{quiet_port()}/v1")
    with serving(counting("a")) as first_one, serving(counting("b")) as second_one:
        run(work, first_one, dead, second_one, max_connections=8)
    assert served["a"] + served["b"] == 40
    assert min(served.values()) >= 8


def test_proxies_of_the_environment_are_not_asked_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = f"http://127.0.0.1:{quiet_port()}"
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nowhere)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    far = Endpoint("http://192.0.2.1/v1")
    with serving(Scripted.good) as endpoint:
        assert run(lambda client: client.ask(b"{}"), endpoint).text == "read"
        # A far server beside it switches the environment on; loopback still goes straight.
        assert run(lambda client: client.ask(b"{}"), endpoint, far).text == "read"


def test_an_unreachable_server_is_reported_once_and_its_new_address_used() -> None:
    calls = []

    async def work(client: ChatClient) -> int:
        answers = await asyncio.gather(*(client.ask(b"{}") for _ in range(20)))
        return len(answers)

    with serving(Scripted.good) as endpoint:

        async def recover(*, stuck: bool = False) -> Sequence[Endpoint]:
            calls.append(stuck)
            await asyncio.sleep(1)  # until all have found it wanting
            return [endpoint]

        dead = Endpoint(f"http://127.0.0.1:{quiet_port()}/v1")
        assert run(work, dead, on_unreachable=recover, patience_s=0.1) == 20
    assert calls == [False]


def test_a_stuck_server_is_reported_as_stuck() -> None:
    calls = []
    stop = threading.Event()

    async def recover(*, stuck: bool = False) -> None:
        calls.append(stuck)
        stop.set()

    def act(request: Scripted) -> None:
        if stop.is_set():
            request.good()
        else:
            stop.wait(30)

    with serving(act) as endpoint:
        run(lambda client: client.ask(b"{}"), endpoint, on_unreachable=recover, request_timeout_s=1.5)
    assert calls == [True]


def test_the_owners_failure_to_bring_it_back_reaches_every_page() -> None:
    async def recover(*, stuck: bool = False) -> None:
        raise ServerUnavailable("budget spent")

    async def work(client: ChatClient) -> list[object]:
        return await asyncio.gather(*(client.ask(b"{}") for _ in range(5)), return_exceptions=True)

    dead = Endpoint(f"http://127.0.0.1:{quiet_port()}/v1")
    outcomes = run(work, dead, on_unreachable=recover)
    assert {str(outcome) for outcome in outcomes} == {"budget spent"}


def test_a_page_that_kills_the_server_is_found_and_its_neighbours_arrive() -> None:
    deaths = []

    def act(request: Scripted) -> None:
        time.sleep(0.05)
        if request.body.get("deadly"):
            deaths.append(1)
            request.cut()
        else:
            request.good()

    async def work(client: ChatClient) -> list[object]:
        bodies = [b'{"deadly": true}' if number == 3 else b"{}" for number in range(10)]
        return await asyncio.gather(*(client.ask(body) for body in bodies), return_exceptions=True)

    with serving(act) as endpoint:

        async def recover(*, stuck: bool = False) -> Sequence[Endpoint]:
            return [endpoint]

        # Whatever is cut counts as a death here: the owner says each time that it started the server again.
        outcomes = run(work, endpoint, on_unreachable=recover)
    assert isinstance(outcomes[3], PageError)
    assert "died" in outcomes[3].detail
    assert all(not isinstance(outcome, Exception) for number, outcome in enumerate(outcomes) if number != 3)
    assert len(deaths) == client_module.DEATHS_BEFORE_ALONE + 1


def test_cancelling_a_page_frees_its_place() -> None:
    arrived, release = threading.Event(), threading.Event()

    def act(request: Scripted) -> None:
        if request.body.get("slow"):
            arrived.set()
            release.wait(60)
        request.good()

    async def work(client: ChatClient) -> str:
        slow = asyncio.create_task(client.ask(b'{"slow": true}'))
        assert await asyncio.to_thread(arrived.wait, 60)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return (await client.ask(b"{}")).text

    with serving(act) as endpoint:
        assert run(work, endpoint, max_connections=1) == "read"
        release.set()


def test_metrics_are_summed_and_missing_ones_are_none() -> None:
    with serving(Scripted.good) as endpoint:
        load = run(lambda client: client.metrics(), endpoint)
        nobody = run(lambda client: client.metrics(), Endpoint(f"http://127.0.0.1:{quiet_port()}/v1"))
    assert (load.running, load.waiting, load.kv_cache_usage) == (7.0, None, 0.5)
    assert nobody.running is None


def test_an_untrusted_certificate_is_a_matter_of_configuration() -> None:
    import ssl

    error = httpx.ConnectError("certificate verify failed")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")
    from pdfocr_core.serving.answers import transport_trouble

    found = transport_trouble(Endpoint("https://far.example/v1"), error)
    assert isinstance(found, ConfigurationError)
    assert "far.example" in str(found)


def test_a_lane_pauses_after_failures_and_lets_one_try() -> None:
    lane = Lane(Endpoint("http://127.0.0.1:1/v1"))
    for _ in range(FAILURES_TO_OPEN):
        lane.enter()
        lane.leave()
        lane.failed(now=100.0)
    assert lane.opens_in(100.0) == 1.0
    assert lane.opens_in(101.0) == 0.0
    lane.enter()
    assert lane.opens_in(101.0) > 0
    lane.leave()
    lane.failed(now=101.0)
    assert lane.opens_in(101.0) == 2.0
    lane.enter()
    lane.leave()
    lane.succeeded()
    assert lane.opens_in(101.0) == 0.0
