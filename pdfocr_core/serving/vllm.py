"""`vllm serve` as the run's own server: its command line and its environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving import arguments
from pdfocr_core.serving.cores import tell_cores
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.hub import check_room
from pdfocr_core.serving.managed import Canary, ManagedServer
from pdfocr_core.serving.trust import check_pinned
from pdfocr_core.serving.vllm_version import VersionRange, installed_version
from pdfocr_core.serving.weights import CONFIGURATIONS, cache_folder, fetch_weights
from pdfocr_core.store import is_url

__all__ = ["VllmServer", "check_directory", "find_vllm", "local_model"]

KEY_VARIABLE = "VLLM_API_KEY"
KEY_FLAG = "--api-key"
PORT_FLAG = "--port"
STREAM_INTERVAL_VERSIONS = VersionRange("0.12")
# The second one is what Mistral's own format has.


class VllmServer(ManagedServer):
    """A vLLM server on loopback behind a random key.

    The command line is made of the profile's arguments, then the named options, then the user's own arguments; each
    overrides those before it. `VLLM_*`, `HF_*` and all else in our environment reaches the server.

    Args:
        model: hub id, a local directory (a relative one too), or a prefix of an object store.
        revision: the hub's revision to load; without one, the newest.
        serve_args: the model profile's arguments.
        options: named settings such as `tensor_parallel_size`; None leaves vLLM's default.
        extra_args: the user's own arguments.
        env: added to the server's environment.
        executable: the `vllm` program; otherwise the one beside this Python, or on PATH.
        versions: the versions of vLLM that serve the model; any other is refused before it is started.
        stream_interval: tokens in one part of a streamed answer; 0 leaves vLLM's default.
        cache: the folder for weights that come from an object store.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        serve_args: Sequence[str] = (),
        options: Mapping[str, object] | None = None,
        extra_args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        executable: str | None = None,
        ready_timeout_s: float = 1800.0,
        canary: Canary | None = None,
        versions: VersionRange | None = None,
        stream_interval: int = 0,
        cache: Path | None = None,
    ) -> None:
        merged = arguments.merge(serve_args, arguments.from_options(options or {}), extra_args)
        # A key on the command line could be read by everyone on the machine; it goes the same way as ours.
        key = arguments.value_of(merged, KEY_FLAG)
        port = arguments.value_of(merged, PORT_FLAG)
        if port is not None and not port.isdigit():
            raise ConfigurationError(
                f"The port {port!r} is not a number.", remedy="Leave --port out to have one found."
            )
        super().__init__(
            "vLLM",
            ready_timeout_s=ready_timeout_s,
            grace_s=15.0,
            port=int(port) if port else None,
            api_key=key,
            canary=canary,
        )
        self.model = local_model(model)
        self._revision = None if Path(self.model).is_dir() or is_url(self.model) else revision
        if not (Path(self.model).is_dir() or is_url(self.model)):
            check_pinned(self.model, revision, merged)
        self._arguments = arguments.without(arguments.without(merged, KEY_FLAG), PORT_FLAG)
        self._env = dict(env or {})
        self._executable = executable
        self._versions = versions or VersionRange()
        self._stream_interval = stream_interval
        self._cache = cache or cache_folder()

    def start(self) -> Endpoint:  # noqa: D102 - see InferenceServer
        # Held throughout: a stop that comes meanwhile waits until a download has noticed it.
        with self._lock:
            if not self.running():
                self._prepare()
                tell_cores(self._arguments)
            return super().start()

    def _prepare(self) -> None:
        program = find_vllm(self._executable)
        self._versions.check(program, self.model)
        version = installed_version(program) if self._stream_interval else None
        self.streams_in_parts = version is not None and version in STREAM_INTERVAL_VERSIONS
        # vLLM streams weights from object stores itself where the user's arguments say so.
        streamed = (arguments.value_of(self._arguments, "--load-format") or "").startswith("runai")
        if is_url(self.model) and not streamed:
            self.model = str(fetch_weights(self.model, self._cache, self._interrupted.is_set))
        check_directory(self.model)
        elsewhere = is_url(self.model) or Path(self.model).is_dir() or "HF_HUB_OFFLINE" in self._env
        if not elsewhere:
            place = arguments.value_of(self._arguments, "--download-dir")
            check_room(self.model, self._revision, Path(place) if place else None)

    def command(self, port: int) -> list[str]:  # noqa: D102 - see ManagedServer
        # Without the access log: one line per page would bury what matters.
        ours = ["--host", "127.0.0.1", PORT_FLAG, str(port), "--disable-uvicorn-access-log"]
        if self._revision:
            ours += ["--revision", self._revision]
        if self.streams_in_parts:
            ours += ["--stream-interval", str(self._stream_interval)]
        return [find_vllm(self._executable), "serve", self.model, *arguments.merge(ours, self._arguments)]

    def environment(self, api_key: str) -> Mapping[str, str]:  # noqa: D102 - see ManagedServer
        # The reports that vLLM sends home by default would tell others what runs here.
        quiet = {} if "VLLM_NO_USAGE_STATS" in os.environ else {"VLLM_NO_USAGE_STATS": "1"}
        return {**quiet, **self._env, KEY_VARIABLE: api_key}


def local_model(model: str) -> str:
    """The model as vLLM takes it: an absolute path for a directory that exists, anything else unchanged.

    Raises:
        ConfigurationError: it is clearly meant as a path and there is no such directory.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return str(path.resolve())
    if model.startswith(("/", "./", "../", "~")):
        raise ConfigurationError(
            f"There is no model directory {model}.", remedy="Name a directory with the model's files, or a hub id."
        )
    return model


def check_directory(model: str) -> None:
    """Make sure that a model's directory holds a model; nothing is known here of a name for the hub.

    Raises:
        ConfigurationError: it holds none.
    """
    path = Path(model)
    if path.is_dir() and not any((path / name).is_file() for name in CONFIGURATIONS):
        raise ConfigurationError(
            f"The model directory {path} has no config.json.", remedy="Name the directory that holds the weights."
        )


def find_vllm(executable: str | None = None) -> str:
    """The path of the `vllm` program.

    Raises:
        ConfigurationError: it is not installed.
    """
    if executable:
        if found := shutil.which(executable):
            return found
        raise ConfigurationError(f"There is no program {executable}.", remedy="Name the vllm program's path.")
    beside = Path(sys.executable).with_name("vllm")
    if found := shutil.which(beside) or shutil.which("vllm"):
        return found
    raise ConfigurationError(
        "The program `vllm` is not installed.",
        remedy="Install it with `pip install 'pdfocr[vllm]'`, or use engine=cpu or engine=remote.",
    )
