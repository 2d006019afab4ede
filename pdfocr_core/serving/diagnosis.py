"""Why a server died while starting, read from the end of its log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pdfocr_core.errors import ConfigurationError, PdfocrError, ServerUnavailable

__all__ = ["GUARD_KILLED", "KILLED", "PORT_IN_USE", "death_of", "death_of_guard"]

PORT_IN_USE = "port_in_use"
KILLED = "killed"
GUARD_KILLED = "guard_killed"
SHOWN_LINES = 15


@dataclass(frozen=True, slots=True)
class _Cause:
    pattern: str
    message: str
    remedy: str
    permanent: bool = True
    code: str | None = None


# The first that matches wins, so causes stand before their consequences.
_CAUSES = (
    _Cause(
        r"unrecognized arguments?:|invalid choice:|expected (one|at least one) argument|error: argument |No such option",
        "does not know one of its arguments",
        "Correct or remove that argument; the server's own message names it.",
    ),
    _Cause(
        r"GatedRepo|gated repo|Access to model .* is restricted|awaiting a review from the repo",
        "may not download the model, because access to it has to be asked for",
        "Accept the licence on the model's page and set HF_TOKEN to a token that may read it.",
    ),
    _Cause(
        r"outgoing traffic has been disabled|LocalEntryNotFound|offline mode is enabled|OfflineModeIsEnabled"
        r"|Cannot find an appropriate cached snapshot",
        "runs offline and the model is not in the local cache",
        "Unset HF_HUB_OFFLINE, or download the model once, or name a local directory.",
    ),
    _Cause(
        r"RepositoryNotFound|Repository Not Found|is not a valid model identifier|RevisionNotFound|Invalid repository ID"
        r"|Repo id must (be|use)|404 Client Error",
        "cannot find the model",
        "Check the model's name and revision; a private model needs HF_TOKEN.",
    ),
    _Cause(
        r"Name or service not known|Temporary failure in name resolution|Failed to resolve|Max retries exceeded"
        r"|Network is unreachable|couldn't connect to '?https://huggingface\.co",
        "cannot reach the model hub",
        "Check the network and proxy settings, or download the model elsewhere and name its directory.",
    ),
    _Cause(
        r"\[Errno 98\]|[Aa]ddress already in use|EADDRINUSE",
        "found its port taken by another program",
        "Start again, or choose another port.",
        permanent=False,
        code=PORT_IN_USE,
    ),
    _Cause(
        r"(larger than|exceeds?) the maximum number of tokens that can be stored in (the )?KV cache"
        r"|needed, which is larger than the available KV cache memory|No available memory for the cache blocks",
        "has too little memory left for its cache of tokens",
        "Lower --max-model-len, raise --gpu-memory-utilization, or use a larger GPU.",
    ),
    _Cause(
        r"Free memory on device .* is less than desired",
        "finds too little free memory on the GPU",
        "End what else uses the GPU, or lower --gpu-memory-utilization.",
    ),
    _Cause(
        r"OutOfMemoryError|CUDA out of memory|HIP out of memory|MemoryError|Cannot allocate memory|bad_alloc"
        r"|DefaultCPUAllocator: can't allocate",
        "ran out of memory",
        "Use a larger GPU or machine, lower --max-model-len or --max-num-seqs, or take a smaller or quantised model.",
    ),
    _Cause(
        r"No space left on device",
        "found the disk full",
        "Free space where the model is cached (HF_HOME), or point HF_HOME at a larger disk.",
    ),
    _Cause(
        r"No CUDA GPUs are available|Failed to infer device type|Found no NVIDIA driver|no CUDA-capable device"
        r"|CUDA driver version is insufficient|Device string must not be empty",
        "sees no usable GPU",
        "Check `nvidia-smi`, the driver and CUDA_VISIBLE_DEVICES, or use engine=cpu.",
    ),
    _Cause(
        r"trust_remote_code=True|trust-remote-code|contains custom code which must be executed",
        "needs code from the model's repository, which is not run unless you allow it",
        "Read that code, pin a revision and add --trust-remote-code.",
    ),
    _Cause(
        r"Model architectures? .* (is|are) not supported|does not recognize this architecture|Unknown (model|architecture)"
        r"|has no vLLM implementation",
        "is of a version that does not know this kind of model",
        "Install a vLLM version in the range that `pdfocr models` shows for it.",
    ),
    _Cause(
        r"Quantization .* not supported|quantization method .* is not supported|not supported for the current GPU",
        "cannot run this quantisation on this GPU",
        "Take the model's unquantised form or another GPU.",
    ),
    _Cause(
        r"max_model_len .* is greater than the derived max_model_len|User-specified max_model_len",
        "was asked for a longer context than the model has",
        "Lower --max-model-len.",
    ),
    _Cause(
        r"No such file or directory|FileNotFoundError|cannot start .*: |does not appear to have a file named"
        r"|appears path-like, but doesn't exist",
        "misses a file",
        "Check the paths among the arguments and that the model's directory is complete.",
    ),
    _Cause(
        r"ModuleNotFoundError|ImportError|cannot open shared object file",
        "misses a Python package or library",
        "Install it into the environment that runs the server.",
    ),
    _Cause(
        r"PermissionError|Permission denied",
        "may not read or write a file",
        "Check the permissions of the model's directory and of the cache (HF_HOME).",
    ),
)


def death_of(name: str, code: int | None, tail: Sequence[str]) -> PdfocrError:
    """The error for a server that ended with `code`, after writing `tail`."""
    cause, line = _find(tail)
    shown = "\n".join(f"    {text}" for text in tail[-SHOWN_LINES:])
    ended = _ending(code)
    log = f"\nThe end of its log:\n{shown}\n" if shown else "\n"
    if cause is None:
        if code == 137:
            return ServerUnavailable(
                f"{name} was killed from outside ({ended}), most likely for using too much memory.{log}",
                code=KILLED,
                remedy="Give the machine or container more memory, or let the server use less.",
            )
        return ServerUnavailable(f"{name} ended while starting ({ended}).{log}", remedy="Its log says why.")
    kind = ConfigurationError if cause.permanent else ServerUnavailable
    return kind(f"{name} {cause.message} ({ended}): {line[:300]}{log}", code=cause.code, remedy=cause.remedy)


def death_of_guard(name: str) -> ServerUnavailable:
    """The error for a server that was ended because its guard was killed, which says nothing about the server."""
    return ServerUnavailable(
        f"The process that looks after {name} was killed from outside while {name} was starting.",
        code=GUARD_KILLED,
        remedy="Look for what kills processes on this machine; the same command goes on from here.",
    )


def _find(tail: Sequence[str]) -> tuple[_Cause | None, str]:
    for cause in _CAUSES:
        # Of a traceback the last line says most.
        for line in reversed(tail):
            if re.search(cause.pattern, line):
                return cause, line.strip()
    return None, ""


def _ending(code: int | None) -> str:
    if code is None:
        return "it still runs"
    return f"killed by signal {code - 128}" if code > 128 else f"exit code {code}"
