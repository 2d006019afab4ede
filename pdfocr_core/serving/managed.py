"""A server that the run starts, watches and ends itself."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping

import httpx

from pdfocr_core.errors import ConfigurationError, PdfocrError, ServerUnavailable
from pdfocr_core.serving.diagnosis import GUARD_KILLED, KILLED, PORT_IN_USE, death_of, death_of_guard
from pdfocr_core.serving.endpoint import Endpoint, free_port, hush_http_log
from pdfocr_core.serving.process import ServerProcess, end_orphans
from pdfocr_core.serving.server import InferenceServer

__all__ = ["Canary", "ManagedServer"]

Canary = Callable[[Endpoint], None]

HEALTHY_ANSWERS = 3
STARTS = 3
LAST_BREATH_S = 2.0
POLL_INTERVAL_S = 0.2
PROBE_TIMEOUT_S = 5.0
STILL_LOADING_S = 30.0

logger = logging.getLogger("pdfocr.server")


class ManagedServer(InferenceServer):
    """The part that `vllm serve` and the CPU server share.

    Args:
        name: what messages call it.
        ready_timeout_s: seconds from starting the process to the first page read.
        grace_s: seconds from SIGTERM to SIGKILL at the end.
        port: a fixed port; otherwise a free one is found.
        canary: sends a page through the server before anyone else may; raises when that does not work.
    """

    restartable = True

    def __init__(
        self,
        name: str,
        *,
        ready_timeout_s: float,
        grace_s: float = 10.0,
        port: int | None = None,
        api_key: str | None = None,
        canary: Canary | None = None,
    ) -> None:
        self.name = name
        self.ready_timeout_s = ready_timeout_s
        self.grace_s = grace_s
        self._fixed_port = port
        self._port: int | None = None
        self._api_key = api_key or secrets.token_urlsafe(32)
        self._canary = canary
        self._lock = threading.RLock()
        self._interrupted = threading.Event()
        self._process: ServerProcess | None = None
        self._endpoint: Endpoint | None = None

    @abstractmethod
    def command(self, port: int) -> list[str]:
        """The command line that serves on this port of the loopback address; holds no secret."""

    @abstractmethod
    def environment(self, api_key: str) -> Mapping[str, str]:
        """What the server's environment has beyond ours; the key is handed over here."""

    def start(self) -> Endpoint:  # noqa: D102 - see InferenceServer
        with self._lock:
            if self._endpoint is not None and self._process is not None and self._process.running():
                return self._endpoint
            self._end()
            end_orphans()
            killed = 0
            for _ in range(STARTS - 1):
                try:
                    return self._start_once()
                except ServerUnavailable as error:
                    # Between our choosing a free port and the server's taking it another program may come first.
                    taken = error.code == PORT_IN_USE and self._fixed_port is None
                    # What was killed from outside may have done nothing wrong; too little memory shows at the second time.
                    killed += error.code == KILLED
                    excused = error.code == GUARD_KILLED or (error.code == KILLED and killed == 1)
                    if not taken and not excused:
                        raise
                    logger.warning("%s Starting it again.", error)
                    self._port = None
            return self._start_once()

    def stop(self) -> None:  # noqa: D102 - see InferenceServer
        self._interrupted.set()
        with self._lock:
            self._end()
            self._interrupted.clear()

    def restart(self) -> Endpoint:
        """End it and start it again, on the same port where that is still free."""
        # The lock is held throughout: a stop that comes meanwhile must find, and end, what is started here.
        with self._lock:
            self._end()
            return self.start()

    def alive(self) -> bool:  # noqa: D102 - see InferenceServer
        process, endpoint = self._process, self._endpoint
        return process is not None and endpoint is not None and process.running() and _healthy(endpoint)

    def running(self) -> bool:  # noqa: D102 - see InferenceServer
        return self._process is not None and self._process.running()

    def tail(self, lines: int = 50) -> list[str]:  # noqa: D102 - see InferenceServer
        return self._process.tail(lines) if self._process else []

    @property
    def pid(self) -> int | None:
        """The guard's process id, for those who measure the tree's memory."""
        return self._process.pid if self._process else None

    def _start_once(self) -> Endpoint:
        port = self._choose_port()
        process = ServerProcess(self.name, grace_s=self.grace_s, secrets=[self._api_key])
        self._process = process
        started = time.monotonic()
        logger.info("Starting %s on port %d", self.name, port)
        try:
            process.start(self.command(port), self.environment(self._api_key))
            endpoint = self._wait_ready(process, Endpoint(f"http://127.0.0.1:{port}/v1", self._api_key))
            if self._canary is not None:
                self._fly(self._canary, process, endpoint, started)
        except BaseException:
            self._end()
            raise
        self._port, self._endpoint = port, endpoint
        logger.info("%s is ready after %.1f s and serves %s", self.name, time.monotonic() - started, endpoint.model)
        return endpoint

    def _fly(self, canary: Canary, process: ServerProcess, endpoint: Endpoint, started: float) -> None:
        try:
            canary(endpoint)
        except ServerUnavailable:
            # One that died meanwhile says more by how it ended; the guard notices that a moment later.
            deadline = time.monotonic() + LAST_BREATH_S
            while time.monotonic() < deadline:
                self._check_start(process, started)
                self._interrupted.wait(POLL_INTERVAL_S)
            raise

    def _choose_port(self) -> int:
        port = free_port(self._fixed_port or self._port)
        if self._fixed_port is not None and port != self._fixed_port:
            raise ConfigurationError(
                f"Port {self._fixed_port} for {self.name} is taken by another program.",
                remedy="Leave the port out, so that a free one is found, or end that program.",
            )
        return port

    def _wait_ready(self, process: ServerProcess, endpoint: Endpoint) -> Endpoint:
        started = time.monotonic()
        next_word = started + STILL_LOADING_S
        healthy = 0
        while healthy < HEALTHY_ANSWERS:
            self._check_start(process, started)
            if time.monotonic() >= next_word:
                next_word += STILL_LOADING_S
                last = next(iter(process.tail(1)), "nothing in its log yet")
                logger.info("%s is loading, %.0f s so far: %s", self.name, time.monotonic() - started, last)
            healthy = healthy + 1 if _healthy(endpoint) else 0
            self._interrupted.wait(POLL_INTERVAL_S)
        while True:
            self._check_start(process, started)
            if models := _served_models(endpoint):
                return Endpoint(endpoint.base_url, endpoint.api_key, models[0])
            self._interrupted.wait(POLL_INTERVAL_S)

    def _check_start(self, process: ServerProcess, started: float) -> None:
        """Raise when going on waiting makes no sense."""
        if self._interrupted.is_set():
            raise ServerUnavailable(f"{self.name} was stopped while starting.")
        if (code := process.poll()) is not None:
            if process.lost_guard:
                raise death_of_guard(self.name)
            raise death_of(self.name, code, process.tail())
        if time.monotonic() - started > self.ready_timeout_s:
            shown = "\n".join(f"    {line}" for line in process.tail(15))
            raise ServerUnavailable(
                f"{self.name} is not ready after {self.ready_timeout_s:.0f} s. The end of its log:\n{shown}\n",
                remedy="Raise ready_timeout_s if it was still loading.",
            )

    def _end(self) -> None:
        process, self._endpoint = self._process, None
        if process is not None and process.pid is not None:
            code = process.stop()
            logger.debug("%s ended with code %s", self.name, code)


def _healthy(endpoint: Endpoint) -> bool:
    try:
        return _get(endpoint, endpoint.root_url("health")).status_code == 200
    except httpx.HTTPError:
        return False


def _served_models(endpoint: Endpoint) -> list[str]:
    with contextlib.suppress(httpx.HTTPError, ValueError, KeyError, TypeError):
        response = _get(endpoint, endpoint.url("models"))
        if response.status_code in {401, 403, 404}:
            raise _foreign(endpoint, response.status_code)
        return [str(entry["id"]) for entry in response.json()["data"]]
    return []


def _foreign(endpoint: Endpoint, status: int) -> PdfocrError:
    return ServerUnavailable(
        f"Something else answers at {endpoint.label} (HTTP {status} to our own key).", code=PORT_IN_USE
    )


def _get(endpoint: Endpoint, url: str) -> httpx.Response:
    hush_http_log()
    # trust_env=False: no proxy may stand between us and our own machine.
    with httpx.Client(trust_env=False, timeout=PROBE_TIMEOUT_S) as client:
        return client.get(url, headers=endpoint.request_headers())
