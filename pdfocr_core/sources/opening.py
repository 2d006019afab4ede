"""Bytes of local files and of objects behind one door, always at a known version."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from pdfocr_core.errors import ConfigurationError, DocumentError, Reason
from pdfocr_core.store import Store, StoredObject, StoreOpener, is_url, open_store
from pdfocr_core.store_errors import KeyRefused, ObjectChanged

__all__ = ["Opened", "Stores", "as_document_error", "local_version", "object_version"]

_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "memory")
_BLOCK = 4 * 1024**2


def local_version(info: os.stat_result) -> str:
    """The version of a local file: size and modification time."""
    return f"{info.st_size}-{info.st_mtime_ns}"


def object_version(stored: StoredObject) -> str:
    """The version of an object: ETag and size, or the time where a store has no ETags."""
    tag = (stored.e_tag or stored.last_modified.isoformat()).strip('"')
    return f"{tag}-{stored.size}"


class Opened(NamedTuple):
    """Bytes that can be read and sought, and the version they have."""

    stream: BinaryIO
    version: str
    size: int


class Stores:
    """Opens each bucket once, and finds objects and files by URL."""

    def __init__(self, opener: StoreOpener = open_store) -> None:
        self._opener = opener
        self._stores: dict[str, Store] = {}

    def locate(self, url: str) -> tuple[Store, str]:
        """The store of an object's bucket, and the object's name in it.

        Raises:
            ConfigurationError: the URL is of a kind that we do not read.
        """
        scheme, _, rest = url.partition("://")
        bucket, _, name = rest.partition("/")
        if scheme not in _SCHEMES:
            raise ConfigurationError(
                f"{url}: {scheme}:// is not a kind of source we read.",
                code="unsupported_source",
                remedy="Name a local path, or a URL that starts with s3://, gs:// or az://.",
            )
        root = f"{scheme}://{bucket}"
        if root not in self._stores:
            self._stores[root] = self._opener(root)
        return self._stores[root], name

    def version(self, url: str) -> str:
        """The version that the source has now.

        Raises:
            DocumentError: it is missing or cannot be looked at.
        """
        try:
            if is_url(url):
                store, name = self.locate(url)
                return object_version(store.head(name))
            info = Path(url).stat()
        except (OSError, ValueError) as error:
            raise as_document_error(url, error) from error
        if not stat.S_ISREG(info.st_mode):
            raise DocumentError(Reason.SOURCE_CHANGED, f"{url} is no longer a regular file.")
        return local_version(info)

    def open(self, url: str) -> Opened:
        """Open a source for reading.

        Raises:
            DocumentError: it is missing or cannot be read.
        """
        try:
            if is_url(url):
                store, name = self.locate(url)
                head = store.head(name)
                raw = _ObjectReader(store, name, head, url)
                return Opened(cast("BinaryIO", io.BufferedReader(raw, _BLOCK)), object_version(head), head.size)
            file = Path(url).open("rb")  # noqa: SIM115 - handed to the caller
        except (OSError, ValueError) as error:
            raise as_document_error(url, error) from error
        info = os.fstat(file.fileno())
        return Opened(file, local_version(info), info.st_size)


class _ObjectReader(io.RawIOBase):
    """An object as a file, read in ranges; each range is of the version that was opened, or an error."""

    def __init__(self, store: Store, name: str, head: StoredObject, url: str) -> None:
        self._store = store
        self._name = name
        self._version = object_version(head)
        self._size = head.size
        self._url = url
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._position)
        if length <= 0:
            return 0
        try:
            data = self._store.read_range(self._name, self._position, length)
            now = object_version(self._store.head(self._name))
        except OSError as error:
            raise as_document_error(self._url, error) from error
        if now != self._version:
            raise DocumentError(Reason.SOURCE_CHANGED, f"{self._url} changed while it was read.")
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def as_document_error(url: str, error: OSError | ValueError) -> DocumentError:
    """What a failed read means for the document."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return DocumentError(Reason.SOURCE_MISSING, f"{url} is not there.")
    if isinstance(error, ObjectChanged):
        return DocumentError(Reason.SOURCE_CHANGED, f"{url} changed while it was read.")
    if isinstance(error, KeyRefused):
        return DocumentError(Reason.UNNAMEABLE_KEY, f"{url} is listed, but the store does not answer to this key.")
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return DocumentError(Reason.SOURCE_UNREADABLE, f"{url} cannot be read: {text}.")
