"""Lines with places on their way into answers and records: in one space, turned with the picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pdfocr_core.layout.model import Line
from pdfocr_core.records import LINE_SPACE, TextLine

__all__ = ["ANSWER_FIELD", "for_answer", "lines_in", "mean_score", "placed", "turned"]

ANSWER_FIELD = "pdfocr_lines"
"""What the CPU engine calls the lines in the message of a chat completion."""
# A page of a telephone book has some thousand lines; whoever sends more does not describe a page.
_MOST_LINES = 20_000


def placed(lines: Iterable[Line], width: float, height: float) -> list[TextLine]:
    """Lines of a picture or page of this size as records keep them."""
    return [
        TextLine(
            _whole(line.text),
            _part(line.x0 / width),
            _part(line.y0 / height),
            _part(line.x1 / width),
            _part(line.y1 / height),
            min(max(round(100 * line.score), 0), 100),
        )
        for line in lines
        if line.text.strip()
    ]


def _whole(text: str) -> str:
    """On one line, and without halves of characters, which no file can hold."""
    return " ".join(text.split()).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _part(fraction: float) -> int:
    return min(max(round(fraction * LINE_SPACE), 0), LINE_SPACE)


def for_answer(lines: Iterable[TextLine]) -> list[dict[str, Any]]:
    """Lines as the message of a chat completion holds them: fractions of the picture that was sent."""
    return [
        {
            "text": line.text,
            **{name: getattr(line, name) / LINE_SPACE for name in ("x0", "y0", "x1", "y1")},
            "score": line.score / 100,
        }
        for line in lines
    ]


def lines_in(message: Mapping[str, Any]) -> tuple[TextLine, ...]:
    """The lines in a message; none where it has none, or anything else under their name: they never cost a page."""
    given = message.get(ANSWER_FIELD)
    if not isinstance(given, list) or len(given) > _MOST_LINES:
        return ()
    try:
        lines = [
            Line(str(one["text"]), *(_number(one[name]) for name in ("x0", "y0", "x1", "y1", "score"))) for one in given
        ]
    except (KeyError, TypeError, ValueError):
        return ()
    return tuple(placed(lines, 1.0, 1.0))


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("a coordinate is no number")
    return number


def turned(line: TextLine, degrees: int) -> TextLine:
    """The line on the picture once that is turned counter-clockwise by a multiple of 90 degrees."""
    x0, y0, x1, y1 = line[1:5]
    for _ in range(degrees // 90 % 4):
        x0, y0, x1, y1 = y0, LINE_SPACE - x1, y1, LINE_SPACE - x0
    return line._replace(x0=x0, y0=y0, x1=x1, y1=y1)


def mean_score(lines: Sequence[TextLine]) -> float | None:
    """How sure the recogniser was of the page, 0 to 1: the mean over its lines; None where there are none."""
    return round(sum(line.score for line in lines) / len(lines) / 100, 4) if lines else None
