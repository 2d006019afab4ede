"""One interface over local folders, S3, Google Cloud Storage, Azure and memory.

Objects are written whole or not at all. Built on obstore: locally a write goes to a temporary name and is renamed; on
object stores it is one PUT or a completed multipart upload. `create` is conditional everywhere, so of two writers
exactly one wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    NotSupportedError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import LocalStore, MemoryStore, S3Store, from_url

from pdfocr_core.errors import ConfigurationError, StoreUnavailable
from pdfocr_core.s3 import IMPATIENT, PATIENT, ListedObject, list_with_boto3, s3_options, with_patience
from pdfocr_core.settings import StorageSettings
from pdfocr_core.store_errors import store_error

__all__ = ["Store", "StoreOpener", "StoredObject", "is_url", "open_store", "store_opener"]

StoreOpener = Callable[[str], "Store"]
"""Opens the store at a URL, with the credentials and endpoint that belong to it."""

_Lister = Callable[[str, str], Iterator[ListedObject]]


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


def open_store(root: str | Path, storage: StorageSettings | None = None) -> Store:
    """Open the store at a local folder (made when missing) or at `s3://bucket/prefix`, `gs://…`, `az://…`, `memory://`.

    An object store is asked for something at once, so that a wrong endpoint or credentials are told within seconds.

    Args:
        root: where it is.
        storage: how S3 is reached; Google Cloud Storage and Azure take theirs from their usual environment.

    Raises:
        ConfigurationError: the URL's scheme is not one we know, or the store cannot be reached as configured.
    """
    text = str(root)
    if not is_url(text):
        path = Path(text).absolute()
        return Store(LocalStore(path, mkdir=True), str(path), path)
    if text.startswith("memory://"):
        return Store(MemoryStore(), text)
    text = text.rstrip("/")
    scheme, _, rest = text.partition("://")
    try:
        if scheme not in ("s3", "s3a"):
            _check(Store(from_url(text, **IMPATIENT), text))
            return Store(from_url(text, **PATIENT), text)
        bucket, _, prefix = rest.partition("/")
        settings = storage or StorageSettings()
        options = {"prefix": prefix or None, **s3_options(settings)}

        def lister(name: str, after: str) -> Iterator[ListedObject]:
            return list_with_boto3(settings, bucket, prefix, name, after)

        _check(Store(S3Store(bucket, **with_patience(options, IMPATIENT)), text, lister=lister))
        return Store(S3Store(bucket, **with_patience(options, PATIENT)), text, lister=lister)
    except (BaseError, ValueError) as error:
        raise ConfigurationError(
            f"{text} cannot be opened as a store: {_first_line(error)}.",
            remedy="Use a local path, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.",
        ) from error


def store_opener(storage: StorageSettings | None) -> StoreOpener:
    """`open_store` with these settings."""
    return lambda root: open_store(root, storage)


def _check(store: Store) -> None:
    """Ask a store for the head of a listing.

    That listing is forbidden is no reason to stop here: single objects may be readable all the same.
    """
    try:
        next(store.list(), None)
    except FileNotFoundError:
        return
    except StoreUnavailable as error:
        raise ConfigurationError(
            f"{store.url} cannot be reached: {error.args[0]}",
            code="store_unreachable",
            remedy="Check the endpoint (--endpoint, AWS_ENDPOINT_URL), the network, and that the store is running.",
        ) from error
    except ConfigurationError as error:
        if error.code != "access_denied":
            raise


class Store:
    """Objects under one root, by name relative to it.

    Raises (all methods):
        FileNotFoundError: no object has that name.
        ConfigurationError: the store refuses us (code `access_denied`), or the disk is full.
        StoreUnavailable: it does not answer, after all patience.
        OSError: anything else the store reports.
    """

    def __init__(
        self, backend: Any, url: str, local_root: Path | None = None, *, lister: _Lister | None = None
    ) -> None:
        self._backend = backend
        self._lister = lister
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
            except BaseError as error:
                if not isinstance(error, NotSupportedError) and "NotImplemented" not in str(error):
                    raise
                # A store without conditional writes. What is created here never has another content under its name.
                if self.exists(name):
                    return False
                obstore.put(self._backend, name, data)
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
        with _Translated(self.url, prefix, listing=True):
            last = offset
            try:
                for batch in obstore.list(self._backend, prefix or None, offset=offset):
                    for meta in batch:
                        yield _stored(meta)
                        last = meta["path"]
            except InvalidPathError:
                # One key that obstore cannot name ends its listing. S3 may hold such keys, and its own client lists them.
                if self._lister is None:
                    raise
                for found in self._lister(prefix, last or ""):
                    yield StoredObject(found.key, found.size, found.e_tag, found.last_modified)

    def delete(self, name: str) -> None:
        """Remove one object; it is no error when it is not there."""
        with _Translated(self.url, name):
            try:
                obstore.delete(self._backend, name)
            except FileNotFoundError:
                return


class _Translated:
    """Turns obstore's exceptions into ours, with a message for people."""

    def __init__(self, url: str, name: str, *, listing: bool = False) -> None:
        self.where = f"{url}/{name}" if name else url
        self.listing = listing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, BaseError):
            return
        refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        ours = store_error(error, self.where, listing=self.listing, refused=refused)
        if ours is not None:
            raise ours from error
        raise OSError(f"{self.where}: {_first_line(error)}") from error


def _stored(meta: Any) -> StoredObject:
    return StoredObject(meta["path"], meta["size"], meta["e_tag"], meta["last_modified"])


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
