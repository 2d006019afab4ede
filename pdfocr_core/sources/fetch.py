"""The bytes of a document as a local file, at exactly the version that was indexed."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pdfocr_core.documents import ARCHIVE_SEPARATOR, Document
from pdfocr_core.errors import ConfigurationError, DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archive_reader import ArchiveReader
from pdfocr_core.sources.opening import Stores, as_document_error, object_version
from pdfocr_core.store import StoreOpener, is_url, open_store

__all__ = ["FetchedDocument", "Fetcher"]

_OPEN_ARCHIVES = 16


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """A local file with the document's bytes; a temporary one is the caller's to remove."""

    path: Path
    temporary: bool


class Fetcher:
    """Brings documents to local files; to be used from any number of threads.

    Members that are asked for one after the other come from one pass over their archive.
    """

    def __init__(self, limits: ArchiveLimits | None = None, *, opener: StoreOpener = open_store) -> None:
        self._limits = limits or ArchiveLimits()
        self._stores = Stores(opener)
        self._lock = threading.Lock()
        self._readers: OrderedDict[tuple[str, str], ArchiveReader] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all archives."""
        with self._lock:
            readers = list(self._readers.values())
            self._readers.clear()
        for reader in readers:
            reader.close()

    def fetch(self, document: Document, directory: Path) -> FetchedDocument:
        """Bring one document; files of our own naming are made in `directory`.

        Raises:
            DocumentError: it is gone, is another one now, or cannot be read.
            ConfigurationError: the store refuses us, or `directory` cannot take the bytes.
        """
        if document.problem is not None:
            raise DocumentError(Reason(document.problem), document.detail)
        if document.member is not None:
            return FetchedDocument(self._member(document, directory), temporary=True)
        if is_url(document.url):
            return FetchedDocument(self._object(document, directory), temporary=True)
        self._check(document.url, document.version)
        if not os.access(document.url, os.R_OK):
            raise DocumentError(Reason.SOURCE_UNREADABLE, f"{document.url} may not be read.")
        return FetchedDocument(Path(document.url), temporary=False)

    def _check(self, url: str, version: str) -> None:
        now = self._stores.version(url)
        if now != version:
            raise DocumentError(Reason.SOURCE_CHANGED, f"{url} was indexed as {version} and is {now} now.")

    def _object(self, document: Document, directory: Path) -> Path:
        self._check(document.url, document.version)
        store, name = self._stores.locate(document.url)

        def chunks() -> Iterator[bytes]:
            try:
                yield from store.stream(name)
            except OSError as error:
                raise as_document_error(document.url, error) from error
            # The body may have been replaced between the look and the read, or during it.
            if object_version(store.head(name)) != document.version:
                raise DocumentError(Reason.SOURCE_CHANGED, f"{document.url} changed while it was read.")

        return _spool(chunks(), document, directory)

    def _member(self, document: Document, directory: Path) -> Path:
        url, name = self._split(document)
        version = document.version.rpartition("#")[0]
        with self._reader(url, version) as reader, reader.member(document.member or 0, name) as member:
            return _spool(_checked(member.chunks(), document), document, directory)

    def _split(self, document: Document) -> tuple[str, str]:
        """The archive's URL and the member's name; an archive's own name may hold the separator too."""
        ends = [place for place in range(len(document.url)) if document.url.startswith(ARCHIVE_SEPARATOR, place)]
        splits = [(document.url[:end], document.url[end + len(ARCHIVE_SEPARATOR) :]) for end in ends]
        likeliest = splits[0]
        for split in splits if len(splits) > 1 else ():
            try:
                now = self._stores.version(split[0])
            except DocumentError:
                continue
            if now == document.version.rpartition("#")[0]:
                return split
            likeliest = split
        return likeliest

    @contextmanager
    def _reader(self, url: str, version: str) -> Iterator[ArchiveReader]:
        """The reader of one archive, kept open for the next member; the longest unused is closed beyond a few."""
        with self._lock:
            reader = self._readers.pop((url, version), None) or ArchiveReader(url, version, self._stores, self._limits)
            self._readers[url, version] = reader
            reader.users += 1
            idle = [key for key, other in self._readers.items() if not other.users]
            surplus = [self._readers.pop(key) for key in idle[: max(0, len(self._readers) - _OPEN_ARCHIVES)]]
        for other in surplus:
            other.close()
        try:
            yield reader
        finally:
            with self._lock:
                reader.users -= 1


def _checked(chunks: Iterable[bytes], document: Document) -> Iterator[bytes]:
    count = 0
    for chunk in chunks:
        count += len(chunk)
        yield chunk
    if count != document.bytes:
        raise DocumentError(Reason.ARCHIVE_TRUNCATED, f"{count} of {document.bytes} bytes are there.")


def _spool(chunks: Iterable[bytes], document: Document, directory: Path) -> Path:
    path: Path | None = None
    try:
        try:
            handle, name = tempfile.mkstemp(prefix=f"{document.document_id[:16]}-", dir=directory)
        except OSError as error:
            raise _no_room(directory, error) from error
        path = Path(name)
        with os.fdopen(handle, "wb", buffering=0) as file:
            for chunk in chunks:
                _write(file.write, chunk, directory)
    except BaseException:
        if path is not None:
            path.unlink(missing_ok=True)
        raise
    return path


def _write(write: Callable[[memoryview], int], chunk: bytes, directory: Path) -> None:
    rest = memoryview(chunk)
    while rest:
        try:
            rest = rest[write(rest) :]
        except OSError as error:
            raise _no_room(directory, error) from error


def _no_room(directory: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The temporary folder {directory} does not take the document: {error.strerror or error}.",
        code="temporary_folder",
        remedy="Free some space there, or set TMPDIR to a folder on another disk.",
    )
