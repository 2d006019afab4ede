"""Which request meets which fault: decided by a seed and the request's own content, so that a run can be replayed.

The order in which requests arrive differs from run to run. What a page meets must not: it hangs on the seed, the bytes of
the page's picture and how often the page was asked before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["OWN_TROUBLE", "Fault", "Plan", "parse_fault"]


class Fault(StrEnum):
    """One way to fail."""

    HANG = "hang"  # takes the request and says nothing for `hang_s`
    CRASH = "crash"  # all connections break, and nobody answers for `down_s`
    OVERLOAD = "overload"  # 429 with Retry-After
    ERROR = "error"  # 500
    OUT_OF_MEMORY = "out_of_memory"  # 500 that says so, then a crash
    CLOSE = "close"  # the connection ends in the middle of the body
    GARBAGE = "garbage"  # 200 with bytes that are no JSON
    FLOOD = "flood"  # 200 with a body that does not end
    REFUSE = "refuse"  # 400
    LOOP = "loop"  # the same words until the token limit
    TRUNCATE = "truncate"  # a good answer, cut: finish_reason is length
    FOREIGN = "foreign"  # an answer in another format than the prompt asked for
    USAGE = "usage"  # a good answer with impossible token counts
    OTHER_PAGE = "other_page"  # a good answer to another page
    OTHER_MODEL = "other_model"  # from here on another model answers


# What says nothing about the page: a client has to ask again and may not charge the page with it.
OWN_TROUBLE = frozenset(
    {
        Fault.HANG,
        Fault.CRASH,
        Fault.OVERLOAD,
        Fault.ERROR,
        Fault.OUT_OF_MEMORY,
        Fault.CLOSE,
        Fault.GARBAGE,
        Fault.FLOOD,
    }
)


@dataclass(frozen=True)
class Plan:
    """What a server does wrong.

    Attributes:
        shares: how likely a request meets each fault, from 0 to 1; together at most 1.
        seed: another seed hits other pages.
        times: how many of the first requests for one page may meet a fault; later ones are served well.
        hang_s: how long a hanging request is held.
        down_s: how long nobody answers after a crash.
        retry_after_s: what a 429 asks for; None leaves the header out.
    """

    shares: Mapping[Fault, float] = field(default_factory=dict)
    seed: int = 0
    times: int = 1
    hang_s: float = 3600.0
    down_s: float = 1.0
    retry_after_s: float | None = 1.0

    def __post_init__(self) -> None:
        if any(share < 0 for share in self.shares.values()) or sum(self.shares.values()) > 1 + 1e-9:
            raise ValueError("The shares of all faults must be positive and together at most 1.")

    def fault(self, picture: str, asked_before: int) -> Fault | None:
        """What the request meets that asks for this picture (its digest) after so many others for the same one."""
        if asked_before >= self.times:
            return None
        drawn = hashlib.sha256(f"{self.seed}/{picture}/{asked_before}".encode()).digest()
        point = int.from_bytes(drawn[:8]) / 2**64
        for fault in sorted(self.shares):
            point -= self.shares[fault]
            if point < 0:
                return fault
        return None


def parse_fault(text: str) -> tuple[Fault, float]:
    """Read `hang=0.1`; a fault without a share meets every request.

    Raises:
        ValueError: no such fault, or no number.
    """
    name, _, share = text.partition("=")
    if name not in set(Fault):
        raise ValueError(f"There is no fault {name!r}. Known are: {', '.join(Fault)}.")
    try:
        return Fault(name), float(share or 1)
    except ValueError:
        raise ValueError(f"{share!r} is no share of requests; write it like {name}=0.1.") from None
