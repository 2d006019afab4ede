"""What a vLLM run needs, looked at before minutes go into loading a model."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.vllm import find_vllm, local_model

__all__ = ["Check", "check_context", "check_disk", "check_gpu", "check_model", "check_vllm", "preflight"]

# Importing vLLM for its version alone takes ten seconds on a slow machine.
VERSION_TIMEOUT_S = 120.0
GPU_TIMEOUT_S = 20.0
# A GPU with less than this share free would make vLLM give up at its default memory utilisation.
FREE_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at.

    Attributes:
        name: what.
        ok: whether the run can go on with it.
        detail: what was found.
        remedy: what to do when it is not ok.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def preflight(
    model: str,
    *,
    executable: str | None = None,
    min_version: str | None = None,
    max_version: str | None = None,
    image_tokens: int | None = None,
    max_tokens: int | None = None,
    max_model_len: int | None = None,
    weight_bytes: int = 0,
) -> list[Check]:
    """Everything that can be known without loading the model; never raises.

    Args:
        model: hub id or local directory.
        executable: the `vllm` program, if not the one that would be found.
        min_version: the first vLLM version that serves the model.
        max_version: the last one.
        image_tokens: tokens of the largest page picture.
        max_tokens: tokens of the longest answer.
        max_model_len: tokens of a whole request and its answer.
        weight_bytes: size of the weights to download; 0 when not known.
    """
    checks = [check_vllm(executable, min_version, max_version), check_gpu(), check_model(model)]
    if image_tokens and max_tokens and max_model_len:
        checks.append(check_context(image_tokens, max_tokens, max_model_len))
    if not Path(model).expanduser().is_dir():
        checks.append(check_disk(hub_cache(), weight_bytes))
    return checks


def check_vllm(executable: str | None = None, minimum: str | None = None, maximum: str | None = None) -> Check:
    """Whether `vllm` is there, in a version that serves the model."""
    try:
        program = find_vllm(executable)
    except ConfigurationError as error:
        return Check("vllm", ok=False, detail="not found", remedy=error.remedy)
    said = _output([program, "--version"], VERSION_TIMEOUT_S)
    found = re.search(r"\d+\.\d+[\w.+]*", said or "")
    if found is None:
        return Check("vllm", ok=False, detail=f"{program} does not tell its version", remedy="Install it anew.")
    version = found[0]
    bounds = " and ".join(
        words for words in (minimum and f"at least {minimum}", maximum and f"at most {maximum}") if words
    )
    numbers = _numbers(version)
    # `at most 0.29` includes 0.29.1: a bound speaks for as many numbers as it has.
    too_old = minimum is not None and numbers < _numbers(minimum)
    too_new = maximum is not None and numbers[: len(_numbers(maximum))] > _numbers(maximum)
    if too_old or too_new:
        return Check("vllm", ok=False, detail=f"version {version}", remedy=f"The model needs vLLM {bounds}.")
    return Check("vllm", ok=True, detail=f"version {version}")


def check_gpu() -> Check:
    """Whether a GPU is visible and free; vLLM's CPU build is the user's own choice and needs none."""
    said = _output(
        ["nvidia-smi", "--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits"], GPU_TIMEOUT_S
    )
    if not said:
        return Check(
            "gpu",
            ok=False,
            detail="nvidia-smi shows no GPU",
            remedy="Check the driver, or in a container --gpus all; a CPU build of vLLM needs no GPU.",
        )
    gpus = [[field.strip() for field in line.split(",")] for line in said.splitlines() if line.count(",") >= 2]
    names = ", ".join(f"{name} ({free} of {total} MiB free)" for name, total, free, *_ in gpus)
    busy = [name for name, total, free, *_ in gpus if _is_busy(total, free)]
    if busy and len(busy) == len(gpus):
        remedy = "End what else uses the GPU, or lower gpu_memory_utilization."
        return Check("gpu", ok=False, detail=names, remedy=remedy)
    return Check("gpu", ok=True, detail=names)


def check_model(model: str) -> Check:
    """Whether the model is a directory that looks like one, or a name for the hub."""
    try:
        path = Path(local_model(model))
    except ConfigurationError as error:
        return Check("model", ok=False, detail=f"no directory {model}", remedy=error.remedy)
    if not path.is_dir():
        offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}
        where = "the local cache only (HF_HUB_OFFLINE is set)" if offline else "the hub"
        return Check("model", ok=True, detail=f"{model} from {where}")
    if not (path / "config.json").is_file():
        return Check(
            "model", ok=False, detail=f"{path} has no config.json", remedy="Name the directory that holds the weights."
        )
    return Check("model", ok=True, detail=str(path))


def check_context(image_tokens: int, max_tokens: int, max_model_len: int) -> Check:
    """Whether the largest page and the longest answer fit; otherwise every such request would be refused."""
    needed = image_tokens + max_tokens
    detail = f"{image_tokens} tokens of picture and {max_tokens} of answer, of {max_model_len}"
    if needed <= max_model_len:
        return Check("context", ok=True, detail=detail)
    return Check(
        "context",
        ok=False,
        detail=detail,
        remedy=f"Raise max_model_len to {needed} or more, or lower max_tokens or the picture's longest side.",
    )


def check_disk(directory: Path, needed_bytes: int) -> Check:
    """Whether the weights fit on the disk that caches them."""
    existing = next(parent for parent in (directory, *directory.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    detail = f"{free / 1e9:.1f} GB free in {directory}"
    if free >= needed_bytes:
        return Check("disk", ok=True, detail=detail)
    return Check(
        "disk",
        ok=False,
        detail=f"{detail}, {needed_bytes / 1e9:.1f} GB needed",
        remedy="Free space, or set HF_HOME to a directory on a larger disk.",
    )


def hub_cache() -> Path:
    """Where the hub's client keeps weights."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser().absolute()
    return Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser().absolute() / "hub"


def _is_busy(total: str, free: str) -> bool:
    return total.isdigit() and free.isdigit() and int(free) < FREE_SHARE * int(total)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3])


def _output(argv: list[str], timeout_s: float) -> str | None:
    """What a program prints; None when it is missing, fails or hangs."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
