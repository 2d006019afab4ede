"""The bundled CPU server, started and ended like any other."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from pdfocr_core.cpu_engine.models import DEFAULT_MODEL
from pdfocr_core.serving.managed import Canary, ManagedServer

__all__ = ["CpuServer"]

KEY_VARIABLE = "PDFOCR_SERVER_API_KEY"


class CpuServer(ManagedServer):
    """RapidOCR behind the same interface as vLLM.

    Args:
        workers: worker processes; 0 means one per core that this process may use.
        model: what it reads with, a name or a directory.
        program: the command that serves, for those who bring their own; ours by default.
    """

    def __init__(
        self,
        *,
        workers: int = 0,
        model: str = DEFAULT_MODEL,
        port: int | None = None,
        ready_timeout_s: float = 120.0,
        canary: Canary | None = None,
        program: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__("the CPU server", ready_timeout_s=ready_timeout_s, grace_s=5.0, port=port, canary=canary)
        self.workers = workers or usable_cores()
        self._model = model
        self._program = list(program or (sys.executable, "-m", "pdfocr_core.cpu_engine"))
        self._env = dict(env or {})

    def command(self, port: int) -> list[str]:  # noqa: D102 - see ManagedServer
        return [*self._program, "--host", "127.0.0.1", "--port", str(port), *self._reading()]

    def _reading(self) -> list[str]:
        return ["--workers", str(self.workers), "--model", self._model]

    def environment(self, api_key: str) -> Mapping[str, str]:  # noqa: D102 - see ManagedServer
        return {**self._env, KEY_VARIABLE: api_key}


def usable_cores() -> int:
    """Cores that this process may run on, which in a container can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
