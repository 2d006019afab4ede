"""That each file or object is taken once, whatever number of sources names it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from urllib.parse import unquote

from pdfocr_core.sources.identities import IDENTITY_BYTES, Identities
from pdfocr_core.sources.names import split_glob
from pdfocr_core.sources.presence import Extent
from pdfocr_core.store import is_url

__all__ = ["Once", "local_path", "may_overlap"]

_MOST_LISTED = 16  # each name is held against each of them


class Once:
    """Tells what was named before, in 10 bytes for each name, and in none where that cannot be or where names tell.

    A store's listing is complete, so that it has given an object is told by the object's key. Folders are not taken so:
    what is behind a link lies in them by its name and is not listed.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self._seen = Identities() if may_overlap(sources) else None
        self._listed: list[Extent] = []
        self._listing: Extent | None = None

    def begins(self, extent: Extent | None) -> None:
        """What follows comes from this listing of a store, or None: from one whose names do not tell."""
        self._listing = extent if len(self._listed) < _MOST_LISTED else None

    def ended(self) -> None:
        """The listing came to its end."""
        if self._listing is not None:
            self._listed.append(self._listing)
        self._listing = None

    def is_new(self, url: str) -> bool:
        """Whether this is the first time that it is named; asked once for each."""
        if self._seen is None:
            return True
        if any(extent.covers(url) for extent in self._listed):
            return False
        identity = sha256(url.encode("utf-8", "surrogateescape")).digest()[:IDENTITY_BYTES]
        if self._listing is None or not self._listing.covers(url):
            return self._seen.add(identity)
        return identity not in self._seen


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
