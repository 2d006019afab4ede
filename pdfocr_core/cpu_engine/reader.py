"""One page from its bytes to its answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from pdfocr_core.cpu_engine.answer import Answer
from pdfocr_core.cpu_engine.gutters import cut_at_gutters
from pdfocr_core.cpu_engine.heights import even_heights
from pdfocr_core.cpu_engine.language import guess_language
from pdfocr_core.cpu_engine.models import DEFAULT_MODEL, choose_model
from pdfocr_core.cpu_engine.orientation import flipped, turn_needed, turn_of_hidden
from pdfocr_core.cpu_engine.picture import Pixels, decode, extent, fitted
from pdfocr_core.cpu_engine.recogniser import Read, Recogniser, Spot
from pdfocr_core.cpu_engine.rulings import find_rulings, is_drawing, straightened
from pdfocr_core.cpu_engine.strays import without_strays
from pdfocr_core.layout.model import Line, text_height
from pdfocr_core.layout.order import in_reading_order
from pdfocr_core.layout.page import to_markdown
from pdfocr_core.layout.placed import placed

__all__ = ["PageReader"]

# Below this score a reading is more likely noise (a stain, a hatching, an unknown script) than text.
MIN_SCORE = 0.5
DOUBTFUL = 0.8
# Characters read for each line height of text found. Latin has 2 or more, Chinese and Japanese a little over 1, as rows of
# dots and dashes do; of a script that the models do not know they see punctuation and a few letters that look alike.
MIN_DENSITY = 0.85
TELLING_LENGTH = 6  # line heights of text from which that can be told
MAX_SKEW = 15.0  # degrees
DRAWN_HEIGHT = 5  # so many times the usual height of lines, and doubtful: no text


class PageReader:
    """Reads pages one after the other; holds the models.

    Args:
        model: a name or a directory; see `choose_model`.
    """

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self._recogniser = Recogniser(choose_model(model))

    def read(self, data: bytes, *, keep_margins: bool = False) -> Answer:
        """Read one picture; page numbers and running heads are left out of the text unless they are to be kept.

        Raises:
            BadPicture: the bytes are no picture that can be read.
        """
        decoded = decode(data)
        pixels = fitted(decoded)
        spots = cut_at_gutters(self._recogniser.find(pixels))
        seen: dict[int, Read] = {}

        def read_once(crops: Sequence[Pixels]) -> list[Read]:
            """Lines read to find the orientation need not be read again."""
            answers = self._recogniser.read(crops)
            seen.update({id(crop): answer for crop, answer in zip(crops, answers, strict=True)})
            return answers

        turn = turn_needed(spots, read_once) or self._turn_of_hidden(pixels, spots)
        if turn:
            return Answer(turn=turn)
        reads = self._read_all(spots, {id(spot.crop): seen[id(spot.crop)] for spot in spots if id(spot.crop) in seen})
        if not _is_known_script(spots, reads):
            return Answer()  # no text rather than debris: the client may have a better source
        answer = _understood(pixels, spots, reads, keep_margins)
        return replace(answer, lines=tuple(placed(_as_they_lie(spots, reads), *extent(decoded, pixels))))

    def _turn_of_hidden(self, pixels: Pixels, spots: Sequence[Spot]) -> int:
        if any(spot.is_wide or spot.is_tall for spot in spots):
            return 0
        return turn_of_hidden(self._recogniser.find(np.ascontiguousarray(np.rot90(pixels))), self._recogniser.read)

    def _read_all(self, spots: Sequence[Spot], known: dict[int, Read]) -> list[Read]:
        unread = [spot for spot in spots if id(spot.crop) not in known]
        fresh = self._recogniser.read([spot.crop for spot in unread])
        reads = known | {id(spot.crop): answer for spot, answer in zip(unread, fresh, strict=True)}
        # Text in a margin runs upwards or downwards: the crop was turned one way, the other may be right.
        doubtful = [spot for spot in spots if spot.is_tall and reads[id(spot.crop)].score < DOUBTFUL]
        for spot, answer in zip(
            doubtful, self._recogniser.read([flipped(spot.crop) for spot in doubtful]), strict=True
        ):
            if answer.score > reads[id(spot.crop)].score:
                reads[id(spot.crop)] = answer
        return [reads[id(spot.crop)] for spot in spots]


def _is_known_script(spots: Sequence[Spot], reads: Sequence[Read]) -> bool:
    length = sum(spot.length / max(1.0, min(spot.width, spot.height)) for spot in spots)
    seen = sum(len("".join(read.text.split())) for read in reads if read.score >= MIN_SCORE)
    return length < TELLING_LENGTH or seen >= MIN_DENSITY * length


def _understood(pixels: Pixels, spots: Sequence[Spot], reads: Sequence[Read], keep_margins: bool) -> Answer:
    height, width = pixels.shape[:2]
    angle = _skew(spots)
    places = [_placed(spot, read, angle, width / 2, height / 2) for spot, read in zip(spots, reads, strict=True)]
    lines = even_heights(without_strays(_without_drawn([line for line in places if _is_text(line)])))
    grey = straightened(pixels, angle)
    rulings = find_rulings(grey, text_height(lines)) if lines else None
    page = to_markdown(lines, width, height, rulings, keep_margins=keep_margins)
    return Answer(
        markdown=page.markdown,
        language=guess_language(page.markdown),
        is_table=page.is_table,
        is_diagram=not page.is_table and is_drawing(grey, lines),
    )


def _is_text(line: Line) -> bool:
    return line.score >= MIN_SCORE and bool(line.text.strip())


def _without_drawn(lines: Sequence[Line]) -> list[Line]:
    """The lines without rings, wheels and the like, which detection takes for print of that size."""
    sure = [line.height for line in lines if line.score >= DOUBTFUL]
    highest = DRAWN_HEIGHT * median(sure) if sure else math.inf
    return [line for line in lines if line.score >= DOUBTFUL or line.height <= highest]


def _as_they_lie(spots: Sequence[Spot], reads: Sequence[Read]) -> list[Line]:
    """The lines where they stand on the picture, skewed as it is, in reading order."""
    places = [_placed(spot, read, 0.0, 0.0, 0.0) for spot, read in zip(spots, reads, strict=True)]
    return in_reading_order(without_strays(_without_drawn([line for line in places if _is_text(line)])))


def _skew(spots: Sequence[Spot]) -> float:
    """How far the lines of the page run downhill, in degrees."""
    angles = [
        math.degrees(math.atan2(spot.corners[1][1] - spot.corners[0][1], spot.corners[1][0] - spot.corners[0][0]))
        for spot in spots
        if spot.width > 6 * spot.height
    ]
    angle = median(angles) if len(angles) >= 3 else 0.0
    return angle if abs(angle) <= MAX_SKEW else 0.0


def _placed(spot: Spot, read: Read, angle: float, middle_x: float, middle_y: float) -> Line:
    """The line's upright box on the page without its skew."""
    turn = math.radians(-angle)
    from_x = float(spot.corners[:, 0].mean()) - middle_x
    from_y = float(spot.corners[:, 1].mean()) - middle_y
    x = middle_x + from_x * math.cos(turn) - from_y * math.sin(turn)
    y = middle_y + from_x * math.sin(turn) + from_y * math.cos(turn)
    half_width, half_height = spot.width / 2, spot.height / 2
    return Line(read.text, x - half_width, y - half_height, x + half_width, y + half_height, read.score)
