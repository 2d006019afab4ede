"""The index of a collection: lists the sources, drops what is known, groups the rest, appends one batch.

Manifests are written before the batch that names their groups: a death in between leaves files that nobody refers to,
and the next indexing writes the same ones again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.archive_listing import list_archive
from pdfocr_core.sources.counting import PageCounter, count_pages
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.grouping import group_documents
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.opening import Stores
from pdfocr_core.store import StoreOpener, open_store
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
    known = Known()
    known.refresh(workspace)
    listing = _Listing(known, settings, Stores(opener))
    found_in = expand(
        sources, exclude=workspace.url, is_known=known.holds, opener=opener, missing_ok=not settings.require_sources
    )
    for found in found_in:
        listing.add(found)
    fresh = count_pages(listing.fresh, counter if settings.count_pages else None)
    while True:
        groups = group_documents(fresh, settings.pages_per_group)
        for group in groups:
            workspace.write_manifest(group)
        # Of two indexings at the same time one wins the batch's number; the other drops what that batch holds and
        # tries the next number, so no document is ever in two groups.
        if not groups or workspace.append_index(_rows(groups), known.next_batch):
            break
        known.refresh(workspace)
        fresh = [document for document in fresh if not known.holds_document(document)]
    return IndexReport(
        documents=listing.known_documents + len(fresh),
        new_documents=len(fresh),
        groups=groups,
        ignored=listing.ignored,
        bytes=sum(document.bytes for document in fresh),
        seconds=time.monotonic() - started,
    )


class _Listing:
    """What the sources hold, sorted into known, new and ignored."""

    def __init__(self, known: Known, settings: IndexSettings, stores: Stores) -> None:
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
