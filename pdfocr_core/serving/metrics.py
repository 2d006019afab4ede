"""What a server says of its own load, in vLLM's Prometheus names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Load", "parse_metrics", "total"]

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{.*\})?\s+(\S+)")
_COUNTED = {
    "num_requests_running": "running",
    "num_requests_waiting": "waiting",
    "num_preemptions_total": "preemptions",
    "prompt_tokens_total": "prompt_tokens",
    "generation_tokens_total": "generation_tokens",
}
# The second name is that of older versions.
_SHARES = {"kv_cache_usage_perc": "kv_cache_usage", "gpu_cache_usage_perc": "kv_cache_usage"}


@dataclass(frozen=True, slots=True)
class Load:
    """Gauges and counters at one moment; None for what the server does not tell.

    Attributes:
        running: requests that are being computed.
        waiting: requests that wait for a place.
        kv_cache_usage: used share of the cache of tokens, 0 to 1; the fullest engine's.
        preemptions: since the server's start.
        prompt_tokens: since the server's start.
        generation_tokens: since the server's start.
    """

    running: float | None = None
    waiting: float | None = None
    kv_cache_usage: float | None = None
    preemptions: float | None = None
    prompt_tokens: float | None = None
    generation_tokens: float | None = None


def parse_metrics(text: str) -> Load:
    """Read the exposition format; counts are summed over engines."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        sample = _SAMPLE.match(line)
        if sample is None:
            continue
        name = sample[1].removeprefix("vllm:").removeprefix("vllm_")
        try:
            value = float(sample[2])
        except ValueError:
            continue
        if not math.isfinite(value):
            continue
        if field := _COUNTED.get(name):
            found[field] = found.get(field, 0.0) + value
        elif field := _SHARES.get(name):
            found[field] = max(found.get(field, 0.0), value)
    return Load(**found)


def total(loads: Iterable[Load]) -> Load:
    """The load of several servers together."""
    known = list(loads)

    def values(field: str) -> list[float]:
        return [value for load in known if (value := getattr(load, field)) is not None]

    summed = {field: sum(values(field)) for field in _COUNTED.values() if values(field)}
    if shares := values("kv_cache_usage"):
        summed["kv_cache_usage"] = max(shares)
    return Load(**summed)
