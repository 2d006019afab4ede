"""Whether several sources may name one file or object more than once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from urllib.parse import unquote

from pdfocr_core.sources.identities import IDENTITY_BYTES
from pdfocr_core.sources.names import split_glob
from pdfocr_core.store import is_url

__all__ = ["identity_of", "local_path", "may_overlap"]


def identity_of(url: str) -> bytes:
    """What stands for a URL among all that were seen."""
    return sha256(url.encode("utf-8", "surrogateescape")).digest()[:IDENTITY_BYTES]


def local_path(source: str) -> str:
    """The path that the user means: a plain one, one below `~`, or a `file://` URL."""
    return unquote(source.removeprefix("file://")) if source.startswith("file://") else os.path.expanduser(source)  # noqa: PTH111


def may_overlap(sources: Sequence[str]) -> bool:
    """Told by the sources' names alone; a list may name anything."""
    if any(source.lower().endswith(".txt") for source in sources):
        return True
    # With a slash at its end, a folder sorts right before what is below it.
    bases = sorted(map(_base, sources))
    return any(later.startswith(earlier) for earlier, later in pairwise(bases))


def _base(source: str) -> str:
    """The folder or prefix below which everything is that the source names."""
    if is_url(source) and not source.startswith("file://"):
        scheme, _, rest = source.partition("://")
        glob = split_glob(rest)
        return f"{scheme}://{(glob.base if glob else rest).rstrip('/')}/"
    path = local_path(source)
    if os.path.lexists(path):
        return f"{os.path.abspath(path).rstrip('/')}/"  # noqa: PTH100 - links stay as the user wrote them
    glob = split_glob(path)
    return f"{os.path.abspath(glob.base if glob else path).rstrip('/')}/"  # noqa: PTH100
