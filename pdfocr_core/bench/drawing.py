"""Formulas as KaTeX draws them, and whether one drawing is found in another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Drawing", "Glyph", "contains"]

_NEAR = 5  # pixels that glyphs of one line, or one above the other, may be apart
_MOST_STEPS = 200_000  # of looking for a mapping; a formula that needs more is not found
_EMPTY = "\u200b"  # KaTeX puts it where nothing is to be seen


class Glyph(NamedTuple):
    """One character and the middle of where it stands, in pixels."""

    character: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A formula as it was drawn.

    Attributes:
        structure: its MathML without the LaTeX it came from and without white space.
        glyphs: what is to be seen.
        error: why it could not be drawn.
    """

    structure: str = ""
    glyphs: tuple[Glyph, ...] = ()
    error: str = ""

    @classmethod
    def of(cls, structure: str, spans: Sequence[tuple[str, float, float, float, float]]) -> Drawing:
        """From MathML and from pieces of text with x, y, width and height; their characters share the width evenly."""
        glyphs = [
            Glyph(character, x + width * (place + 0.5) / len(text), y + height / 2)
            for text, x, y, width, height in spans
            if text != _EMPTY
            for place, character in enumerate(text)
        ]
        return cls(re.sub(r"\s+", "", structure), tuple(glyphs))


def contains(whole: Drawing, part: Drawing) -> bool:
    """Whether the structure of `part` is in `whole`, or every glyph of it has its like there with the same neighbours."""
    if part.structure and not part.error and part.structure in whole.structure:
        return True
    return _mapped(part.glyphs, whole.glyphs)


def _mapped(part: Sequence[Glyph], whole: Sequence[Glyph]) -> bool:
    """Give each glyph of the part another glyph of the whole, in order, going back where that does not fit."""
    alike = [[place for place, glyph in enumerate(whole) if glyph.character == wanted.character] for wanted in part]
    if not all(alike):
        return False
    beside, there = _neighbours(part), _neighbours(whole)
    given: dict[int, int] = {}
    used: set[int] = set()
    tried = [0] * len(part)
    place = steps = 0
    while place < len(part):
        steps += 1
        if steps > _MOST_STEPS:
            return False
        if place in given:  # came back: what was given here led nowhere
            used.discard(given.pop(place))
        while tried[place] < len(alike[place]):
            candidate = alike[place][tried[place]]
            tried[place] += 1
            given[place] = candidate
            if candidate not in used and _fits(beside[place], there[candidate], given, part, whole):
                used.add(candidate)
                place += 1
                break
            del given[place]
        else:
            tried[place] = 0
            place -= 1
            if place < 0:
                return False
    return True


def _fits(
    beside: Sequence[int | None],
    there: Sequence[int | None],
    given: dict[int, int],
    part: Sequence[Glyph],
    whole: Sequence[Glyph],
) -> bool:
    for neighbour, other in zip(beside, there, strict=True):
        if neighbour is None:
            continue
        if other is None:
            return False
        if neighbour in given:
            if given[neighbour] != other:
                return False
        elif whole[other].character != part[neighbour].character:
            return False
    return True


def _neighbours(glyphs: Sequence[Glyph]) -> list[tuple[int | None, ...]]:
    """The nearest glyph above, below, to the left and to the right of each; the first of those as near."""
    found = []
    for own in glyphs:
        nearest: dict[str, tuple[float, int]] = {}
        for place, glyph in enumerate(glyphs):
            right, down = glyph.x - own.x, glyph.y - own.y
            for way, far, aside in (
                ("up", -down, right),
                ("down", down, right),
                ("left", -right, down),
                ("right", right, down),
            ):
                if far > 0 and abs(aside) <= _NEAR and (way not in nearest or far < nearest[way][0]):
                    nearest[way] = (far, place)
        found.append(tuple(nearest[way][1] if way in nearest else None for way in ("up", "down", "left", "right")))
    return found
