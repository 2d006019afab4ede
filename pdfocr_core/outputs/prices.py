"""What reading costs, and what the rest of a collection will take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Prices", "Projection"]


class Prices(NamedTuple):
    """What reading costs, in any currency.

    Attributes:
        tokens_in: of a million tokens in.
        tokens_out: of a million tokens out.
        gpu_hour: of one GPU for an hour.
        gpus: GPUs that worked at the same time.
    """

    tokens_in: float = 0.0
    tokens_out: float = 0.0
    gpu_hour: float = 0.0
    gpus: int = 1

    @property
    def known(self) -> bool:
        """Whether any price is set."""
        return bool(self.tokens_in or self.tokens_out or self.gpu_hour)

    def cost(self, tokens_in: float, tokens_out: float, seconds: float) -> float:
        """The price of so many tokens and so long a time."""
        tokens = (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6
        return tokens + seconds / 3600 * self.gpus * self.gpu_hour


@dataclass(frozen=True, slots=True)
class Projection:
    """What the rest will take if it is like what was read; None for what nothing is known of."""

    pages: int
    tokens_in: int | None
    tokens_out: int | None
    seconds: float | None
    cost: float | None
