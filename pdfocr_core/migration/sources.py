"""Where the documents of an olmOCR workspace are now, and at which version."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pdfocr_core.documents import ARCHIVE_SEPARATOR, Document
from pdfocr_core.errors import ConfigurationError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archive_listing import list_archive
from pdfocr_core.sources.files import look_at
from pdfocr_core.sources.found import Found, nothing_known
from pdfocr_core.sources.judge import What, judge
from pdfocr_core.sources.opening import Stores, local_version, object_version
from pdfocr_core.store import StoreOpener, is_url

__all__ = ["Sources", "Standpoint"]

_AT_ONCE = 32  # answers of an object store that are waited for at the same time


@dataclass(frozen=True, slots=True)
class Standpoint:
    """One file or object of olmOCR's index as it is now.

    Attributes:
        url: what we call it.
        modified: when it was written last.
        documents: the documents that it is or holds, by URL; none when it is not there.
        mixed: members of an archive that olmOCR confuses with each other, by URL.
    """

    url: str
    modified: datetime | None = None
    documents: dict[str, Document] | None = None
    mixed: frozenset[str] = frozenset()

    @property
    def absent(self) -> bool:
        """Whether nothing is there."""
        return self.documents is None


class Sources:
    """Looks at what olmOCR's paths name, each once.

    Args:
        base: the folder that olmOCR was run in, for paths that are relative.
        opener: opens the sources' buckets.
        limits: of archives.
    """

    def __init__(self, base: str, opener: StoreOpener, limits: ArchiveLimits) -> None:
        self._base, self._stores, self._limits = base, Stores(opener), limits

    def url_of(self, path: str) -> str:
        """Our name for one of olmOCR's paths; a member keeps its archive's."""
        outer, separator, member = path.partition(ARCHIVE_SEPARATOR)
        if not is_url(outer):
            outer = os.path.abspath(os.path.join(self._base, outer))  # noqa: PTH100, PTH118 - links stay as they are
        return f"{outer}{separator}{member}"

    def look(self, paths: Iterable[str]) -> dict[str, Standpoint]:
        """What is at each of these paths, by our name for it.

        Raises:
            ConfigurationError: a store cannot be reached or refuses: that must not pass for absence.
        """
        urls = list(dict.fromkeys(self.url_of(path) for path in paths))
        # The first alone: a bucket is opened once, and what is wrong with it is told at once.
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(urls, [*map(self._look_at, urls[:1]), *pool.map(self._look_at, urls[1:])], strict=True))

    def _look_at(self, url: str) -> Standpoint:
        looked = self._object(url) if is_url(url) else self._file(url)
        if looked is None:
            return Standpoint(url)
        found, modified = looked
        if found.what is not What.ARCHIVE:
            return Standpoint(url, modified, {found.url: found.document})
        documents = {one.url: one for one in list_archive(found, self._stores, self._limits).documents}
        return Standpoint(url, modified, documents, _mixed(documents))

    def _file(self, url: str) -> tuple[Found, datetime] | None:
        try:
            info = Path(url).stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        except OSError as error:
            raise ConfigurationError(f"{url} cannot be looked at: {error.strerror or error}.") from error
        found = look_at(url, named=True, is_known=nothing_known)
        if found.problem is Reason.SOURCE_UNREADABLE:
            # What was read needs no reading, so it has the version that it will have when it can be read.
            found = Found(url, local_version(info), info.st_size, named=True)
        return found, datetime.fromtimestamp(info.st_mtime, UTC)

    def _object(self, url: str) -> tuple[Found, datetime] | None:
        try:
            store, key = self._stores.locate(url)
            head = store.head(key) if key else None
        except FileNotFoundError:
            return None
        except ConfigurationError as error:
            if error.code == "unsupported_source":
                return None
            raise
        if head is None:
            return None
        verdict = judge(key.rpartition("/")[2], None, named=True)
        what = What.ARCHIVE if verdict.what is What.ARCHIVE else What.DOCUMENT
        version = object_version(head)
        found = Found(url, version, head.size, what, named=True, pages=verdict.pages, problem=verdict.problem)
        return found, head.last_modified


def _mixed(documents: Iterable[str]) -> frozenset[str]:
    """Members whose file name another member has too: olmOCR unpacks both to the same file."""
    by_name: dict[str, list[str]] = {}
    for url in documents:
        by_name.setdefault(url.rpartition("/")[2].rpartition(ARCHIVE_SEPARATOR)[2], []).append(url)
    return frozenset(url for urls in by_name.values() if len(urls) > 1 for url in urls)
