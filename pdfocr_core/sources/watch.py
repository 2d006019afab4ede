"""Looking for documents that the index does not hold yet, in bounded steps, without opening any of them.

A look changes nothing. What it remembers between steps is a hint: losing it only means looking from the start again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.settings import WatchSettings
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.overlap import local_path
from pdfocr_core.store import StoreOpener, is_url

__all__ = ["Look", "look_for_new"]

_BYTES_PER_PAGE = 50_000


@dataclass(frozen=True, slots=True)
class Look:
    """How far a look has come, and what it found.

    Attributes:
        source: which of the sources is being listed.
        after: the last key or local path listed of it.
        documents: new files and objects so far.
        pages: their pages, estimated from their sizes.
        digest: stands for the set of them, whatever their order.
        first: one of them, for people.
    """

    source: int = 0
    after: str = ""
    documents: int = 0
    pages: int = 0
    digest: str = ""
    first: str = ""

    def to_json(self) -> dict[str, str | int]:
        """The form in which it is remembered."""
        return asdict(self)


def look_for_new(
    known: Known,
    sources: Sequence[str],
    look: Look,
    settings: WatchSettings,
    *,
    opener: StoreOpener,
    exclude: str | None = None,
) -> Look:
    """Go on with a look until its end or the bounds of one step; at the end `source` is the number of sources.

    Prefixes, folders and patterns are left in the middle; a list is looked through whole.
    """
    deadline = time.monotonic() + settings.max_seconds
    keys = 0
    while look.source < len(sources):
        source = sources[look.source]
        divisible = _is_divisible(source)
        try:
            found_here = expand([source], exclude=exclude, is_known=known.holds, opener=opener, after=look.after)
            for found in found_here:
                keys += 1
                if not found.known and found.what is not What.IGNORED:
                    look = _with(look, found)
                if divisible and (keys >= settings.max_keys or time.monotonic() > deadline):
                    return replace(look, after=_place(found))
        except ConfigurationError as error:
            if error.code != "source_not_found":  # an inbox may be empty
                raise
        look = replace(look, source=look.source + 1, after="")
        if keys >= settings.max_keys or time.monotonic() > deadline:
            break
    return look


def _is_divisible(source: str) -> bool:
    if source.lower().endswith(".txt"):
        return False
    return (is_url(source) and not source.startswith("file://")) or not Path(local_path(source)).is_file()


def _place(found: Found) -> str:
    return found.url.partition("://")[2].partition("/")[2] if is_url(found.url) else found.url


def _with(look: Look, found: Found) -> Look:
    identity = int(found.document.document_id[:32], 16) ^ int(look.digest or "0", 16)
    return replace(
        look,
        documents=look.documents + 1,
        pages=look.pages + max(1, found.pages or found.bytes // _BYTES_PER_PAGE),
        digest=f"{identity:032x}",
        first=look.first or found.url,
    )
