"""Where a server answers and how to ask it, without ever showing a secret."""

from __future__ import annotations

import ipaddress
import logging
import socket
import ssl
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pdfocr_core.errors import ConfigurationError

__all__ = ["Endpoint", "free_port", "hush_http_log", "is_loopback", "tls"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One OpenAI-compatible server.

    Attributes:
        base_url: up to and including the `/v1` (or whatever the server has instead); may carry a query string.
        api_key: secret; None for a server that asks for none.
        model: the name under which the server knows the model.
        headers: more headers for every request; may hold secrets too.
        key_header: the header that carries the key; anything but `Authorization` gets the bare key.
        key_variable: the environment variable that messages name for the key.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    model: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    key_header: str = "Authorization"
    key_variable: str = "PDFOCR_API_KEY"

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigurationError(
                f"The server URL {self.label!r} is not an http or https URL.",
                remedy="Write it as in http://gpu-machine:8000/v1.",
            )
        if parts.username or parts.password:
            raise ConfigurationError(
                f"The server URL {self.label} carries a user name or password.",
                remedy="Hand credentials over as the API key or a header, from the environment.",
            )
        if not parts.path.strip("/"):
            object.__setattr__(self, "base_url", urlunsplit(parts._replace(path="/v1")))

    @property
    def label(self) -> str:
        """The URL for people: no user, no password, no query."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        try:
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            port = ""
        return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"

    def url(self, path: str) -> str:
        """A URL below the base, with the base's query string."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}", fragment=""))

    def root_url(self, path: str) -> str:
        """A URL beside the `/v1`: health and metrics are served there."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/').removesuffix('/v1')}/{path}", fragment=""))

    def request_headers(self) -> dict[str, str]:
        """All headers of a request but its content type."""
        headers = dict(self.headers)
        if self.api_key:
            bearer = self.key_header.lower() == "authorization"
            headers[self.key_header] = f"Bearer {self.api_key}" if bearer else self.api_key
        return headers

    def redact(self, text: str) -> str:
        """The text without this endpoint's secrets."""
        query = urlsplit(self.base_url).query
        secrets = [self.api_key, query, *(value for _, value in [*parse_qsl(query), *self.headers])]
        for secret in secrets:
            # Very short values would only turn messages into stars.
            if secret and len(secret) >= 4:
                text = text.replace(secret, "***")
        return text

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, where no proxy may come between."""
        return is_loopback(urlsplit(self.base_url).hostname or "")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def free_port(preferred: int | None = None) -> int:
    """A port of the loopback address that nobody listens on; the preferred one if it is free."""
    for candidate in (preferred, 0) if preferred else (0,):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # A server restarted on its port must not be held up by connections that are timing out.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", candidate or 0))
            except OSError:
                continue
            port: int = probe.getsockname()[1]
            return port
    raise ConfigurationError("No free port on 127.0.0.1.", remedy="Close programs that hold many connections.")


def hush_http_log() -> None:
    """Keep httpx from logging a line per request, with the query string and whatever secret is in it.

    A level that the application has set itself is left alone.
    """
    log = logging.getLogger("httpx")
    if log.level == logging.NOTSET:
        log.setLevel(logging.WARNING)


def tls(verify: bool | str) -> ssl.SSLContext | bool:
    """What the HTTP client takes: a path names a bundle of trusted certificates.

    Raises:
        ConfigurationError: there is no such bundle.
    """
    if not isinstance(verify, str):
        return verify
    try:
        return ssl.create_default_context(cafile=verify)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"The certificate bundle {verify} cannot be read: {error}.", remedy="Set `verify` to a PEM file."
        ) from None
