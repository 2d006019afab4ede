"""Connections to servers, and what a failed exchange means.

On aiohttp: the pool of httpx looks at all its connections for every request, so that a request costs the more the more are
in flight (docs/decisions/0008-http-client.md).
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import ContentEncodingError
from yarl import URL

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.answers import Kind, Trouble, is_certificate_error, untrusted
from pdfocr_core.serving.endpoint import Endpoint, tls

__all__ = ["Transport", "trouble_of"]

# vLLM's uvicorn closes an idle connection after five seconds; one that we might pick up then is dropped before.
IDLE_CONNECTION_S = 3.0
PIECE_BYTES = 256 * 1024


class _Body(aiohttp.Payload):
    """A body that goes out piece by piece, so that the loop serves others in between; nothing of it is copied."""

    _value: bytes

    def __init__(self, body: bytes) -> None:
        super().__init__(body, content_type="application/json")
        self._size = len(body)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The body as text."""
        return self._value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Send all of it."""
        whole = memoryview(self._value)
        for start in range(0, len(whole), PIECE_BYTES):
            if start:
                await asyncio.sleep(0)
            await writer.write(whole[start : start + PIECE_BYTES])


class Transport:
    """Opens connections when the first request needs them. Belongs to one event loop.

    Args:
        connect_timeout_s: making a connection.
        verify: TLS verification; a path names a bundle of trusted certificates.
    """

    def __init__(self, connect_timeout_s: float, verify: bool | str) -> None:
        self._connect_timeout_s, self._tls = connect_timeout_s, tls(verify)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    def post(self, endpoint: Endpoint, url: str, body: bytes, headers: dict[str, str]) -> Any:
        """An exchange, as a context manager that gives the response; its end, also a sudden one, ends the request."""
        session = self._session(endpoint)
        return session.post(URL(url, encoded=True), data=_Body(body), headers=headers, allow_redirects=False)

    async def get_text(self, endpoint: Endpoint, url: str, headers: dict[str, str], timeout_s: float) -> str | None:
        """The body of a successful answer; None for any other, and for none."""
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with self._session(endpoint).get(
                URL(url, encoded=True), headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                return await response.text(errors="replace") if response.status == 200 else None
        except (aiohttp.ClientError, TimeoutError):
            return None

    async def aclose(self) -> None:
        """Close all connections."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    def _session(self, endpoint: Endpoint) -> aiohttp.ClientSession:
        # Proxies from the environment serve far servers only.
        by_proxy = not endpoint.is_local
        if by_proxy not in self._sessions:
            self._sessions[by_proxy] = aiohttp.ClientSession(
                # How many there are is bounded by who asks.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_CONNECTION_S, ssl=self._tls),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout_s),
                trust_env=by_proxy,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._sessions[by_proxy]


def trouble_of(endpoint: Endpoint, error: aiohttp.ClientError) -> Trouble | ConfigurationError:
    """What a failed exchange means."""
    said = endpoint.redact(str(error)) or type(error).__name__
    if is_certificate_error(error):
        return untrusted(endpoint, said)
    if isinstance(error, aiohttp.ClientPayloadError) and isinstance(error.__cause__, ContentEncodingError):
        return Trouble(Kind.BROKEN, said)
    return Trouble(Kind.UNREACHABLE, said)
