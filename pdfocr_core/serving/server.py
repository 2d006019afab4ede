"""What a run needs of an inference server, whoever runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from pdfocr_core.serving.endpoint import Endpoint

__all__ = ["InferenceServer"]


class InferenceServer(ABC):
    """Something that answers chat completions: started when first needed, ended with the run.

    Used from ordinary threads; every method may be called from several at once. As a context manager it is stopped at
    the end, and started by whoever asks first.
    """

    restartable = False
    """Whether starting it again is ours to do."""

    streams_in_parts = False
    """Whether it was started so that a stream has many tokens in one part."""

    @abstractmethod
    def start(self) -> Endpoint:
        """Make it ready and say where it answers; does nothing more when it is ready already.

        Raises:
            ConfigurationError: it can never start as asked.
            ServerUnavailable: it does not start or answer; a later try may succeed.
        """

    @abstractmethod
    def stop(self) -> None:
        """End what `start` started; also ends a start that is under way in another thread."""

    @abstractmethod
    def alive(self) -> bool:
        """Whether it runs and answers its health check now."""

    def running(self) -> bool:
        """Whether its process is there, answering or not; true for a server that someone else runs."""
        return True

    def restart(self) -> Endpoint:
        """End it and start it again."""
        self.stop()
        return self.start()

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Every place where it answers, started if need be."""
        return (self.start(),)

    def tail(self, lines: int = 50) -> list[str]:  # noqa: ARG002 - for servers that have a log
        """The last lines of its log, where there is one."""
        return []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
