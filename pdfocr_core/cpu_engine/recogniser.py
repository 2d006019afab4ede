"""RapidOCR, tamed: where text stands on a picture, and what one piece of it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from rapidocr import RapidOCR
from rapidocr.main import RapidOCRError

from pdfocr_core.cpu_engine.models import CpuModel
from pdfocr_core.cpu_engine.picture import Pixels

__all__ = ["Read", "Recogniser", "Spot"]

# A crop this many times wider than high is squeezed: recognition takes memory by the width.
MAX_CROP_ASPECT = 80
# One process, one thread: several processes on as many cores do more pages than threads that wait for each other.
# Batches are padded to their widest line, and lines to the width of a model's pictures in training, which costs more than it
# saves; the classifier only adds false flips.
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
    "Rec.rec_img_shape": [3, 48, 32],
}
# What PP-OCR's detectors were trained with.
NORMALISATION = {"Det.mean": [0.485, 0.456, 0.406], "Det.std": [0.229, 0.224, 0.225]}
# Lines of which the first recogniser is less sure are read by the second, whose answer counts unless it is clearly less
# sure. Of the clean print of born-digital pages that is one line in five, and the text is as good as the second's alone.
SURE = 0.97
CLEARLY_LESS = 0.05


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
    """The models, loaded once in a process and used by one thread.

    Args:
        model: the files of detection and recognition.
    """

    def __init__(self, model: CpuModel) -> None:
        cv2.setNumThreads(1)
        detection = {"Det.model_path": str(model.detector), **(NORMALISATION if model.as_trained else {})}
        self._engine = _rapid(model.recogniser, model.dictionary, detection)
        self._second = _rapid(model.second) if model.second else None

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
        reads = _read(self._engine, crops)
        if self._second is None:
            return reads
        doubtful = [place for place, read in enumerate(reads) if read.score < SURE]
        for place, again in zip(doubtful, _read(self._second, [crops[place] for place in doubtful]), strict=True):
            if again.score >= reads[place].score - CLEARLY_LESS:
                reads[place] = again
        return reads


def _rapid(recogniser: Path, dictionary: Path | None = None, more: Mapping[str, Any] | None = None) -> RapidOCR:
    files = {"Rec.model_path": str(recogniser), "Rec.rec_keys_path": str(dictionary) if dictionary else None}
    return RapidOCR(params={**PARAMETERS, **files, **(more or {})})


def _read(engine: RapidOCR, crops: Sequence[Pixels]) -> list[Read]:
    if not crops:
        return []
    result = engine.recognize_txt([_bounded(crop) for crop in crops])
    return [Read(str(text), float(score)) for text, score in zip(result.txts or (), result.scores, strict=True)]


def _bounded(crop: Pixels) -> Pixels:
    height, width = crop.shape[:2]
    if width <= MAX_CROP_ASPECT * height:
        return crop
    return np.asarray(cv2.resize(crop, (MAX_CROP_ASPECT * height, height)), dtype=np.uint8)
