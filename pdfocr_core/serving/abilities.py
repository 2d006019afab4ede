"""What a server says it can do: which fields of a request it knows, and so how its answers are best delivered.

Servers ignore fields that they do not know, or refuse the request; vLLM, SGLang and their like describe what they take in
`openapi.json`, so nothing has to be tried.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from pdfocr_core.serving.endpoint import Endpoint, hush_http_log, tls

__all__ = ["STREAM_INTERVAL", "delivery", "request_fields"]

# Tokens in one part of a stream. Each part costs the client and the server some 40 µs, so one for every token would cost as
# much as a third of drawing the page; see docs/decisions/0005-streaming.md.
STREAM_INTERVAL = 64
TIMEOUT_S = 10.0
_REQUEST = "ChatCompletionRequest"


def request_fields(endpoints: Sequence[Endpoint], verify: bool | str = True) -> frozenset[str] | None:
    """The fields of a chat request that all of these servers know; None where one of them does not tell."""
    known = [_fields(endpoint, verify) for endpoint in endpoints]
    told = [fields for fields in known if fields is not None]
    return frozenset.intersection(*told) if told and len(told) == len(known) else None


def delivery(stream: bool | None, *, managed: bool, fields: frozenset[str] | None) -> dict[str, Any]:
    """The fields of a request that have its answer streamed; none where it is to come whole.

    Args:
        stream: as the user set it; None streams where many tokens come in one part.
        managed: the server is our own vLLM, started with `--stream-interval`.
        fields: that the server knows.
    """
    by_request = fields is not None and "stream_interval" in fields
    if stream is False or (stream is None and not managed and not by_request):
        return {}
    options = {"include_usage": True}
    if managed or by_request:
        # vLLM's own: the token count stands in every part, and so is known when the stream is closed early.
        options["continuous_usage_stats"] = True
    streamed: dict[str, Any] = {"stream": True, "stream_options": options}
    return streamed | {"stream_interval": STREAM_INTERVAL} if by_request else streamed


def _fields(endpoint: Endpoint, verify: bool | str) -> frozenset[str] | None:
    hush_http_log()
    with (
        contextlib.suppress(httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError),
        httpx.Client(trust_env=not endpoint.is_local, timeout=TIMEOUT_S, verify=tls(verify)) as client,
    ):
        response = client.get(endpoint.root_url("openapi.json"), headers=endpoint.request_headers())
        if response.status_code == 200:
            properties: Mapping[str, Any] = response.json()["components"]["schemas"][_REQUEST]["properties"]
            return frozenset(properties)
    return None
