"""What a vLLM run needs, looked at before minutes go into loading a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.serving.hub import REMEDY, download, hub_cache, is_cached, is_offline, remedy
from pdfocr_core.serving.vllm import check_directory, find_vllm, local_model
from pdfocr_core.serving.vllm_version import VersionRange, installed_version, program_output
from pdfocr_core.serving.weights import cache_folder, find_weights, free_bytes
from pdfocr_core.store import is_url

__all__ = ["Check", "check_context", "check_disk", "check_gpu", "check_model", "check_vllm", "preflight"]

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
    revision: str | None = None,
    size: str = "",
    cache: Path | None = None,
) -> list[Check]:
    """Everything that can be known without loading the model; never raises.

    Args:
        model: hub id, local directory or prefix of an object store.
        executable: the `vllm` program, if not the one that would be found.
        min_version: the first vLLM version that serves the model.
        max_version: the last one.
        image_tokens: tokens of the largest page picture.
        max_tokens: tokens of the longest answer.
        max_model_len: tokens of a whole request and its answer.
        revision: of the weights at the hub.
        size: of the model as its profile has it, such as `7B`, for when the hub does not tell.
        cache: the folder for weights that come from an object store.
    """
    checks = [check_vllm(executable, min_version, max_version), check_gpu()]
    if is_url(model):
        checks += check_weights(model, cache or cache_folder())
    else:
        checks.append(check_model(model, revision))
    if image_tokens and max_tokens and max_model_len:
        checks.append(check_context(image_tokens, max_tokens, max_model_len))
    if not is_url(model) and not Path(model).expanduser().is_dir():
        coming = download(model, revision, size=size)
        checks.append(check_disk(hub_cache(), coming.size or 0, coming.source))
    return checks


def check_weights(url: str, cache: Path) -> list[Check]:
    """Whether an object store has a model, and whether it fits on the disk that keeps it."""
    try:
        weights = find_weights(url)
    except PdfocrError as error:
        return [Check("model", ok=False, detail=str(error.args[0]), remedy=error.remedy)]
    size = f"{weights.size / 1e9:.1f} GB in {len(weights.objects)} files"
    if (cache / weights.name).is_dir():
        return [Check("model", ok=True, detail=f"{url}, {size}, downloaded already")]
    remedy = "Free space, or set cache_dir (PDFOCR_CACHE_DIR) to a directory on a larger disk."
    disk = check_disk(cache, weights.size, "the listing", remedy)
    return [Check("model", ok=True, detail=f"{url}, {size}"), disk]


def check_vllm(executable: str | None = None, minimum: str | None = None, maximum: str | None = None) -> Check:
    """Whether `vllm` is there, in a version that serves the model."""
    try:
        program = find_vllm(executable)
    except ConfigurationError as error:
        return Check("vllm", ok=False, detail="not found", remedy=error.remedy)
    version = installed_version(program)
    if version is None:
        return Check("vllm", ok=False, detail=f"{program} does not tell its version", remedy="Install it anew.")
    wanted = VersionRange(minimum, maximum)
    if version not in wanted:
        remedy = f"The model needs vLLM {wanted}. {wanted.remedy}"
        return Check("vllm", ok=False, detail=f"version {version}", remedy=remedy)
    return Check("vllm", ok=True, detail=f"version {version}")


def check_gpu() -> Check:
    """Whether a GPU is visible and free; vLLM's CPU build is the user's own choice and needs none."""
    said = program_output(
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


def check_model(model: str, revision: str | None = None) -> Check:
    """Whether the model is a directory that looks like one, or a name for the hub; offline, whether it is in the cache."""
    try:
        found = local_model(model)
        check_directory(found)
    except ConfigurationError as error:
        return Check("model", ok=False, detail=str(error.args[0]), remedy=error.remedy)
    if Path(found).is_dir():
        return Check("model", ok=True, detail=found)
    cached = is_cached(model, revision)
    if is_offline():
        where = "in the local cache, and nothing else is used: HF_HUB_OFFLINE is set"
        detail = f"{model} is {'' if cached else 'not '}{where}"
        return Check("model", ok=cached, detail=detail, remedy="" if cached else remedy())
    return Check("model", ok=True, detail=f"{model} from {'the local cache' if cached else 'the hub'}")


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


def check_disk(directory: Path, needed_bytes: int, source: str = "", remedy: str = REMEDY) -> Check:
    """Whether the weights fit on the disk that caches them.

    Args:
        directory: the cache.
        needed_bytes: still to come; 0 when nothing is, or nobody knows.
        source: who says so.
        remedy: when they do not.
    """
    free = free_bytes(directory)
    told = f" ({source})" if source else ""
    detail = f"{free / 1e9:.1f} GB free in {directory}, {needed_bytes / 1e9:.1f} GB to download{told}"
    return Check("disk", ok=free >= needed_bytes, detail=detail, remedy="" if free >= needed_bytes else remedy)


def _is_busy(total: str, free: str) -> bool:
    return total.isdigit() and free.isdigit() and int(free) < FREE_SHARE * int(total)
