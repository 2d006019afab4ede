"""One interface over local folders, S3, Google Cloud Storage, Azure and memory.

Objects are written whole or not at all. Built on obstore: locally a write goes to a temporary name and is renamed; on
object stores it is one PUT or a completed multipart upload. `create` is conditional everywhere, so of two writers
exactly one wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import LocalStore, MemoryStore, from_url

from pdfocr_core.errors import ConfigurationError

__all__ = ["Store", "StoredObject", "is_url", "open_store"]


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of a listing."""

    name: str
    size: int
    e_tag: str | None
    last_modified: datetime


def is_url(root: str) -> bool:
    """Whether `root` names an object store rather than a local path."""
    return "://" in root


def open_store(root: str | Path, **options: Any) -> Store:
    """Open the store at a local folder (made when missing) or at `s3://bucket/prefix`, `gs://…`, `az://…`, `memory://`.

    Args:
        root: where it is.
        options: passed to obstore for object stores: region, endpoint, credentials, client options.

    Raises:
        ConfigurationError: the URL's scheme is not one we know.
    """
    text = str(root)
    if not is_url(text):
        path = Path(text).absolute()
        return Store(LocalStore(path, mkdir=True), str(path), path)
    if text.startswith("memory://"):
        return Store(MemoryStore(), text)
    try:
        return Store(from_url(text, **options), text.rstrip("/"))
    except (BaseError, ValueError) as error:
        raise ConfigurationError(
            f"{text} cannot be opened as a store: {_first_line(error)}.",
            remedy="Use a local path, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.",
        ) from error


class Store:
    """Objects under one root, by name relative to it.

    Raises (all methods):
        FileNotFoundError: no object has that name.
        ConfigurationError: the store refuses us (code `access_denied`).
        OSError: anything else the store reports.
    """

    def __init__(self, backend: Any, url: str, local_root: Path | None = None) -> None:
        self._backend = backend
        self.url = url
        self.local_root = local_root

    def read(self, name: str) -> bytes:
        """All bytes of one object."""
        with _Translated(self.url, name):
            return bytes(obstore.get(self._backend, name).bytes())

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """`length` bytes from `start`; fewer at the end of the object."""
        with _Translated(self.url, name):
            return bytes(obstore.get_range(self._backend, name, start=start, length=length))

    def stream(self, name: str) -> Iterator[bytes]:
        """The object's bytes in chunks of a few megabytes."""
        with _Translated(self.url, name):
            for chunk in obstore.get(self._backend, name).stream(min_chunk_size=4 * 1024**2):
                yield bytes(chunk)

    def write(self, name: str, data: bytes) -> None:
        """Write the object whole, replacing what was there."""
        with _Translated(self.url, name):
            obstore.put(self._backend, name, data)

    def create(self, name: str, data: bytes) -> bool:
        """Write the object only if there is none of that name; False when there is."""
        with _Translated(self.url, name):
            try:
                obstore.put(self._backend, name, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def head(self, name: str) -> StoredObject:
        """What a listing says of one object."""
        with _Translated(self.url, name):
            return _stored(obstore.head(self._backend, name))

    def exists(self, name: str) -> bool:
        """Whether there is such an object."""
        try:
            self.head(name)
        except FileNotFoundError:
            return False
        return True

    def list(self, prefix: str = "", *, offset: str | None = None) -> Iterator[StoredObject]:
        """All objects under the folder `prefix`, streamed; sorted by name on object stores, unsorted locally."""
        with _Translated(self.url, prefix):
            for batch in obstore.list(self._backend, prefix or None, offset=offset):
                for meta in batch:
                    yield _stored(meta)

    def delete(self, name: str) -> None:
        """Remove one object; it is no error when it is not there."""
        with _Translated(self.url, name):
            try:
                obstore.delete(self._backend, name)
            except FileNotFoundError:
                return


class _Translated:
    """Turns obstore's exceptions into ours, with a message for people."""

    def __init__(self, url: str, name: str) -> None:
        self.where = f"{url}/{name}" if name else url

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PermissionDeniedError | UnauthenticatedError):
            raise ConfigurationError(
                f"The store refuses access to {self.where}.",
                code="access_denied",
                remedy="Check the credentials, the region and the permissions (list, get, put) on this prefix.",
            ) from error
        if isinstance(error, BaseError):
            raise OSError(f"{self.where}: {_first_line(error)}") from error


def _stored(meta: Any) -> StoredObject:
    return StoredObject(meta["path"], meta["size"], meta["e_tag"], meta["last_modified"])


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
