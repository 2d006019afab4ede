"""RapidOCR, tamed: where text stands on a picture, and what one piece of it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from rapidocr import RapidOCR
from rapidocr.main import RapidOCRError

from pdfocr_core.cpu_engine.picture import Pixels

__all__ = ["Read", "Recogniser", "Spot"]

# A crop this many times wider than high is squeezed: recognition takes memory by the width.
MAX_CROP_ASPECT = 80
# One process, one thread: several processes on as many cores do more pages than threads that wait for each other.
# Batches are padded to their widest line, which costs more than it saves; the classifier only adds false flips.
PARAMETERS = {
    "Global.log_level": "error",
    "Global.use_cls": False,
    "Global.use_vertical_padding": False,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": 1600,
    "Det.max_candidates": 5000,
    "Rec.rec_batch_num": 1,
}


@dataclass(frozen=True, slots=True)
class Spot:
    """A place with text.

    Attributes:
        corners: top left, top right, bottom right, bottom left as the text box lies on the picture.
        crop: the box cut out and set straight; one that is clearly higher than wide was turned counter-clockwise.
        width: length of its upper edge.
        height: length of its left edge.
    """

    corners: NDArray[np.float32]
    crop: Pixels
    width: float
    height: float

    @property
    def is_tall(self) -> bool:
        """Whether the box stands on its side; the crop is turned then."""
        return self.height > 1.5 * self.width

    @property
    def is_wide(self) -> bool:
        """Whether the box is clearly a line from left to right."""
        return self.width > 1.5 * self.height

    @property
    def length(self) -> float:
        """The longer edge."""
        return max(self.width, self.height)


@dataclass(frozen=True, slots=True)
class Read:
    """What a crop says, and how sure that is, 0 to 1."""

    text: str
    score: float


class Recogniser:
    """The two models, loaded once in a process and used by one thread."""

    def __init__(self) -> None:
        cv2.setNumThreads(1)
        self._engine = RapidOCR(params=PARAMETERS)

    def find(self, pixels: Pixels) -> list[Spot]:
        """Every place where text seems to stand."""
        try:
            crops, found = self._engine.detect_and_crop(pixels, {})
        except RapidOCRError:
            return []  # its way to say that there is none
        corners = [np.asarray(box, dtype=np.float32) for box in np.asarray(found.boxes)]
        return [
            Spot(
                box,
                np.ascontiguousarray(crop),
                float(np.linalg.norm(box[0] - box[1])),
                float(np.linalg.norm(box[0] - box[3])),
            )
            for box, crop in zip(corners, crops, strict=True)
            if crop.shape[0] > 1 and crop.shape[1] > 1
        ]

    def read(self, crops: Sequence[Pixels]) -> list[Read]:
        """Read crops whose text runs from left to right."""
        if not crops:
            return []
        result = self._engine.recognize_txt([_bounded(crop) for crop in crops])
        return [Read(str(text), float(score)) for text, score in zip(result.txts or (), result.scores, strict=True)]


def _bounded(crop: Pixels) -> Pixels:
    height, width = crop.shape[:2]
    if width <= MAX_CROP_ASPECT * height:
        return crop
    return np.asarray(cv2.resize(crop, (MAX_CROP_ASPECT * height, height)), dtype=np.uint8)
