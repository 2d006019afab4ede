"""Variables in the environment that look like ours, misspelt: they would be passed over in silence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from pydantic import BaseModel

from pdfocr_core import settings

_PREFIX = "PDFOCR_"
# Read where they are used, not as a field of settings.
_OTHERS = (
    *("WORKSPACE", "SOURCES", "PASSWORDS", "RENDER_WORKERS", "SERVER_API_KEY", "GROUPS_PER_RUN"),
    *("CHROMIUM", "BENCH_DATA", "BENCH_CANDIDATES"),
)
_OF_STORES = ("WORKSPACE_", "SOURCES_")
# So near that it is meant; variables of other programs are none of our business.
_LIKENESS = 0.85


def misspelt(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each name of a variable that nobody reads and that is nearly one that is read, with that one."""
    known = {_PREFIX + name for name in _known()}
    for name in sorted(set(names) - known):
        if name.startswith(_PREFIX):
            nearest = get_close_matches(name, known, n=1, cutoff=_LIKENESS)
            if nearest:
                yield name, nearest[0]


def _known() -> Iterator[str]:
    yield from _OTHERS
    for kind in vars(settings).values():
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            fields = [name.upper() for name in kind.model_fields]
            prefixes = _OF_STORES if kind is settings.StorageSettings else ("",)
            prefixes = ("WATCH_",) if kind is settings.WatchSettings else prefixes
            yield from (prefix + name for prefix in prefixes for name in fields)
