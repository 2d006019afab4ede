"""Local files and folders: walking them, and telling what each file is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.sources.found import Found, IsKnown
from pdfocr_core.sources.judge import What, judge
from pdfocr_core.sources.names import Glob, is_archive_name, is_document_name, is_hidden
from pdfocr_core.sources.opening import as_document_error, local_version
from pdfocr_core.sources.sniff import HEAD_BYTES, sniff

__all__ = ["look_at", "walk"]


def look_at(path: str, *, named: bool, is_known: IsKnown) -> Found:
    """Tell what one local file is; anything wrong with it becomes its problem."""
    url = os.path.abspath(path)  # noqa: PTH100 - links stay as the user wrote them
    name = os.path.basename(url)  # noqa: PTH119 - names may hold anything
    try:
        info = Path(path).stat()
    except (OSError, ValueError) as error:
        return _troubled(url, named, as_document_error(url, error), "missing")
    version = local_version(info)
    if not stat.S_ISREG(info.st_mode):
        return _troubled(url, named, DocumentError(Reason.NOT_REGULAR, "Not a regular file."), version)
    if is_known(url, version):
        return Found(url, version, info.st_size, named=named, known=True)
    try:
        with Path(path).open("rb", buffering=0) as file:
            kind = sniff(file.read(HEAD_BYTES))
    except OSError as error:
        # Mending permissions leaves size and time as they are, so this version must be another one.
        return _troubled(url, named, as_document_error(url, error), f"{version}-unreadable", info.st_size)
    verdict = judge(name, kind, named=named)
    return Found(
        url, version, info.st_size, verdict.what, kind, named=named, pages=verdict.pages, problem=verdict.problem
    )


def _troubled(url: str, named: bool, error: DocumentError, version: str, size: int = 0) -> Found:
    """A file that cannot be looked at counts when its name is a document's."""
    counts = named or is_document_name(url) or is_archive_name(url)
    what = What.DOCUMENT if counts else What.IGNORED
    return Found(url, version, size, what, named=named, problem=error.reason, detail=error.detail)


class _Level(NamedTuple):
    """A folder that is being walked."""

    entries: Iterator[os.DirEntry[str]]
    relative: str
    depth: int
    taken: bool  # a pattern matched this folder or one above, so everything in it is meant
    after: str  # a path below this folder; what comes up to there was given before


def walk(
    folder: str, *, is_known: IsKnown, exclude: Path | None = None, glob: Glob | None = None, after: str = ""
) -> Iterator[Found]:
    """Everything in a folder and below, or all of it that matches a pattern, in the order of the names.

    Links to folders are not followed: they could lead in circles or out of what the user named. A folder that matches
    the pattern is taken whole.

    Args:
        folder: where to start.
        is_known: see `look_at`.
        exclude: a folder that is not entered: the workspace.
        glob: what paths below `folder` must match.
        after: a path below `folder`: go on behind it, whether it is still there or not.
    """
    excluded = _identity(exclude)
    levels = [_Level(_entries(folder, after), "", 1, glob is None, after)]
    while levels:
        level = levels[-1]
        entry = next(level.entries, None)
        if entry is None:
            levels.pop()
            continue
        relative = level.relative + entry.name
        taken = level.taken or (glob is not None and glob.regex.fullmatch(relative) is not None)
        if not _is_folder(entry):
            if taken:
                yield _file_or_link(entry, is_known)
            continue
        deeper = taken or glob is None or glob.depth is None or level.depth < glob.depth
        if not deeper or is_hidden(entry.name) or _is_same(entry, excluded):
            continue
        first, _, rest = level.after.partition("/")
        below = rest if entry.name == first else ""
        try:
            entries = _entries(entry.path, below)
        except OSError as error:
            trouble = as_document_error(entry.path, error)
            yield Found(os.path.abspath(entry.path), "unreadable", 0, problem=trouble.reason, detail=trouble.detail)  # noqa: PTH100
            continue
        levels.append(_Level(entries, f"{relative}/", level.depth + 1, taken, below))


def _entries(folder: str, after: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, from the entry that leads to `after` on."""
    first, _, rest = after.partition("/")
    with os.scandir(folder) as entries:
        left = [entry for entry in entries if entry.name > first or (rest and entry.name == first)]
    return iter(sorted(left, key=lambda entry: entry.name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _file_or_link(entry: os.DirEntry[str], is_known: IsKnown) -> Found:
    if entry.is_symlink() and Path(entry.path).is_dir():
        return Found(os.path.abspath(entry.path), "link", 0, What.IGNORED)  # noqa: PTH100
    return look_at(entry.path, named=False, is_known=is_known)


def _identity(path: str | Path | None) -> tuple[int, int] | None:
    if path is None:
        return None
    try:
        info = Path(path).stat()
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _is_same(entry: os.DirEntry[str], identity: tuple[int, int] | None) -> bool:
    # The inode comes with the listing; only when it fits is the second look paid for.
    return identity is not None and entry.inode() == identity[1] and _identity(entry.path) == identity
