"""Shares that say how well a group or a collection was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Rates", "language_shift", "rates_of"]


class _Counted(Protocol):
    """A status row, or the books of a collection."""

    @property
    def pages(self) -> int: ...
    @property
    def pages_ok(self) -> int: ...
    @property
    def pages_blank(self) -> int: ...
    @property
    def pages_fallback(self) -> int: ...
    @property
    def empty_pages(self) -> int: ...
    @property
    def retries(self) -> Mapping[str, int]: ...
    @property
    def attempts(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class Rates:
    """All shares are 0 to 1, and 0 where there is nothing to take a share of.

    Attributes:
        pages: pages that are not blank.
        fallback: of these, those with the text of the PDF itself because the model failed.
        empty_text: of the pages that are ok, those without text.
        repetition: of all answers, those that went round in a circle.
    """

    pages: int
    fallback: float
    empty_text: float
    repetition: float


def rates_of(counted: Iterable[_Counted]) -> Rates:
    """The shares over all of these together."""
    pages = fallback = ok = empty = repetitions = answers = 0
    for one in counted:
        pages += one.pages - one.pages_blank
        fallback += one.pages_fallback
        ok += one.pages_ok
        empty += one.empty_pages
        repetitions += one.retries.get("repetition", 0)
        answers += sum(int(asked) * number for asked, number in one.attempts.items())
    return Rates(pages, _share(fallback, pages), _share(empty, ok), _share(repetitions, answers))


def language_shift(before: Mapping[str, int], now: Mapping[str, int]) -> tuple[float, int]:
    """How far the mix of languages of the new pages is from that of the old ones, and how many new ones there are.

    Half of the sum of all changes of share: 0 for the same mix, 1 for nothing in common.
    """
    new = {name: max(0, count - before.get(name, 0)) for name, count in now.items()}
    old_pages, new_pages = sum(before.values()), sum(new.values())
    if not old_pages or not new_pages:
        return 0.0, new_pages
    names = {*before, *new}
    changes = (abs(new.get(name, 0) / new_pages - before.get(name, 0) / old_pages) for name in names)
    return sum(changes) / 2, new_pages


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
