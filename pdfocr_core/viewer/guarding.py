"""What the viewer allows a browser to do, and which requests it answers at all."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["EXPORT_POLICY", "POLICY", "Guarded"]

# Nothing from elsewhere, no inline script and no inline style: OCR text cannot bring any along, whatever it holds.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# From disk there is no server to fetch from; browsers differ in what they take `'self'` for there.
EXPORT_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; font-src 'self' file:; "
    "base-uri 'none'; form-action 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_OUR_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Guarded:
    """Answers reading requests that name this machine, with headers that keep the page to itself.

    The check of the host defeats DNS rebinding: a site whose name is made to point at this machine still sends its own
    name. The port is not compared, so that a tunnel may end on another one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    ours[name] = value
                ours.setdefault("Cache-Control", "no-cache")
            await send(message)

        if _name_in(headers.get("host", "")) not in _OUR_NAMES:
            refusal = PlainTextResponse("This server answers to localhost only.\n", status_code=421)
            await refusal(scope, receive, send_guarded)
        elif scope["method"] not in ("GET", "HEAD"):
            await PlainTextResponse("Read only.\n", status_code=405)(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)


def _name_in(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
