"""The request's JSON around the picture, made once and then joined with each picture as bytes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from pdfocr_core.engines.model import MessageLayout

__all__ = ["body_around"]


def body_around(
    *,
    served_model: str,
    layout: MessageLayout,
    prompt: str | None,
    image_format: str,
    parameters: Mapping[str, Any],
) -> tuple[bytes, bytes]:
    """What stands before and after the picture's base64 text.

    A page's picture is most of its request. Escaping it as JSON would copy and scan it for nothing: base64 needs no
    escape.
    """
    slot = secrets.token_hex(16)
    picture = {"type": "image_url", "image_url": {"url": f"data:image/{image_format};base64,{slot}"}}
    words = {"type": "text", "text": layout.text_prefix + (prompt or "")}
    content = [picture if part == "image" else words for part in layout.order]
    messages: list[dict[str, Any]] = [] if layout.system is None else [{"role": "system", "content": layout.system}]
    messages.append({"role": "user", "content": content})
    body = json.dumps({"model": served_model, "messages": messages, **parameters}, ensure_ascii=False)
    before, _, after = body.encode().partition(slot.encode())
    return before, after
