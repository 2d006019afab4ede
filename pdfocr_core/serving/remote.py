"""Servers that someone else runs: attached to, never started or ended."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx

from pdfocr_core.errors import ConfigurationError, ServerUnavailable
from pdfocr_core.serving.answers import explain_status, is_certificate_error
from pdfocr_core.serving.endpoint import Endpoint, hush_http_log, tls
from pdfocr_core.serving.managed import Canary
from pdfocr_core.serving.server import InferenceServer

__all__ = ["RemoteServer"]

RETRY_INTERVAL_S = 1.0

logger = logging.getLogger("pdfocr.server")


class RemoteServer(InferenceServer):
    """One or several OpenAI-compatible URLs that serve the same model.

    Args:
        urls: base URLs, with or without `/v1`; a query string is kept on every request.
        model: the name to ask for; without one, the only model that is served.
        api_key: the key itself; without one it comes from `key_variable`.
        key_variable: the environment variable that holds the key.
        key_header: the header for the key.
        headers: more headers for every request.
        verify: whether TLS certificates are checked; a path names a bundle of trusted ones.
        wait_s: how long to wait for a server that does not answer yet.
        check_models: ask `/models` at the start; for services that have none, set false and name the model.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        model: str | None = None,
        api_key: str | None = None,
        key_variable: str = "PDFOCR_API_KEY",
        key_header: str = "Authorization",
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
        wait_s: float = 8.0,
        check_models: bool = True,
        canary: Canary | None = None,
    ) -> None:
        if not urls:
            raise ConfigurationError("No server URL is given.", remedy="Set server to http://host:8000/v1 or similar.")
        if not check_models and not model:
            raise ConfigurationError("Without asking for the served models, the model has to be named.")
        self._plain = [
            Endpoint(
                url,
                model=model or "",
                headers=tuple((headers or {}).items()),
                key_header=key_header,
                key_variable=key_variable,
            )
            for url in urls
        ]
        self._wanted = model
        self._api_key = api_key
        self._key_variable = key_variable
        self.verify = verify
        self._wait_s = wait_s
        self._check_models = check_models
        self._canary = canary
        self._lock = threading.Lock()
        self._interrupted = threading.Event()
        self._one_answered = threading.Event()
        self._ready: tuple[Endpoint, ...] = ()

    def start(self) -> Endpoint:
        """Check that the URLs answer and serve the model; see InferenceServer."""
        return self.endpoints()[0]

    def endpoints(self) -> tuple[Endpoint, ...]:  # noqa: D102 - see InferenceServer
        with self._lock:
            if not self._ready:
                found = self._attach_all()
                if len(names := {endpoint.model for endpoint in found}) > 1:
                    raise ConfigurationError(
                        f"The servers serve different models: {', '.join(sorted(names))}.",
                        remedy="Give only URLs of servers with the same model.",
                    )
                self._ready = tuple(found)
            return self._ready

    def _attach_all(self) -> list[Endpoint]:
        """Every URL with its served model, those that answer first; one that does not yet may come later.

        Raises:
            ServerUnavailable: none answers.
        """
        self._one_answered.clear()
        key = self._api_key or os.environ.get(self._key_variable) or None
        plain = [replace(endpoint, api_key=key) for endpoint in self._plain]
        with ThreadPoolExecutor(len(plain), thread_name_prefix="attach") as threads:
            tried = [threads.submit(self._attach, endpoint) for endpoint in plain]
        there: list[Endpoint] = []
        silent: list[tuple[Endpoint, ServerUnavailable]] = []
        for endpoint, one in zip(plain, tried, strict=True):
            try:
                there.append(one.result())
            except ServerUnavailable as error:
                silent.append((endpoint, error))
        if not there:
            raise silent[0][1]
        if self._canary is not None:
            for endpoint in there:
                self._canary(endpoint)
        for endpoint, trouble in silent:
            logger.warning("%s The other servers read; this one is tried again now and then.", trouble)
            # It is taken to serve what the others do; were it not so, its first answer would say so.
            there.append(replace(endpoint, model=there[0].model))
        return there

    def stop(self) -> None:
        """Forget the endpoints; the servers go on."""
        self._interrupted.set()
        with self._lock:
            self._ready = ()
            self._interrupted.clear()

    def alive(self) -> bool:  # noqa: D102 - see InferenceServer
        for endpoint in self._ready:
            try:
                if self._get(endpoint, endpoint.url("models")).status_code < 500:
                    return True
            except httpx.HTTPError:
                continue
        return False

    def _attach(self, endpoint: Endpoint) -> Endpoint:
        if not self._check_models:
            return endpoint
        served = self._served(endpoint)
        if self._wanted is None:
            if len(served) == 1:
                return replace(endpoint, model=next(iter(served)))
            raise ConfigurationError(
                f"{endpoint.label} serves {len(served)} models: {_names(served)}.",
                remedy="Say which one with `model`.",
            )
        for name, root in served.items():
            if self._wanted in {name, root}:
                return replace(endpoint, model=name)
        if len(served) == 1:
            only = next(iter(served))
            logger.warning("%s serves %s and not %s; taking what is there", endpoint.label, only, self._wanted)
            return replace(endpoint, model=only)
        raise ConfigurationError(
            f"{endpoint.label} does not serve {self._wanted}. It serves: {_names(served)}.",
            remedy="Set `model` to one of these names.",
        )

    def _served(self, endpoint: Endpoint) -> dict[str, str]:
        """Served names with the model behind each, once the server answers."""
        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                response = self._get(endpoint, endpoint.url("models"))
                if response.status_code == 200:
                    self._one_answered.set()
                    return _parse_models(endpoint, response)
                explain_status(endpoint, response.status_code)
                trouble = f"HTTP {response.status_code}"
            except httpx.HTTPError as error:
                if is_certificate_error(error):
                    raise ConfigurationError(
                        f"The TLS certificate of {endpoint.label} is not trusted: {endpoint.redact(str(error))}",
                        remedy="Set `verify` to the file of the certificate authority that signed it.",
                    ) from None
                trouble = endpoint.redact(str(error)) or type(error).__name__
            # With one that reads, the others may as well come later.
            over = time.monotonic() >= deadline or self._one_answered.is_set()
            if over or self._interrupted.wait(RETRY_INTERVAL_S):
                raise ServerUnavailable(
                    f"{endpoint.label} does not answer: {trouble}.",
                    remedy="Check the URL, and that the server runs and is reachable from here.",
                )

    def _get(self, endpoint: Endpoint, url: str) -> httpx.Response:
        hush_http_log()
        with httpx.Client(trust_env=not endpoint.is_local, timeout=10.0, verify=tls(self.verify)) as client:
            return client.get(url, headers=endpoint.request_headers())


def _parse_models(endpoint: Endpoint, response: httpx.Response) -> dict[str, str]:
    try:
        served = {str(entry["id"]): str(entry.get("root") or entry["id"]) for entry in response.json()["data"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        served = {}
    if not served:
        raise ConfigurationError(
            f"{endpoint.label} does not answer like an OpenAI-compatible server with a model.",
            remedy="Check the URL; it usually ends in /v1.",
        )
    return served


def _names(served: Mapping[str, str]) -> str:
    shown = sorted(served)[:20]
    return ", ".join(shown) + (f" and {len(served) - 20} more" if len(served) > 20 else "")
