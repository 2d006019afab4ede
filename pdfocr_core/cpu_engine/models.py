"""Which models the CPU engine reads with: those that come along, by name, or a directory of the user's own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pdfocr_core.errors import ConfigurationError

__all__ = ["BUNDLED", "DEFAULT_MODEL", "CpuModel", "choose_model"]

_OWN = Path(__file__).parent / "weights"
_TINY_DETECTOR = _OWN / "PP-OCRv6_det_tiny.onnx"
_TINY_RECOGNISER = _OWN / "PP-OCRv6_rec_tiny.onnx"
_SMALL_DETECTOR = "PP-OCRv6_det_small.onnx"
_SMALL_RECOGNISER = "PP-OCRv6_rec_small.onnx"

BUNDLED = ("accurate", "balanced", "fast")
DEFAULT_MODEL = "balanced"
_LAYOUT = (
    "It holds rec.onnx, dict.txt (a character a line) unless rec.onnx has its own, and det.onnx if detection differs."
)
# How ONNX writes the name of the metadata in which PP-OCR models carry their characters: a field, its length, the name.
_HAS_CHARACTERS = b"\x0a\x09character"


@dataclass(frozen=True, slots=True)
class CpuModel:
    """The files to read with.

    Attributes:
        name: as the user chose it.
        detector: finds the lines.
        recogniser: reads them.
        second: reads those again of which the recogniser is not sure; None: nobody does.
        dictionary: the recogniser's characters, where they are not in its own file.
        identity: what tells its text from another model's.
        as_trained: whether pictures are normalised for detection as in PP-OCR's training; RapidOCR does it another way, which
            finds more with the small detector and less with the tiny one.
    """

    name: str
    detector: Path
    recogniser: Path
    identity: str
    as_trained: bool = True
    second: Path | None = None
    dictionary: Path | None = None


def choose_model(choice: str) -> CpuModel:
    """The model of that name, or of that directory.

    Raises:
        ConfigurationError: there is none, or files are missing.
    """
    if choice in BUNDLED:
        return _bundled(choice)
    folder = Path(choice).expanduser()
    if not folder.is_dir():
        raise ConfigurationError(
            f"There is no CPU model {choice!r}.",
            remedy=f"Choose {', '.join(BUNDLED)} or a directory (--cpu-model, PDFOCR_CPU_MODEL). {_LAYOUT}",
        )
    return _of_directory(choice, folder)


def _bundled(name: str) -> CpuModel:
    if name == "fast":
        model = CpuModel(name, _TINY_DETECTOR, _TINY_RECOGNISER, "fast-1")
    elif name == "balanced":
        model = CpuModel(name, _TINY_DETECTOR, _TINY_RECOGNISER, "balanced-1", second=_small(_SMALL_RECOGNISER))
    else:
        model = CpuModel(name, _small(_SMALL_DETECTOR), _small(_SMALL_RECOGNISER), "accurate-1", as_trained=False)
    for path in (model.detector, model.recogniser, model.second):
        if path is not None and not path.is_file():
            raise ConfigurationError(
                f"The CPU model {name!r} lacks its file {path}.",
                remedy="Install pdfocr and rapidocr again, or choose another model with --cpu-model.",
            )
    return model


def _small(name: str) -> Path:
    """A file of RapidOCR's own, found without importing it."""
    found = find_spec("rapidocr")
    places = found.submodule_search_locations if found else None
    if not places:
        raise ConfigurationError("RapidOCR is not installed.", remedy="Install it: pip install 'rapidocr>=3.10,<4'.")
    return Path(places[0]) / "models" / name


def _of_directory(choice: str, folder: Path) -> CpuModel:
    recogniser, detector = folder / "rec.onnx", folder / "det.onnx"
    dictionary: Path | None = folder / "dict.txt"
    if not recogniser.is_file():
        raise ConfigurationError(f"The CPU model's directory {folder} has no rec.onnx.", remedy=_LAYOUT)
    if dictionary is not None and not dictionary.is_file():
        if _HAS_CHARACTERS not in recogniser.read_bytes():
            raise ConfigurationError(
                f"The CPU model's directory {folder} has no dict.txt, and rec.onnx holds no characters.", remedy=_LAYOUT
            )
        dictionary = None
    if not detector.is_file():
        detector = _TINY_DETECTOR  # lines look alike in most languages
    files = tuple(path for path in (detector, recogniser, dictionary) if path is not None)
    identity = _digest(files, tuple(path.stat().st_mtime_ns for path in files))
    return CpuModel(choice, detector, recogniser, f"{folder.resolve().name}-{identity}", dictionary=dictionary)


@cache
def _digest(files: tuple[Path, ...], _changed: tuple[int, ...]) -> str:
    """16 hex digits over the files' bytes; a file that has changed since is read again."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
