"""Code from a model's repository runs only where someone said so, and only in the version that someone looked at."""

from __future__ import annotations

from collections.abc import Sequence

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving import arguments

__all__ = ["TRUST_FLAG", "check_pinned"]

TRUST_FLAG = "--trust-remote-code"
_REVISION_FLAGS = ("--revision", "--code-revision")


def check_pinned(model: str, revision: str | None, argv: Sequence[str]) -> None:
    """Refuse to run whatever code a repository at the hub holds today.

    Args:
        model: hub id.
        revision: the one of the profile or the settings.
        argv: the server's arguments.

    Raises:
        ConfigurationError: code is trusted without a revision.
    """
    named = revision or any(arguments.value_of(argv, flag) for flag in _REVISION_FLAGS)
    flags = {token.partition("=")[0].replace("_", "-") for token in argv if token.startswith("--")}
    if TRUST_FLAG in flags and not named:
        raise ConfigurationError(
            f"{model} brings code of its own, which would run with your rights, and no revision of it is pinned.",
            code="revision_needed",
            remedy="Look at the code at the model's page and pin that commit: PDFOCR_REVISION, or `revision` in a profile.",
        )
