"""A set of millions of identities that takes 10 bytes of memory for each, and hardly more while it grows.

Identities are beginnings of cryptographic digests. That two of ten million are alike in 10 bytes has a probability of
4 in 10^11.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["IDENTITY_BYTES", "Identities"]

IDENTITY_BYTES = 10
_SHELVES = 256
_WAITING = 20_000

_Sorted = npt.NDArray[np.bytes_]


class Identities:
    """Sorted arrays on 256 shelves, by the first byte: what is put in order at a time is a small part of the whole.

    The newest identities wait in a set until there are enough of them to be worth the sorting.
    """

    def __init__(self) -> None:
        self._waiting: set[bytes] = set()
        self._shelves: list[list[_Sorted]] = [[] for _ in range(_SHELVES)]

    def add(self, identity: bytes) -> bool:
        """Take one in; False when it is there already."""
        if identity in self:
            return False
        self._waiting.add(identity)
        if len(self._waiting) >= _WAITING:
            self._shelve()
        return True

    def update(self, identities: Iterable[bytes]) -> None:
        """Take many in that are, as a rule, new; some may be there twice afterwards, which only costs their room."""
        for identity in identities:
            self._waiting.add(identity)
            if len(self._waiting) >= _WAITING:
                self._shelve()

    def __contains__(self, identity: bytes) -> bool:
        if identity in self._waiting:
            return True
        wanted = identity.rstrip(b"\0")  # as numpy gives them back; all have the same length, so none becomes another
        for array in self._shelves[identity[0]]:
            place = array.searchsorted(wanted)
            if place < len(array) and array[place] == wanted:
                return True
        return False

    @property
    def nbytes(self) -> int:
        """What is held in arrays, in bytes."""
        return sum(array.nbytes for shelf in self._shelves for array in shelf)

    def _shelve(self) -> None:
        ordered = np.array(sorted(self._waiting), dtype=f"S{IDENTITY_BYTES}")
        self._waiting.clear()
        firsts = ordered.view(np.uint8)[::IDENTITY_BYTES]
        bounds = np.searchsorted(firsts, np.arange(_SHELVES + 1))
        for number, shelf in enumerate(self._shelves):
            new = ordered[bounds[number] : bounds[number + 1]].copy()
            if not len(new):
                continue
            # Like sizes are merged, so a shelf never has more arrays than the logarithm of what it holds.
            while shelf and len(shelf[-1]) <= 2 * len(new):
                new = np.concatenate([shelf.pop(), new])
                new.sort()
            shelf.append(new)
