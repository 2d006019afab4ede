"""What a group of tasks failed of, as one exception."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from pdfocr_core.errors import PdfocrError

__all__ = ["first_of_ours"]


@contextlib.contextmanager
def first_of_ours() -> Iterator[None]:
    """Unwraps the exception group of a task group to the one exception that says what happened."""
    try:
        yield
    except BaseExceptionGroup as group:
        leaves = _leaves(group)
        raise next((error for error in leaves if isinstance(error, PdfocrError)), leaves[0]) from group


def _leaves(group: BaseExceptionGroup[BaseException]) -> Sequence[BaseException]:
    leaves: list[BaseException] = []
    for error in group.exceptions:
        leaves += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return leaves
