"""The fault server plays each fault as its documentation says, in one piece and as a stream, and does well otherwise."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.server import MODEL, FaultServer, fault_server

PICTURE = "data:image/png;base64,AAAA"
ASKED_FOR = {
    "hang": Fault.HANG,
    "crash": Fault.CRASH,
    "run out of memory": Fault.OUT_OF_MEMORY,
    "stream garbage": Fault.GARBAGE,
    "loop": Fault.LOOP,
    "truncate": Fault.TRUNCATE,
    "answer another page's text": Fault.OTHER_PAGE,
    "lie about usage": Fault.USAGE,
    "send 429 storms": Fault.OVERLOAD,
    "close connections": Fault.CLOSE,
    "change its model mid-run": Fault.OTHER_MODEL,
}


PATIENT, HASTY = httpx.Timeout(60), httpx.Timeout(60, read=1)


def ask(
    server: FaultServer, *, stream: bool = False, model: str = MODEL, timeout: httpx.Timeout = PATIENT
) -> httpx.Response:
    content = [{"type": "image_url", "image_url": {"url": PICTURE}}]
    body: dict[str, Any] = {"model": model, "max_tokens": 50, "messages": [{"role": "user", "content": content}]}
    if stream:
        body["stream"] = True
    with httpx.Client(trust_env=False, timeout=timeout) as client:
        return client.post(f"{server.url}/chat/completions", json=body)


def text_of(response: httpx.Response) -> str:
    if not response.headers["content-type"].startswith("text/event-stream"):
        return str(response.json()["choices"][0]["message"]["content"])
    events = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.HANG, httpx.ReadTimeout),
        (Fault.CRASH, httpx.TransportError),
        (Fault.CLOSE, httpx.RemoteProtocolError),
        (Fault.FLOOD, MemoryError),
    ],
)
def test_faults_of_the_connection(fault: Fault, error: type[Exception], stream: bool) -> None:
    with fault_server(Plan({fault: 1.0}, down_s=0.2)) as server:
        if error is MemoryError:
            with httpx.Client(trust_env=False, timeout=PATIENT) as client:
                body = {"model": MODEL, "stream": stream, "messages": [{"role": "user", "content": "page"}]}
                with client.stream("POST", f"{server.url}/chat/completions", json=body) as response:
                    got = 0
                    for data in response.iter_raw():
                        got += len(data)
                        if got > 10 * 2**20:
                            return
            pytest.fail("the flood ended")
        with pytest.raises(error):
            ask(server, stream=stream, timeout=HASTY if fault is Fault.HANG else PATIENT)
        time.sleep(0.3)
        assert text_of(ask(server, stream=stream)).startswith("---")
        assert server.met == {fault: 1}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("fault", "status", "word"),
    [
        (Fault.OVERLOAD, 429, "Too many"),
        (Fault.ERROR, 500, "Internal"),
        (Fault.OUT_OF_MEMORY, 500, "out of memory"),
        (Fault.REFUSE, 400, "cannot be read"),
    ],
)
def test_faults_that_are_told_by_their_status(fault: Fault, status: int, word: str, stream: bool) -> None:
    with fault_server(Plan({fault: 1.0}, down_s=0.2, retry_after_s=0.5)) as server:
        response = ask(server, stream=stream)
        assert (response.status_code, word in response.text) == (status, True)
        if fault is Fault.OVERLOAD:
            assert response.headers["retry-after"] == "0.5"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_faults_that_look_like_answers(stream: bool) -> None:
    with fault_server() as server:
        good = text_of(ask(server, stream=stream))
    answers: dict[Fault, httpx.Response] = {}
    for fault in (Fault.LOOP, Fault.TRUNCATE, Fault.FOREIGN, Fault.USAGE, Fault.OTHER_PAGE, Fault.OTHER_MODEL):
        with fault_server(Plan({fault: 1.0})) as server:
            answers[fault] = ask(server, stream=stream)
            if fault is Fault.OTHER_MODEL:
                assert server.model != MODEL
                assert ask(server, stream=stream).status_code == 404
    texts = {fault: text_of(response) for fault, response in answers.items()}
    assert texts[Fault.LOOP].startswith(good)
    assert texts[Fault.LOOP].count("and so on") == 50
    assert texts[Fault.TRUNCATE] == good[: len(texts[Fault.TRUNCATE])] != good
    assert not texts[Fault.FOREIGN].startswith("---")
    assert texts[Fault.USAGE] == texts[Fault.OTHER_MODEL] == good
    assert (texts[Fault.OTHER_PAGE] != good, len(texts[Fault.OTHER_PAGE])) == (True, len(good))
    assert '"completion_tokens": Infinity' in answers[Fault.USAGE].text
    for fault in (Fault.LOOP, Fault.TRUNCATE):
        assert '"finish_reason": "length"' in answers[fault].text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_garbage_is_no_answer(stream: bool) -> None:
    with fault_server(Plan({Fault.GARBAGE: 1.0})) as server:
        response = ask(server, stream=stream)
    assert response.status_code == 200
    with pytest.raises(ValueError, match=r"column 1|can't decode"):
        json.loads(response.content.removeprefix(b"data: "))


def test_every_fault_is_played_in_some_test_here() -> None:
    assert len(set(ASKED_FOR.values())) == len(ASKED_FOR)
    source = Path(__file__).read_text()
    assert [fault for fault in Fault if f"Fault.{fault.name}" not in source] == []


def test_a_key_is_asked_for_where_one_is_set() -> None:
    with fault_server() as server:
        server.key = "right"
        assert ask(server).status_code == 401
        with httpx.Client(trust_env=False, timeout=PATIENT, headers={"Authorization": "Bearer right"}) as client:
            assert client.get(f"{server.url}/models").status_code == 200
