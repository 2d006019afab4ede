"""What a server refuses or ignores is left out from then on, said once, and costs no attempt."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from pdfocr_core.engines.engine import Engine, build_engine
from pdfocr_core.engines.profile import load_profile
from pdfocr_core.engines.repetition import LOOP_SEEN
from pdfocr_core.errors import PageError, Reason
from pdfocr_core.flow.form import RequestForm, form_for
from pdfocr_core.records import PageStatus
from pdfocr_core.serving.abilities import delivery
from pdfocr_core.serving.answers import Answer
from pdfocr_core.serving.remote import RemoteServer
from pdfocr_core.testing.server import MODEL, fault_server
from tests.unit.test_ladder import FOREIGN, Script, answer, read, reasons

STREAMED = delivery(True, managed=True, fields=frozenset({"stream_interval"}))


def engine(**delivered: Any) -> Engine:
    return build_engine(load_profile("olmocr-2"), structured=True).delivered(delivered)


def refusal(said: str) -> PageError:
    return PageError(Reason.REFUSED_BY_SERVER, f"HTTP 400: {said}")


def bodies(script: Script) -> list[dict[str, Any]]:
    return [json.loads(body) for body in script.asked]


@pytest.mark.parametrize(
    "said",
    [
        "Unrecognized request argument supplied: structured_outputs",
        "[{'type': 'extra_forbidden', 'loc': ('body', 'structured_outputs'), 'msg': 'Extra inputs are not permitted'}]",
        "Structured outputs are not supported by this model runner",
        "guided decoding is disabled",
        "response_format is not available",
        "The provided regex could not be compiled to a grammar",
    ],
)
def test_structured_output_that_is_refused_is_given_up(said: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pdfocr.client")
    script, held = Script([refusal(said), answer()]), engine(**STREAMED)
    record = read(script, engine=held)
    assert (record.status, reasons(record)) == (PageStatus.OK, [None])
    # The identity says the same: the text that is asked for is the same.
    assert record.engine_id == held.engine_id == held.without_structure().engine_id
    assert ["structured_outputs" in body for body in bodies(script)] == [True, False]
    # All else stays as it was: the stream, the temperature, the picture.
    assert all(body["stream"] for body in bodies(script))
    assert len({body["temperature"] for body in bodies(script)}) == 1
    assert script.drawn == []
    assert caplog.text.count("refuses structured output") == 1


def test_a_stream_that_is_refused_is_given_up() -> None:
    script = Script([refusal("stream_options: extra fields not permitted"), answer()])
    assert reasons(read(script, engine=engine(**STREAMED))) == [None]
    first, second = bodies(script)
    assert first.keys() - second.keys() == {"stream", "stream_options", "stream_interval"}


@pytest.mark.parametrize("said", ["The picture is too large.", "broken data stream when reading image file"])
def test_another_refusal_is_the_pages_own(said: str) -> None:
    script = Script([refusal(said), answer()])
    assert reasons(read(script, engine=engine(**STREAMED))) == ["refused_by_server", None]
    assert all("structured_outputs" in body and body["stream"] for body in bodies(script))


def test_a_server_that_goes_on_refusing_is_not_asked_for_ever() -> None:
    record = read(Script([refusal("no structured_outputs, no stream_options")]), engine=engine(**STREAMED))
    assert (record.status, set(reasons(record)), len(record.attempts)) == (
        PageStatus.FAILED,
        {"refused_by_server"},
        8,
    )


def test_pages_that_were_under_way_are_asked_again_too(caplog: pytest.LogCaptureFixture) -> None:
    form = RequestForm(engine())
    sent, said = form.engine, "HTTP 400: unknown field structured_outputs"
    assert form.gives_up(sent, said)
    assert form.gives_up(sent, said)
    # But not the page that was written without.
    assert not form.gives_up(form.engine, said)
    assert caplog.text.count("refuses structured output") == 1


def test_a_server_that_ignores_structured_output_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    script = Script([FOREIGN, FOREIGN, answer()])
    assert reasons(read(script, engine=engine())) == ["bad_front_matter", "bad_front_matter", None]
    assert ["structured_outputs" in body for body in bodies(script)] == [True, False, False]
    assert caplog.text.count("ignores structured output") == 1
    # One that keeps to it is believed, and so is one that had no room for its end.
    form = RequestForm(engine())
    form.look_at(form.engine, answer().text, "stop")
    form.look_at(form.engine, "---\nprimary_la", "length")
    assert form.engine.structured


def test_only_what_a_server_offers_is_asked_of_it() -> None:
    cases: list[tuple[set[str], bool, bool]] = [
        (set(), False, False),
        ({"stream"}, False, False),
        ({"structured_outputs"}, True, False),
        ({"structured_outputs", "stream_interval"}, True, True),
    ]
    for offers, structured, streamed in cases:
        with fault_server(offers=offers) as running:
            server = RemoteServer([running.url], model=MODEL)
            form = form_for(engine(), server, server.endpoints(), stream=None)
            assert (form.engine.structured, bool(form.engine.delivery)) == (structured, streamed)
            assert not form_for(engine(), server, server.endpoints(), stream=False).engine.delivery
            assert form_for(engine(), server, server.endpoints(), stream=True).engine.delivery["stream"] is True


def test_a_loop_seen_in_the_stream_is_repetition_whatever_its_form() -> None:
    cut = Answer("---\nprimary_language: en en en en", LOOP_SEEN, 10, 5, 0.1, "m")
    record = read(Script([cut, answer("and so on " * 30, finish=LOOP_SEEN), answer()]))
    assert (record.status, reasons(record)) == (PageStatus.OK, ["repetition", "repetition", None])
    # A page that lies on its side often reads as a loop; what it says of its side still counts.
    turned = read(Script([answer("and so on " * 30, turn=90, finish=LOOP_SEEN), answer()]))
    assert (turned.rotation_applied, reasons(turned)) == (90, ["wrong_rotation", None])
