"""The index of a collection: lists the sources, drops what is known, groups the rest, appends it in batches.

Manifests are written before the batch that names their groups: a death in between leaves files that nobody refers to,
and the next indexing writes the same ones again. A batch is appended as soon as it is large, so memory does not follow the
size of the sources, and an indexing that dies goes on behind its last batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.marks import Mark, MarkKind
from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.archive_listing import list_archive
from pdfocr_core.sources.counting import PageCounter, count_pages
from pdfocr_core.sources.found import Found
from pdfocr_core.sources.grouping import group_documents
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.opening import Stores
from pdfocr_core.sources.presence import Presence
from pdfocr_core.store import StoreOpener, open_store
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["IndexReport", "index_rows", "update_index"]

_BATCH_DOCUMENTS = 50_000


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one indexing found.

    Attributes:
        documents: documents in the sources now, old and new.
        new_documents: those that were not in the index at this version.
        groups: the keys of the new groups.
        ignored: files and members that are no documents.
        bytes: size of the new documents.
        gone: documents of the index whose source is not there any more, found by this indexing.
        returned: documents that were gone or superseded and are there again at that version.
        seconds: how long it took.
    """

    documents: int
    new_documents: int
    groups: list[str]
    ignored: int
    bytes: int
    gone: int
    returned: list[Mark]
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
        ConfigurationError: a source is not there or may not be read; nothing was written, unless there were very many
            documents before it.
    """
    started = time.monotonic()
    known = Known()
    known.refresh(workspace)
    presence = Presence(workspace)
    listing = _Listing(known, settings, Stores(opener), presence)
    found_in = expand(
        sources,
        exclude=workspace.url,
        is_known=known.holds,
        opener=opener,
        missing_ok=not settings.require_sources,
        on_listed=presence.listed,
    )
    writer = _Writer(workspace, known, settings, counter if settings.count_pages else None)
    for found in found_in:
        listing.add(found)
        if len(listing.fresh) >= _BATCH_DOCUMENTS:
            writer.write(listing.take())
    writer.write(listing.take())
    known.clear()  # what follows takes as much memory
    marks = presence.marks()
    if marks and not workspace.marks.append(marks, workspace.next_batch()):
        marks = []  # another indexing was faster; the next one sees what is true then
    return IndexReport(
        documents=listing.known_documents + writer.documents,
        new_documents=writer.documents,
        groups=writer.groups,
        ignored=listing.ignored,
        bytes=writer.bytes,
        gone=sum(mark.kind is MarkKind.GONE for mark in marks),
        returned=[mark for mark in marks if mark.kind is MarkKind.LIVE],
        seconds=time.monotonic() - started,
    )


class _Writer:
    """Turns new documents into groups and batches, and counts them."""

    def __init__(
        self, workspace: Workspace, known: Known, settings: IndexSettings, counter: PageCounter | None
    ) -> None:
        self._workspace, self._known, self._settings, self._counter = workspace, known, settings, counter
        self.groups: list[str] = []
        self.documents = self.bytes = 0

    def write(self, fresh: Sequence[Document]) -> None:
        """Append one batch.

        Of two indexings at the same time one wins the batch's number; the other drops what that batch holds and tries
        the next number, so no document is ever in two groups.
        """
        fresh = count_pages(fresh, self._counter)
        while fresh:
            groups = group_documents(fresh, self._settings.pages_per_group)
            for group in groups:
                self._workspace.write_manifest(group)
            name = self._known.next_batch
            if self._workspace.append_index(index_rows(groups), name):
                # A listing names nothing twice, so what is new need not be remembered beside what was there before.
                self._known.pass_by(f"index/{name}.csv.zst")
                self.groups += [group.key for group in groups]
                self.documents += len(fresh)
                self.bytes += sum(document.bytes for document in fresh)
                return
            self._known.refresh(self._workspace)
            fresh = [document for document in fresh if not self._known.holds_document(document)]


class _Listing:
    """What the sources hold, sorted into known, new and ignored."""

    def __init__(self, known: Known, settings: IndexSettings, stores: Stores, presence: Presence) -> None:
        self._presence = presence
        self._known = known
        self._settings = settings
        self._stores = stores
        self.fresh: list[Document] = []
        self.known_documents = 0
        self.ignored = 0

    def add(self, found: Found) -> None:
        """Take one file or object in."""
        self._presence.saw(found)
        if found.known:
            self.known_documents += self._known.count(found)
        elif found.what is What.IGNORED:
            self.ignored += 1
        elif found.what is What.ARCHIVE:
            contents = list_archive(found, self._stores, self._settings.archive_limits)
            self.ignored += contents.ignored
            whole = not any(document.url == found.url for document in contents.documents)
            self._presence.saw_archive(found, [one.document_id for one in contents.documents], whole=whole)
            for document in contents.documents:
                self._take(document)
        else:
            self._take(found.document)

    def take(self) -> list[Document]:
        """Hand over the new documents so far."""
        fresh, self.fresh = self.fresh, []
        return fresh

    def _take(self, document: Document) -> None:
        if self._known.holds_document(document):
            self.known_documents += 1
        else:
            self.fresh.append(document)


def index_rows(groups: Sequence[PageGroup]) -> Iterator[IndexRow]:
    """What the index says of these groups."""
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
