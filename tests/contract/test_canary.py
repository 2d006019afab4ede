"""The first page through the real route."""

from __future__ import annotations

import base64
import io
import json

import pytest
from PIL import Image

from pdfocr_core.errors import ConfigurationError, ServerUnavailable
from pdfocr_core.serving.canary import canary, canary_picture
from tests.contract.test_client import Scripted, serving


def body_for(model: str) -> bytes:
    return json.dumps({"model": model}).encode()


def test_any_completion_will_do() -> None:
    seen: list[str] = []

    def answer(request: Scripted) -> None:
        seen.append(request.body["model"])
        request.good("")

    with serving(answer) as endpoint:
        canary(body_for)(endpoint)
    assert seen == ["served"]


def test_a_refused_page_is_a_matter_of_configuration() -> None:
    refusal = json.dumps({"error": {"message": "min_tokens must be less than max_tokens"}})
    with (
        serving(lambda request: request.reply(400, refusal)) as endpoint,
        pytest.raises(ConfigurationError, match="min_tokens must be less"),
    ):
        canary(body_for)(endpoint)


@pytest.mark.parametrize("act", [lambda request: request.reply(500, "no kernel"), lambda request: request.cut()])
def test_a_server_that_is_up_but_cannot_read_is_told_apart(act) -> None:  # type: ignore[no-untyped-def]
    with serving(act) as endpoint, pytest.raises(ServerUnavailable, match="up but cannot read a page"):
        canary(body_for)(endpoint)


@pytest.mark.parametrize("image_format", ["png", "jpeg"])
def test_the_page_has_ink(image_format: str) -> None:
    with Image.open(io.BytesIO(base64.b64decode(canary_picture(image_format)))) as picture:
        assert picture.format == image_format.upper()
        assert picture.convert("L").getextrema()[0] < 100
