"""Completions that come as a stream of server-sent events: read only for as long as they are worth reading.

A model that goes round in a circle would fill its token limit. Seen in the stream, the circle ends after some hundred
tokens: the connection is closed, and the server drops the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx

from pdfocr_core.engines.repetition import LOOP_SEEN, STREAM_WINDOW, goes_round
from pdfocr_core.serving.answers import (
    SHOWN_CHARACTERS,
    Answer,
    Kind,
    Trouble,
    message_in,
    read_answer,
    refusal,
    text_of,
    tokens_in,
)
from pdfocr_core.serving.endpoint import Endpoint

__all__ = ["EventStream", "receive"]

LARGEST_ANSWER_BYTES = 64 * 1024**2
LARGEST_EVENT_BYTES = 1024**2
CHECK_EVERY = 500  # characters between two looks at the end of the text
# After its last event a server has nothing more to say, and most close at once.
FAREWELL_S = 1.0


async def receive(endpoint: Endpoint, response: aiohttp.ClientResponse, started: float) -> Answer:
    """The completion in a response whose body is still to come, as a stream or in one piece.

    Raises:
        Trouble: the server's own.
        PageError: this request will never be answered.
        ConfigurationError: no request will ever be answered.
    """
    streamed = response.headers.get("content-type", "").partition(";")[0].strip() == "text/event-stream"
    if response.status == 200 and streamed:
        return await _events(endpoint, response, started)
    whole = await _whole(response)
    return read_answer(endpoint, whole, time.monotonic() - started)


async def _events(endpoint: Endpoint, response: aiohttp.ClientResponse, started: float) -> Answer:
    events, size = EventStream(endpoint), 0
    chunks = response.content.iter_any()
    async for chunk in chunks:
        _check_size(size := size + len(chunk))
        if events.feed(chunk):
            break
    if events.ended:
        await _farewell(chunks)
    return events.answer(time.monotonic() - started)


async def _farewell(chunks: AsyncIterator[bytes]) -> None:
    """Read what ends the body, so that the connection can be used again."""
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(FAREWELL_S):
            async for _ in chunks:
                pass


async def _whole(response: aiohttp.ClientResponse) -> httpx.Response:
    """The response once its body is here; one without end is not waited for, and held in no memory."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        _check_size(len(body))
    # The body is decoded by now, so its encoding must not be told again.
    kept = {"retry-after", "content-type"}
    headers = {name: value for name, value in response.headers.items() if name.lower() in kept}
    return httpx.Response(response.status, headers=headers, content=bytes(body))


def _check_size(size: int) -> None:
    if size > LARGEST_ANSWER_BYTES:
        raise Trouble(Kind.BROKEN, f"an answer of more than {LARGEST_ANSWER_BYTES >> 20} MiB")


class EventStream:
    """One streamed completion as far as it has come.

    Args:
        endpoint: who sends it.

    Attributes:
        ended: the server has said that this was all.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._rest = b""
        self._pieces: list[str] = []
        self._unchecked = 0
        self._deltas = 0
        self._usage: object = None
        self._model = endpoint.model
        self._finish_reason: str | None = None
        self.ended = False

    def feed(self, data: bytes) -> bool:
        """Take what has come; true when no more is wanted.

        Raises:
            Trouble: the server's own.
            PageError: the server refuses the request in its stream.
        """
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LARGEST_EVENT_BYTES:
            raise Trouble(Kind.BROKEN, f"an event of more than {LARGEST_EVENT_BYTES >> 20} MiB")
        for line in lines:
            # Everything else is comments and other fields.
            if line.startswith(b"data:"):
                self._take(line[5:].strip())
            if self.ended or self._looped():
                return True
        return False

    def answer(self, seconds: float) -> Answer:
        """What it all comes to.

        Raises:
            Trouble: the stream broke off.
        """
        if self._finish_reason is None and not (self.ended and self._deltas):
            raise Trouble(Kind.BROKEN, f"the stream ended in the middle, after {self._deltas} parts")
        return Answer(
            text=text_of("".join(self._pieces)),
            finish_reason=self._finish_reason,
            prompt_tokens=tokens_in(self._usage, "prompt_tokens"),
            # Servers that keep the count to the end send a part for each token.
            completion_tokens=self._deltas if self._usage is None else tokens_in(self._usage, "completion_tokens"),
            seconds=seconds,
            model=self._model,
        )

    def _take(self, event: bytes) -> None:
        if event == b"[DONE]":
            self.ended = True
            return
        try:
            data: Any = json.loads(event)
            error = data.get("error")
            if error is None:
                self._take_part(data)
                return
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            shown = self._endpoint.redact(event[:SHOWN_CHARACTERS].decode(errors="replace"))
            raise Trouble(Kind.BROKEN, f"not a part of a chat completion: {shown!r}") from None
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        raise refusal(self._endpoint, status, message_in(event))

    def _take_part(self, data: Any) -> None:
        self._usage = data.get("usage") or self._usage
        self._model = str(data.get("model") or self._model)
        # The last part may hold the token counts alone.
        for choice in data["choices"][:1]:
            content = (choice.get("delta") or {}).get("content")
            if content:
                piece = content if isinstance(content, str) else text_of(content)
                self._deltas += 1
                self._pieces.append(piece)
                self._unchecked += len(piece)
            if (reason := choice.get("finish_reason")) is not None:
                self._finish_reason = str(reason)

    def _looped(self) -> bool:
        if self._finish_reason is not None or self._unchecked < CHECK_EVERY:
            return False
        self._unchecked = 0
        text = "".join(self._pieces)
        self._pieces = [text]
        if goes_round(text[-STREAM_WINDOW:]):
            self._finish_reason = LOOP_SEEN
            return True
        return False
