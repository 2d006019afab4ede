"""A completion as servers stream it: server-sent events, one part of the text after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["as_chunk", "events"]

PART_CHARACTERS = 4  # about a token


def events(completion: dict[str, Any], *, interval: int = 1, counting: bool = False) -> Iterator[bytes]:
    """The events of a whole completion, the last of which says that it is over.

    Args:
        completion: as it would be sent in one piece.
        interval: tokens in one part, as `stream_interval` asks for them.
        counting: tell the tokens so far in every part, as `continuous_usage_stats` asks for it.
    """
    choice = completion["choices"][0]
    text, size = choice["message"]["content"], PART_CHARACTERS * interval
    starts = range(0, max(1, len(text)), size)
    prompt_tokens = completion["usage"]["prompt_tokens"]
    yield _event(completion, {"role": "assistant", "content": ""}, None)
    for start in starts:
        reason = choice["finish_reason"] if start == starts[-1] else None
        tokens = (start + size) // PART_CHARACTERS
        so_far = {"usage": {"prompt_tokens": prompt_tokens, "completion_tokens": tokens}} if counting else {}
        yield _event(completion, {"content": text[start : start + size]}, reason, **so_far)
    usage = {
        "object": "chat.completion.chunk",
        "model": completion["model"],
        "choices": [],
        "usage": completion["usage"],
    }
    yield _line(json.dumps(usage))
    yield _line("[DONE]")


def as_chunk(data: bytes) -> bytes:
    """Bytes in the framing of a body whose length is not told."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def _event(completion: dict[str, Any], delta: dict[str, str], reason: str | None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = {"id": completion["id"], "object": "chat.completion.chunk", "model": completion["model"], **more}
    return _line(json.dumps({**chunk, "choices": [choice]}))


def _line(data: str) -> bytes:
    return b"data: " + data.encode() + b"\n\n"
