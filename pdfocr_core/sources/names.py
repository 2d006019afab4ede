"""What names tell: which look like documents, which are litter, which point out of an archive, which match a glob."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from pdfocr_core.errors import Reason

__all__ = [
    "Glob",
    "is_archive_name",
    "is_document_name",
    "is_hidden",
    "is_litter",
    "is_picture_name",
    "is_tiff_name",
    "is_unsupported_picture_name",
    "name_problem",
    "split_glob",
]

_TIFF = (".tif", ".tiff")
_PICTURES = (".png", ".jpg", ".jpeg", ".jpe", ".webp", ".gif", *_TIFF)
_UNSUPPORTED = (".heic", ".heif", ".avif", ".jxl", ".jp2", ".bmp", ".svg")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip")
_LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
_MAGIC = re.compile(r"[*?\[]")
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")


def is_document_name(name: str) -> bool:
    """Whether the name is that of a PDF or a picture, read or not."""
    return name.lower().endswith((".pdf", *_PICTURES, *_UNSUPPORTED))


def is_picture_name(name: str) -> bool:
    """Whether the name is that of a picture that we read."""
    return name.lower().endswith(_PICTURES)


def is_tiff_name(name: str) -> bool:
    """Whether the name is that of a TIFF, the one kind of picture that often has many pages."""
    return name.lower().endswith(_TIFF)


def is_unsupported_picture_name(name: str) -> bool:
    """Whether the name is that of a picture that we do not read."""
    return name.lower().endswith(_UNSUPPORTED)


def is_archive_name(name: str) -> bool:
    """Whether the name is that of an archive that we open."""
    return name.lower().endswith(_ARCHIVES)


def is_hidden(name: str) -> bool:
    """Whether a folder of this name is passed by."""
    return name.startswith(".") or name == "__MACOSX"


def is_litter(path: str) -> bool:
    """Whether a file is only what an operating system leaves behind, whatever its ending."""
    *folders, name = path.split("/")
    return name.startswith("._") or name in _LITTER or "__MACOSX" in folders


def name_problem(name: str) -> Reason | None:
    """Why a member's name cannot be trusted; None for a plain relative name."""
    if not name or name.startswith("/") or "\\" in name or "\0" in name or _DRIVE.match(name):
        return Reason.UNSAFE_NAME
    return Reason.UNSAFE_NAME if ".." in name.split("/") else None


class Glob(NamedTuple):
    """A pattern: the literal folder to start in, and what the path below it must match.

    Attributes:
        base: the folder, without a slash at the end; empty for the current folder or the store's root.
        regex: matches whole paths relative to `base`.
        depth: how many segments a match can have; None when `**` lets it have any number.
    """

    base: str
    regex: re.Pattern[str]
    depth: int | None


def split_glob(pattern: str) -> Glob | None:
    """Take a pattern apart; None when it has none of `*`, `?`, `[`."""
    first = _MAGIC.search(pattern)
    if first is None:
        return None
    cut = pattern.rfind("/", 0, first.start())
    base = pattern[:cut] if cut > 0 else pattern[: cut + 1]
    segments = [segment for segment in pattern[cut + 1 :].split("/") if segment]
    depth = None if "**" in segments else len(segments)
    return Glob(base, _regex(tuple(segments)), depth)


@cache
def _regex(segments: tuple[str, ...]) -> re.Pattern[str]:
    parts: list[str] = []
    for position, segment in enumerate(segments):
        last = position == len(segments) - 1
        if segment == "**":
            parts.append(".*" if last else "(?:[^/]*/)*")
        else:
            parts.append(_segment(segment) + ("" if last else "/"))
    return re.compile("".join(parts), re.DOTALL)


def _segment(segment: str) -> str:
    out: list[str] = []
    position = 0
    while position < len(segment):
        character = segment[position]
        position += 1
        if character == "*":
            out.append("[^/]*")
        elif character == "?":
            out.append("[^/]")
        elif (
            character == "["
            and (end := segment.find("]", position + 1 + (segment[position : position + 1] == "!"))) > 0
        ):
            out.append(_class(segment[position:end]))
            position = end + 1
        else:
            out.append(re.escape(character))
    return "".join(out)


def _class(inside: str) -> str:
    negated = inside.startswith("!")
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[negated:])
    try:
        re.compile(f"[{body}]")
    except re.error:  # A backward range such as [z-a] matches nothing, as in a shell.
        return "(?!)"
    return f"[^/{body}]" if negated else f"[{body}]"
