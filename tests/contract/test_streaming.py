"""Streamed completions over real sockets: whole, in pieces, broken, and broken off because they loop."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Sequence

import pytest

from pdfocr_core.engines.judge import judge
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.engines.repetition import LOOP_SEEN
from pdfocr_core.errors import PageError, Reason, ServerUnavailable
from pdfocr_core.serving.abilities import delivery, request_fields
from pdfocr_core.serving.client import ChatClient
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.streaming import EventStream
from pdfocr_core.testing.server import fault_server
from tests.contract.test_client import Act, Scripted, first, run, serving

USAGE = {"prompt_tokens": 11, "completion_tokens": 7}
HONEST = "".join(f"Line {number} of a ledger with {number * 7919 % 1000} in it.\n" for number in range(200))


def event(content: str | None = None, *, finish_reason: str | None = None, **more: object) -> bytes:
    delta = {} if content is None else {"content": content}
    data = {"model": "served", "choices": [{"delta": delta, "finish_reason": finish_reason}], **more}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def streaming(parts: Sequence[bytes], *, cut: bool = False) -> Act:
    def act(request: Scripted) -> None:
        request.send_response(200)
        request.send_header("content-type", "text/event-stream; charset=utf-8")
        request.send_header("transfer-encoding", "chunked")
        request.end_headers()
        for part in parts:
            request.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        if cut:
            request.wfile.flush()
            request.connection.shutdown(socket.SHUT_RDWR)
            request.close_connection = True
        else:
            request.wfile.write(b"0\r\n\r\n")

    return act


def test_a_stream_is_put_together_with_its_usage_and_the_connection_is_kept() -> None:
    ports = set()
    usage = b"data: " + json.dumps({"choices": [], "usage": USAGE}).encode() + b"\r\n\r\n"
    parts = [b": a comment\n\n", event(""), event("re"), event("ad 🐄"), event(finish_reason="stop"), usage, DONE]

    def act(request: Scripted) -> None:
        ports.add(request.client_address[1])
        streaming(parts)(request)

    async def work(client: ChatClient) -> list[object]:
        return [await client.ask(b"{}") for _ in range(3)]

    with serving(act) as endpoint:
        answers = run(work, endpoint)
    for answer in answers:
        assert (answer.text, answer.finish_reason, answer.model) == ("read 🐄", "stop", "served")
        assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)
    assert len(ports) == 1


def test_it_does_not_matter_where_the_network_cuts() -> None:
    data = b"".join([event("grüße "), event("aus\r\n"), event("Åbo", finish_reason="length"), DONE])
    for seed in range(30):
        chance = random.Random(seed)
        stream, at = EventStream(Endpoint("http://localhost/v1", model="m")), 0
        while at < len(data):
            size = chance.randint(1, 40)
            stream.feed(data[at : at + size])
            at += size
        answer = stream.answer(1.0)
        assert (answer.text, answer.finish_reason) == ("grüße aus\r\nÅbo", "length")
        # Without a word on usage every part counts as a token.
        assert answer.completion_tokens == 3


@pytest.mark.parametrize(
    "bad",
    [
        streaming([event("half")], cut=True),
        streaming([event("half")]),
        streaming([b"data: \x80\xff<html>\n\n"]),
        streaming([b'data: {"choices": 7}\n\n']),
        streaming([b"data: []\n\n"]),
        streaming([DONE]),
        streaming([]),
        streaming([b'data: {"error": {"message": "overloaded", "code": 503}}\n\n']),
        streaming([event("half"), b'data: {"error": "CUDA error"}\n\n']),
        streaming([b"data: " + b"x" * (3 << 20)]),
    ],
    ids=["cut", "no-end", "garbage", "other-json", "list", "only-done", "nothing", "503", "error", "endless-event"],
)
def test_a_broken_stream_is_the_servers_trouble(bad: Act) -> None:
    async def work(client: ChatClient) -> tuple[str, int, int]:
        answer = await client.ask(b"{}")
        return answer.text, client.counts.sent, client.counts.retried

    with serving(first(2, bad)) as endpoint:
        assert run(work, endpoint) == ("read", 3, 2)


def test_a_stream_that_stands_still_is_a_time_out() -> None:
    def act(request: Scripted) -> None:
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        request.wfile.write(event("half"))
        request.connection.recv(1)  # until the client has gone

    with serving(act) as endpoint, pytest.raises(ServerUnavailable, match="no complete answer"):
        run(lambda client: client.ask(b"{}"), endpoint, request_timeout_s=0.3, patience_s=1.0)


def test_a_refusal_in_the_stream_is_the_pages() -> None:
    refused = b'data: {"error": {"message": "too many tokens", "code": 400}}\n\n'
    with serving(streaming([refused])) as endpoint, pytest.raises(PageError, match="too many tokens"):
        run(lambda client: client.ask(b"{}"), endpoint)


@pytest.mark.parametrize("unit", ["and so on ", "| the same | cells |\n", "A paragraph of some length. " * 9])
def test_a_loop_is_broken_off_and_the_server_sees_it(unit: str) -> None:
    sent: list[int] = []

    def act(request: Scripted) -> None:
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        try:
            request.wfile.write(event(HONEST[:1000]))
            while len(sent) < 10**6:
                request.wfile.write(event(unit, usage={"prompt_tokens": 5, "completion_tokens": len(sent)}))
                sent.append(1)
        except OSError:
            sent.append(-1)
        request.close_connection = True

    async def work(client: ChatClient) -> object:
        return [await client.ask(b"{}"), client.counts.answered]

    with serving(act) as endpoint:
        answer, answered = run(work, endpoint)
    assert answered == 1
    assert (answer.finish_reason, answer.prompt_tokens) == (LOOP_SEEN, 5)
    assert judge(answer.text, ParsedPage(answer.text), answer.finish_reason) is Reason.REPETITION
    assert answer.text.startswith(HONEST[:1000])
    assert len(answer.text) < 7500
    assert answer.completion_tokens * len(unit) < 7500


@pytest.mark.parametrize(
    "text",
    [
        HONEST * 2,
        HONEST + "Name: ______________  Date: __________\n" * 40 + HONEST,
        HONEST + "<tr><td>0.00</td><td>0.00</td></tr>\n" * 100 + HONEST,
        HONEST + ". " * 3000 + HONEST,
        HONEST + "A label, Some Street 5, Some Town\n" * 40 + HONEST,
    ],
    ids=["prose", "form", "zeros", "leaders", "labels"],
)
def test_an_honest_page_is_read_to_its_end(text: str) -> None:
    stream = EventStream(Endpoint("http://localhost/v1", model="m"))
    for start in range(0, len(text), 7):
        assert not stream.feed(event(text[start : start + 7]))
    assert stream.feed(event(finish_reason="stop") + DONE)
    assert stream.answer(1.0).text == text


def test_what_a_server_offers_decides_how_answers_come() -> None:
    with fault_server(offers={"stream", "stream_interval"}) as new, fault_server(offers={"stream"}) as old:
        places = [Endpoint(server.url, model="m") for server in (new, old)]
        assert request_fields(places[:1]) == {"stream", "stream_interval"}
        assert request_fields(places) == {"stream"}
    # Gone, or silent: nothing is known.
    with fault_server() as silent:
        assert request_fields([Endpoint(silent.url)]) is None
    assert request_fields(places) is None
    batching = frozenset({"stream", "stream_interval"})
    assert delivery(None, managed=False, fields=None) == {}
    assert delivery(None, managed=False, fields=frozenset({"stream"})) == {}
    assert delivery(False, managed=True, fields=batching) == {}
    assert delivery(None, managed=False, fields=batching)["stream_interval"] > 1
    assert "stream_interval" not in delivery(None, managed=True, fields=None)
    # A service that is asked for a stream all the same gets nothing that only vLLM knows.
    assert delivery(True, managed=False, fields=None) == {"stream": True, "stream_options": {"include_usage": True}}
