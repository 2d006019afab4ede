"""What is known of a model at the Hugging Face hub: whether its weights are here already, and how large they are."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.endpoint import hush_http_log
from pdfocr_core.serving.weights import free_bytes

__all__ = ["Download", "check_room", "download", "hub_cache", "is_cached", "is_offline", "remedy", "size_by_name"]

TIMEOUT_S = 5.0
REMEDY = "Free space, or set HF_HOME to a directory on a larger disk."
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")


@dataclass(frozen=True, slots=True)
class Download:
    """What is still to come from the hub.

    Attributes:
        size: bytes; None where nobody tells.
        source: who said so.
        problem: the hub's refusal, if it refuses.
    """

    size: int | None
    source: str
    problem: str = ""


def is_offline() -> bool:
    """Whether the hub's client is told to use its cache only."""
    value = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return value.upper() in {"1", "ON", "YES", "TRUE"}


def hub_cache() -> Path:
    """Where the hub's client keeps weights."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser().absolute()
    return _home() / "hub"


def is_cached(model: str, revision: str | None = None, cache: Path | None = None) -> bool:
    """Whether all weights of a revision lie in the cache."""
    folder = _folder(model, cache)
    wanted = revision or "main"
    reference = folder / "refs" / wanted
    commit = reference.read_text().strip() if reference.is_file() else wanted
    snapshot = folder / "snapshots" / commit
    if not snapshot.is_dir():
        return False
    files = {path.name for path in snapshot.iterdir() if path.is_file()}
    index = snapshot / "model.safetensors.index.json"
    if index.is_file():
        try:
            return set(json.loads(index.read_text())["weight_map"].values()) <= files
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
    return any(name.endswith(_WEIGHTS) for name in files)


def download(model: str, revision: str | None = None, *, cache: Path | None = None, size: str = "") -> Download:
    """How many bytes loading a model would bring; asks the hub, never raises.

    Args:
        model: hub id.
        revision: of the weights.
        cache: where they would be kept; None for the usual place.
        size: the model's size as its profile has it, such as `7B`, for when the hub does not tell.
    """
    if is_cached(model, revision, cache):
        return Download(0, "all in the cache")
    if os.environ.get("VLLM_USE_MODELSCOPE"):
        return Download(size_by_name(model, size), "ModelScope is used")
    if is_offline():
        return Download(None, "HF_HUB_OFFLINE is set", "not in the local cache, and HF_HUB_OFFLINE is set")
    estimate = Download(size_by_name(model, size), f"estimated from its size, {size}" if size else "not known")
    try:
        response = _ask(f"{quote(model)}/revision/{quote(revision or 'main', safe='')}")
    except httpx.HTTPError:
        return estimate
    if response.status_code in {401, 403, 404} and (code := response.headers.get("x-error-code")):
        return Download(None, "the hub", f"the hub refuses it ({code})")
    try:
        total = _total(response.json()["siblings"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return estimate
    blobs = _folder(model, cache) / "blobs"
    there = sum(path.stat().st_size for path in blobs.iterdir() if path.is_file()) if blobs.is_dir() else 0
    return Download(max(0, total - there), "the hub")


def check_room(model: str, revision: str | None, cache: Path | None = None) -> None:
    """Make sure, before the download begins, that it can end well.

    Raises:
        ConfigurationError: the weights do not fit, or cannot be had.
    """
    coming, place = download(model, revision, cache=cache), cache or hub_cache()
    if coming.problem:
        raise ConfigurationError(f"The model {model} cannot be loaded: {coming.problem}.", remedy=remedy())
    free = free_bytes(place)
    if coming.size is not None and coming.size > free:
        raise ConfigurationError(
            f"{model} takes {coming.size / 1e9:.1f} GB and {place} has {free / 1e9:.1f} GB free.", remedy=REMEDY
        )


def remedy() -> str:
    """What to do about a model that cannot be had."""
    if is_offline():
        return "Download it first (`hf download`), or unset HF_HUB_OFFLINE."
    return "Check its name and revision; for a model with conditions, accept them at the hub and set HF_TOKEN."


def size_by_name(model: str, size: str) -> int | None:
    """Bytes of a model with so many parameters: two for each, one where its name says FP8."""
    found = re.fullmatch(r"([\d.]+)([MB])", size)
    if found is None:
        return None
    parameters = float(found[1]) * (1e9 if found[2] == "B" else 1e6)
    return int(parameters * (1 if "fp8" in model.lower() else 2))


def _ask(path: str) -> httpx.Response:
    hush_http_log()
    base = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    token = os.environ.get("HF_TOKEN") or _stored_token()
    headers = {"authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(timeout=TIMEOUT_S, follow_redirects=True) as client:
        return client.get(f"{base}/api/models/{path}", params={"blobs": "true"}, headers=headers)


def _stored_token() -> str:
    path = Path(os.environ.get("HF_TOKEN_PATH") or _home() / "token").expanduser()
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _total(files: Any) -> int:
    """Bytes of the files that vLLM takes: where there are safetensors, no other form of the same weights."""
    sizes = {str(file["rfilename"]): int(file.get("size") or 0) for file in files}
    others = tuple(ending for ending in _WEIGHTS if ending != ".safetensors")
    safe = any(name.endswith(".safetensors") for name in sizes)
    return sum(size for name, size in sizes.items() if not (safe and name.endswith(others)))


def _home() -> Path:
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "huggingface"


def _folder(model: str, cache: Path | None) -> Path:
    return (cache or hub_cache()) / f"models--{model.replace('/', '--')}"
