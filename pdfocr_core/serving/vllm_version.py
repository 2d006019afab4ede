"""Which vLLM is installed and whether it serves a model, told without importing it."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pdfocr_core.errors import ConfigurationError

__all__ = ["VersionRange", "installed_version", "program_output"]

# Importing vLLM for its version alone takes ten seconds on a slow machine.
TIMEOUT_S = 120.0
# An answer from the installed package's metadata takes a tenth of a second.
ASK_METADATA = "from importlib.metadata import version; print(version('vllm'))"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions of vLLM that serve a model, ends included.

    Attributes:
        least: the first one; None for any.
        most: the last one that is known to work; `0.29` includes 0.29.1, for a bound speaks for as many numbers as it has.
        why: what goes wrong outside of it.
        image_tag: a container image that is known to serve the model.
    """

    least: str | None = None
    most: str | None = None
    why: str | None = None
    image_tag: str | None = None

    def __str__(self) -> str:
        bounds = (self.least and f"at least {self.least}", self.most and f"at most {self.most}")
        return " and ".join(words for words in bounds if words) or "any version"

    def __contains__(self, version: str) -> bool:
        found = _numbers(version)
        if self.least is not None and found < _numbers(self.least):
            return False
        return self.most is None or found[: len(_numbers(self.most))] <= _numbers(self.most)

    @property
    def remedy(self) -> str:
        """How to come by a version inside."""
        pins = ",".join(sign + bound for sign, bound in ((">=", self.least), ("<=", self.most)) if bound)
        image = f", or use the image {self.image_tag} and engine=remote" if self.image_tag else ""
        return (
            f"Install {shlex.quote(f'vllm{pins}')} into an environment of its own and name its program with "
            f"PDFOCR_VLLM_PROGRAM{image}."
        )

    def check(self, program: str, model: str) -> None:
        """Make sure that the installed vLLM is inside; one that does not tell its version is let pass.

        Raises:
            ConfigurationError: it is not.
        """
        if self.least is None and self.most is None:
            return
        version = installed_version(program)
        if version is None or version in self:
            return
        known = f" What is known: {self.why}." if self.why else ""
        raise ConfigurationError(
            f"{model} needs vLLM {self}, and {program} is version {version}.{known}",
            remedy=f"{self.remedy} To try it all the same, extend the profile with `serve: {{min_vllm: null, max_vllm: null}}`.",
        )


def installed_version(program: str) -> str | None:
    """The version of a `vllm` program; None when it does not tell."""
    said = None
    beside = Path(program).resolve().with_name("python")
    if beside.exists():
        said = program_output([str(beside), "-c", ASK_METADATA], TIMEOUT_S)
    said = said or program_output([program, "--version"], TIMEOUT_S)
    found = re.search(r"\d+\.\d+[\w.+]*", said or "")
    return found[0] if found else None


def program_output(argv: list[str], timeout_s: float) -> str | None:
    """What a program prints; None when it is missing, fails or hangs."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3])
