"""The index of a collection: lists the sources, drops what is known, groups the rest, appends one batch.

Manifests are written before the batch that names their groups: a death in between leaves files that nobody refers to,
and the next indexing writes the same ones again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pdfocr_core.documents import ARCHIVE_SEPARATOR, Document, PageGroup, document_id_of
from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.archive_listing import list_archive
from pdfocr_core.sources.counting import PageCounter, count_pages
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.grouping import group_documents
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.opening import StoreOpener, Stores
from pdfocr_core.store import open_store
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["IndexReport", "update_index"]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one indexing found.

    Attributes:
        documents: documents in the sources now, old and new.
        new_documents: those that were not in the index at this version.
        groups: the new groups.
        ignored: files and members that are no documents.
        bytes: size of the new documents.
        seconds: how long it took.
    """

    documents: int
    new_documents: int
    groups: list[PageGroup]
    ignored: int
    bytes: int
    seconds: float


def update_index(
    workspace: Workspace,
    sources: Sequence[str],
    settings: IndexSettings,
    counter: PageCounter | None = None,
    *,
    opener: StoreOpener = open_store,
) -> IndexReport:
    """Bring the index up to the sources; without anything new nothing is written.

    Args:
        workspace: keeps the index and the manifests.
        sources: see `expand`.
        settings: the size of groups and the limits of archives.
        counter: counts the pages of local files; it is not called when `settings.count_pages` is off.
        opener: opens the sources' buckets.

    Raises:
        ConfigurationError: a source is not there or may not be read; nothing was written.
    """
    started = time.monotonic()
    known = _Known(workspace)
    listing = _Listing(known, settings, Stores(opener))
    for found in expand(sources, exclude=workspace.url, is_known=known.holds, opener=opener):
        listing.add(found)
    fresh = count_pages(listing.fresh, counter if settings.count_pages else None)
    groups = group_documents(fresh, settings.pages_per_group)
    for group in groups:
        workspace.write_manifest(group)
    if groups:
        workspace.append_index(_rows(groups), _batch_name(groups))
    return IndexReport(
        documents=listing.known_documents + len(fresh),
        new_documents=len(fresh),
        groups=groups,
        ignored=listing.ignored,
        bytes=sum(document.bytes for document in fresh),
        seconds=time.monotonic() - started,
    )


class _Known:
    """What the index holds, by half of each identity: 16 bytes are enough to be unique."""

    def __init__(self, workspace: Workspace) -> None:
        self._documents: set[bytes] = set()
        self._archives: dict[bytes, int] = {}
        for row in workspace.read_index():
            self._documents.add(_short(row.document_id))
            if row.member is not None:
                self._add_member(row)

    def _add_member(self, row: IndexRow) -> None:
        # An archive's own name may hold the separator, so every place where the name can end is noted; the version
        # goes into the identity, so a wrong one stands for no file.
        version = row.version.rpartition("#")[0]
        end = row.url.find(ARCHIVE_SEPARATOR)
        while end >= 0:
            archive = _short(document_id_of(row.url[:end], version))
            self._archives[archive] = self._archives.get(archive, 0) + 1
            end = row.url.find(ARCHIVE_SEPARATOR, end + 1)

    def holds(self, url: str, version: str) -> bool:
        """Whether this file, or this archive with its members, is indexed at this version."""
        identity = _short(document_id_of(url, version))
        return identity in self._documents or identity in self._archives

    def holds_document(self, document: Document) -> bool:
        """Whether this very document is indexed."""
        return _short(document.document_id) in self._documents

    def count(self, found: Found) -> int:
        """How many documents of the index a known file or archive stands for."""
        identity = _short(document_id_of(found.url, found.version))
        return (identity in self._documents) + self._archives.get(identity, 0)


class _Listing:
    """What the sources hold, sorted into known, new and ignored."""

    def __init__(self, known: _Known, settings: IndexSettings, stores: Stores) -> None:
        self._known = known
        self._settings = settings
        self._stores = stores
        self.fresh: list[Document] = []
        self.known_documents = 0
        self.ignored = 0

    def add(self, found: Found) -> None:
        """Take one file or object in."""
        if found.known:
            self.known_documents += self._known.count(found)
        elif found.what is What.IGNORED:
            self.ignored += 1
        elif found.what is What.ARCHIVE:
            contents = list_archive(found, self._stores, self._settings.archive_limits)
            self.ignored += contents.ignored
            for document in contents.documents:
                self._take(document)
        else:
            self._take(found.document)

    def _take(self, document: Document) -> None:
        if self._known.holds_document(document):
            self.known_documents += 1
        else:
            self.fresh.append(document)


def _rows(groups: Sequence[PageGroup]) -> Iterator[IndexRow]:
    for group in groups:
        for document in group.documents:
            yield IndexRow(
                group.key,
                document.document_id,
                document.url,
                document.version,
                document.bytes,
                document.pages,
                document.member,
                document.problem,
            )


def _batch_name(groups: Sequence[PageGroup]) -> str:
    """Sorts by time; the hash keeps two writers of one moment apart."""
    content = hashlib.sha256("".join(group.key for group in groups).encode()).hexdigest()
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-{content[:12]}"


def _short(document_id: str) -> bytes:
    return bytes.fromhex(document_id[:32])
