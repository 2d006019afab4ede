"""Documents and page groups, and the identities that everything else hangs on.

Identities are a public contract: change how one is computed and every collection would be read again.

- `document_id`: SHA-256 (hex) of the source URL and the version; known before a byte is read.
- `content_id`: SHA-256 (hex) of the bytes; known after reading.
- group key: SHA-1 (hex) of the sorted document ids; the Dagster partition key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Document",
    "PageGroup",
    "document_id_of",
    "group_key_of",
    "imported_engine",
    "is_imported",
    "shown_url",
]

ARCHIVE_SEPARATOR = "::"


def document_id_of(url: str, version: str) -> str:
    """The identity of one source at one version (64 hex digits)."""
    return hashlib.sha256(f"{url}\0{version}".encode("utf-8", "surrogateescape")).hexdigest()


def shown_url(url: str) -> str:
    """The URL as records hold it: bytes of a name that are no text, which JSON cannot hold, as `%E9`."""
    return "".join(f"%{ord(one) - 0xDC00:02X}" if "\udc80" <= one <= "\udcff" else one for one in url)


def group_key_of(document_ids: Iterable[str]) -> str:
    """The identity of a page group (40 hex digits): the same documents give the same key in any order."""
    return hashlib.sha1("\n".join(sorted(document_ids)).encode(), usedforsecurity=False).hexdigest()


def imported_engine(name: str) -> str:
    """The `engine_id` of results that another program read: its name, since what makes up ours is not known of it."""
    return f"imported:{name}"


def is_imported(engine_id: str) -> bool:
    """Whether results were taken over from another program."""
    return engine_id.startswith("imported:")


@dataclass(frozen=True, slots=True)
class Document:
    """One PDF, picture or archive member at one version.

    Attributes:
        url: absolute local path or `s3://…` URL; members of archives as `archive::member`, made unique by the index.
        version: what the store says without reading the bytes (ETag, or size and modification time); for members the
            archive's version and the member's index.
        bytes: size of the source in bytes; 0 when it is not known.
        pages: number of pages, exact or estimated; 0 when it is not known.
        member: index of the member inside its archive, counted over all entries; None for plain files.
        problem: the reason code of a document that is known at indexing to be unreadable; it is never opened.
        detail: what exactly was found, for people.
    """

    url: str
    version: str
    bytes: int = 0
    pages: int = 0
    member: int | None = None
    problem: str | None = None
    detail: str = ""

    @property
    def document_id(self) -> str:
        """See the module's head."""
        return document_id_of(self.url, self.version)

    @property
    def archive_url(self) -> str | None:
        """The URL of the archive that holds this document, if one does."""
        return self.url.split(ARCHIVE_SEPARATOR, 1)[0] if self.member is not None else None

    def to_json(self) -> dict[str, Any]:
        """The form in which a manifest holds it."""
        return {"document_id": self.document_id, **{name: getattr(self, name) for name in self.__slots__}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Document:
        """The inverse of `to_json`."""
        return cls(**{name: value for name, value in data.items() if name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class PageGroup:
    """The unit of work and the Dagster partition: whole documents of about `pages_per_group` pages together."""

    documents: tuple[Document, ...]
    key: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", group_key_of(document.document_id for document in self.documents))

    def without(self, document_ids: Collection[str]) -> PageGroup:
        """The same group, under the same key, less some documents."""
        left = PageGroup(tuple(document for document in self.documents if document.document_id not in document_ids))
        object.__setattr__(left, "key", self.key)
        return left

    @property
    def pages(self) -> int:
        """Pages of the group as far as they are known."""
        return sum(document.pages for document in self.documents)
