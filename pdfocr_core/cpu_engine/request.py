"""What a chat completion request asks for, checked."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["MODEL", "BadRequest", "PageRequest", "page_request"]

MODEL = "pdfocr-cpu"
_DATA_URL = re.compile(r"data:[\w.+/-]*(?:;[\w.+=-]+)*;base64,", re.ASCII)


class BadRequest(ValueError):
    """A request that this server cannot answer as it stands.

    Attributes:
        status: the HTTP status that says so.
        code: a word for programs.
        param: the field that is wrong.
    """

    def __init__(self, message: str, *, status: int = 400, code: str = "invalid_request", param: str | None = None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What is asked for.

    Attributes:
        picture: the bytes of the one picture.
        keep_margins: the body's field of this name: page numbers, running heads and stamps are wanted too.
    """

    picture: bytes
    keep_margins: bool = False


def page_request(body: bytes) -> PageRequest:
    """What a body asks for.

    Sampling settings are accepted and have no effect: the same picture gives the same answer.

    Raises:
        BadRequest: with the reason.
    """
    try:
        asked: Any = json.loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(asked, dict):
        raise BadRequest("the body is not a JSON object")
    if asked.get("model") not in {None, MODEL}:
        message = f"the model {str(asked['model'])[:100]!r} does not exist; this server has {MODEL!r}"
        raise BadRequest(message, status=404, code="model_not_found", param="model")
    if asked.get("stream"):
        raise BadRequest("this server does not stream; leave `stream` out", code="unsupported_value", param="stream")
    if asked.get("n") not in {None, 1}:
        raise BadRequest("this server gives one answer; leave `n` out", code="unsupported_value", param="n")
    urls = _image_urls(asked.get("messages"))
    if len(urls) != 1:
        found = f"{len(urls)} images" if urls else "no image"
        raise BadRequest(f"the messages hold {found}; send exactly one page image", param="messages")
    keep_margins = asked.get("keep_margins", False)
    if not isinstance(keep_margins, bool):
        raise BadRequest("`keep_margins` is neither true nor false", param="keep_margins")
    return PageRequest(_decoded(urls[0]), keep_margins)


def _image_urls(messages: Any) -> list[str]:
    if not isinstance(messages, list):
        raise BadRequest("`messages` is not a list", param="messages")
    urls: list[str] = []
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") == "image_url":
                image = part.get("image_url")
                url = image.get("url") if isinstance(image, dict) else image
                if not isinstance(url, str):
                    raise BadRequest("`image_url.url` is not a text", param="messages")
                urls.append(url)
    return urls


def _decoded(url: str) -> bytes:
    start = _DATA_URL.match(url)
    if start is None:
        raise BadRequest(
            "the image is not a base64 data URL; this server fetches nothing from elsewhere",
            code="invalid_image_url",
            param="messages",
        )
    try:
        return base64.b64decode(url[start.end() :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"the image is not valid base64: {error}", code="invalid_base64", param="messages") from None
