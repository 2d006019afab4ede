"""From documents to page groups, the unit of work."""

from __future__ import annotations

from collections.abc import Iterable

from pdfocr_core.documents import Document, PageGroup

__all__ = ["group_documents"]


def group_documents(documents: Iterable[Document], pages_per_group: int) -> list[PageGroup]:
    """Put documents into groups of at most `pages_per_group` pages; a larger document is a group alone.

    Documents stand in the order of their names, members of an archive in the archive's order and next to each other,
    so that an archive is read from its start to its end. The same documents give the same groups in whatever order
    they come. A document that cannot be read counts as one page, or millions of them would be one group.
    """
    groups: list[PageGroup] = []
    current: list[Document] = []
    pages = 0
    for document in sorted(documents, key=_place):
        weight = max(document.pages, 1)
        if current and pages + weight > pages_per_group:
            groups.append(PageGroup(tuple(current)))
            current, pages = [], 0
        current.append(document)
        pages += weight
    if current:
        groups.append(PageGroup(tuple(current)))
    return groups


def _place(document: Document) -> tuple[str, int, str, str]:
    member = -1 if document.member is None else document.member
    return document.archive_url or document.url, member, document.url, document.version
