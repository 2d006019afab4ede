"""The retry ladder: what each kind of answer leads to. The server is a script; everything else is real."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from pdfocr_core.engines.engine import Engine, build_engine
from pdfocr_core.engines.profile import load_profile
from pdfocr_core.errors import PageError, Reason, ServerUnavailable
from pdfocr_core.flow.ladder import PageToRead, read_page
from pdfocr_core.records import Method, PageRecord, PageStatus
from pdfocr_core.rendering.model import RenderedPage, TextLayerText
from pdfocr_core.serving.answers import Answer
from pdfocr_core.settings import ReadSettings

LAYER = TextLayerText(markdown="from the layer", characters=12, sound=True, reason="", image_share=0.0)
LADDER = [0.1, 0.1, 0.2, 0.3, 0.5, 0.8, 0.9, 1.0]


def answer(text: str = "Plain words.", *, turn: int = 0, finish: str = "stop", language: str = "en") -> Answer:
    header = (
        f"---\nprimary_language: {language}\nis_rotation_valid: {turn == 0}\nrotation_correction: {turn}\n"
        "is_table: False\nis_diagram: False\n---\n"
    )
    return Answer(header + text, finish, prompt_tokens=10, completion_tokens=5, seconds=0.1, model="m")


FOREIGN = Answer("no front matter at all", "stop", 10, 5, 0.1, "m")


@dataclass
class Script:
    """A server that gives these answers in turn, the last one for ever, and remembers what it was asked."""

    answers: Sequence[Answer | Exception]
    asked: list[bytes] = field(default_factory=list)
    drawn: list[tuple[int, int]] = field(default_factory=list)

    async def ask(self, body: bytes) -> Answer:
        self.asked.append(body)
        given = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(given, Exception):
            raise given
        return given


def read(
    script: Script, *, engine: Engine | None = None, layer: TextLayerText | None = None, **settings: object
) -> PageRecord:
    picture = RenderedPage(page=3, image=b"QUJD", format="jpeg", width=1000, height=1288, blank=False)

    async def render(rotation: int, longest_side: int) -> RenderedPage:
        script.drawn.append((rotation, longest_side))
        return replace(picture, image=b"VFVSTg==")

    async def text_layer() -> TextLayerText | None:
        return layer

    page = PageToRead("d", "c", picture, 1288, render, text_layer, "2026-01-01T00:00:00.000+00:00")
    used = engine or build_engine(load_profile("olmocr-2"), temperatures=tuple(LADDER))
    return asyncio.run(
        read_page(page, asker=script, served_model="m", engine=used, settings=ReadSettings(**settings))  # type: ignore[arg-type]
    )


def reasons(record: PageRecord) -> list[str | None]:
    return [attempt.reason for attempt in record.attempts]


def test_a_good_answer_is_taken_at_once() -> None:
    record = read(Script([answer()]))
    assert (record.status, record.method, record.text, record.page) == (PageStatus.OK, Method.MODEL, "Plain words.", 3)
    assert (record.language, record.finish_reason, reasons(record)) == ("en", "stop", [None])
    assert record.raw is not None
    assert record.raw.startswith("---")


def test_bad_answers_climb_the_ladder_of_temperatures() -> None:
    record = read(Script([FOREIGN] * 5 + [answer()]))
    assert [attempt.temperature for attempt in record.attempts] == LADDER[:6]
    assert reasons(record) == ["bad_front_matter"] * 5 + [None]
    assert (record.prompt_tokens, record.completion_tokens) == (60, 30)


def test_turns_are_counter_clockwise_and_add_up() -> None:
    script = Script([answer("", turn=90), answer("", turn=90), answer()])
    record = read(script)
    assert script.drawn == [(90, 1288), (180, 1288)]
    assert record.rotation_applied == 180
    assert [attempt.rotation for attempt in record.attempts] == [0, 90, 180]
    assert {attempt.temperature for attempt in record.attempts} == {0.1}  # a turn is no failure


def test_a_model_that_turns_for_ever_is_taken_at_its_last_word() -> None:
    script = Script([answer("words", turn=90)])
    record = read(script)
    assert (record.status, record.text, record.flags) == (PageStatus.OK, "words", ["rotation_unsettled"])
    assert len(script.asked) == 4  # each direction once


def test_when_all_is_spent_the_text_layer_stands_in() -> None:
    script = Script([FOREIGN])
    record = read(script, layer=LAYER)
    assert (record.status, record.method, record.text) == (PageStatus.FALLBACK, Method.TEXT_LAYER, "from the layer")
    assert (record.reason, len(script.asked)) == ("bad_front_matter", 8)


@pytest.mark.parametrize("layer", [None, replace(LAYER, sound=False), replace(LAYER, characters=0)])
def test_without_a_sound_layer_the_page_fails_in_its_place(layer: TextLayerText | None) -> None:
    record = read(Script([FOREIGN]), layer=layer)
    assert (record.status, record.method, record.text) == (PageStatus.FAILED, Method.NONE, "")


def test_an_answer_cut_at_the_limit_is_not_believed() -> None:
    record = read(Script([answer("half a", finish="length"), answer()]))
    assert reasons(record) == ["length", None]


def test_a_refused_request_is_tried_with_smaller_pictures() -> None:
    script = Script([PageError(Reason.REFUSED_BY_SERVER, "too long")] * 2 + [answer()])
    record = read(script)
    assert [side for _turn, side in script.drawn] == [901, 630]
    assert record.status is PageStatus.OK
    assert record.attempts[0].detail == "too long"


def test_no_text_is_believed_when_it_is_said_twice() -> None:
    record = read(Script([answer("")]))
    assert (record.status, record.text, record.flags) == (PageStatus.OK, "", ["no_text_found"])
    assert reasons(record) == ["empty_answer", None]


def test_no_text_is_not_believed_where_the_pdf_has_letters() -> None:
    record = read(Script([answer("")]), layer=LAYER, max_attempts=3)
    assert (record.status, record.reason) == (PageStatus.FALLBACK, "empty_answer")


def test_an_engine_without_randomness_is_not_asked_the_same_again() -> None:
    cpu = build_engine(load_profile("pdfocr-cpu"))
    script = Script([FOREIGN])
    assert read(script, engine=cpu).status is PageStatus.FAILED
    assert len(script.asked) == 1
    script = Script([answer("", turn=270), answer()])
    assert read(script, engine=cpu).rotation_applied == 270
    assert read(Script([answer("")]), engine=cpu).flags == ["no_text_found"]
    assert read(Script([answer("")]), engine=cpu, layer=LAYER).status is PageStatus.FALLBACK


def test_a_server_that_is_gone_ends_the_run_and_not_the_page() -> None:
    with pytest.raises(ServerUnavailable):
        read(Script([ServerUnavailable("gone")]))
