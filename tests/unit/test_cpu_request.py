"""What a request asks the CPU engine for, beside its picture."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from pdfocr_core.cpu_engine.request import BadRequest, PageRequest, page_request
from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.profile import load_profile

PICTURE = b"\x89PNG not looked at here"


def body(**fields: Any) -> bytes:
    url = "data:image/png;base64," + base64.b64encode(PICTURE).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    return json.dumps({"messages": [{"role": "user", "content": [part]}], **fields}).encode()


def test_margins_are_left_out_unless_they_are_asked_for() -> None:
    assert page_request(body()) == PageRequest(PICTURE, keep_margins=False)
    assert page_request(body(keep_margins=True)) == PageRequest(PICTURE, keep_margins=True)


def test_a_wish_that_is_none_is_refused_with_its_field() -> None:
    with pytest.raises(BadRequest, match="neither true nor false") as refused:
        page_request(body(keep_margins="yes"))
    assert refused.value.param == "keep_margins"


@pytest.mark.parametrize("keep_margins", [False, True])
def test_the_engine_asks_for_what_the_settings_say(keep_margins: bool) -> None:
    engine = build_engine(load_profile("pdfocr-cpu"), keep_margins=keep_margins)
    asked = page_request(engine.request(base64.b64encode(PICTURE), "png", temperature=0.0, served_model="pdfocr-cpu"))
    assert asked == PageRequest(PICTURE, keep_margins)


def test_no_other_server_is_sent_a_field_that_it_does_not_know() -> None:
    engine = build_engine(load_profile("olmocr-2"), keep_margins=True)
    assert b"keep_margins" not in engine.request(b"", "png", temperature=0.0, served_model="m")


def test_margins_make_another_engine() -> None:
    kept, dropped = (build_engine(load_profile("pdfocr-cpu"), keep_margins=keep) for keep in (True, False))
    assert kept.engine_id != dropped.engine_id
