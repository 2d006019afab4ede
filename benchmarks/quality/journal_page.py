"""A page of a journal with everything on it: head, columns, a table and a figure in them, a footnote."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.quality.prose import Prose
from benchmarks.quality.sample_tests import Drawn, Test, absent, end, in_turn, order, present, start
from benchmarks.quality.sheet import MARGIN, PAGE, Sheet

__all__ = ["journal"]

_GUTTER = 18.0
_WIDTH = (PAGE[0] - 2 * MARGIN - _GUTTER) / 2
_RIGHT = MARGIN + _WIDTH + _GUTTER
