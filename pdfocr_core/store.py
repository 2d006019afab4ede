"""One interface over local folders, S3, Google Cloud Storage, Azure and memory.

Objects are written whole or not at all. Built on obstore: locally a write goes to a temporary name and is renamed; on
object stores it is one PUT or a completed multipart upload. `create` is conditional, so of two writers exactly one wins,
but for stores of S3's kind that cannot do it. Keys that obstore cannot name are read through `s3_bucket`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import LocalStore, MemoryStore, S3Store, from_url

from pdfocr_core.conditional import honours_create
from pdfocr_core.errors import ConfigurationError, StoreUnavailable
from pdfocr_core.s3 import IMPATIENT, PATIENT, s3_options, with_patience
from pdfocr_core.s3_bucket import ListedObject, S3Bucket, is_path
from pdfocr_core.settings import StorageSettings
from pdfocr_core.store_errors import ObjectChanged, folder_error, store_error

__all__ = ["Store", "StoreOpener", "StoredObject", "is_url", "open_store", "store_opener"]

StoreOpener = Callable[[str], "Store"]
"""Opens the store at a URL, with the credentials and endpoint that belong to it."""


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
        ConfigurationError: the URL's scheme is not one we know, the store cannot be reached as configured, or the
            folder cannot be made.
    """
    text = str(root)
    if not is_url(text):
        path = Path(text).absolute()
        try:
            return Store(LocalStore(path, mkdir=True), str(path), path)
        except OSError as error:
            raise folder_error(error, str(path)) or error from None
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
        backends = [S3Store(bucket, **with_patience(options, patience)) for patience in (IMPATIENT, PATIENT)]
        _check(Store(backends[0], text))
        where = f"{text} at {options['endpoint']}" if "endpoint" in options else text
        return Store(
            backends[1],
            text,
            any_key=S3Bucket(settings, bucket, prefix),
            conditional=lambda: honours_create(backends, where),
        )
    except (BaseError, ValueError) as error:
        raise store_error(error, text) or ConfigurationError(
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
        store.peek()
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
        ConfigurationError: the store refuses us (code `access_denied`), a folder cannot be written, or the disk is full.
        StoreUnavailable: it does not answer, after all patience.
        OSError: anything else the store reports.
    """

    def __init__(
        self,
        backend: Any,
        url: str,
        local_root: Path | None = None,
        *,
        any_key: S3Bucket | None = None,
        conditional: Callable[[], bool] = lambda: True,
    ) -> None:
        self._backend = backend
        self._any_key = any_key
        self._conditional = conditional
        self.url = url
        self.local_root = local_root

    def can_name(self, name: str) -> bool:
        """Whether an object of that name can be read here; S3 takes names that are no paths."""
        return self._any_key is not None or is_path(name)

    def read(self, name: str) -> bytes:
        """All bytes of one object."""
        if odd := self._odd(name):
            return b"".join(odd.stream(name))
        with _Translated(self.url, name):
            return bytes(obstore.get(self._backend, name).bytes())

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """`length` bytes from `start`; fewer at the end of the object."""
        if odd := self._odd(name):
            return odd.read_range(name, start, length)
        with _Translated(self.url, name):
            return bytes(obstore.get_range(self._backend, name, start=start, length=length))

    def stream(self, name: str) -> Iterator[bytes]:
        """The object's bytes in chunks of a few megabytes."""
        if odd := self._odd(name):
            yield from odd.stream(name)
            return
        with _Translated(self.url, name):
            for chunk in obstore.get(self._backend, name).stream(min_chunk_size=4 * 1024**2):
                yield bytes(chunk)

    def write(self, name: str, data: bytes | bytearray | Path) -> None:
        """Write the object whole, replacing what was there; a local file is sent in parts and may be of any size."""
        with _Translated(self.url, name, writing=True):
            obstore.put(self._backend, name, data)

    def create(self, name: str, data: bytes) -> bool:
        """Write the object only if there is none of that name; False when there is."""
        with _Translated(self.url, name, writing=True):
            if not self._conditional():
                # Two writers at the same moment may both think that they were first.
                if self.exists(name):
                    return False
                obstore.put(self._backend, name, data)
                return True
            try:
                obstore.put(self._backend, name, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def head(self, name: str) -> StoredObject:
        """What a listing says of one object."""
        if odd := self._odd(name):
            return _listed(odd.head(name))
        with _Translated(self.url, name):
            return _stored(obstore.head(self._backend, name))

    def exists(self, name: str) -> bool:
        """Whether there is such an object."""
        try:
            self.head(name)
        except FileNotFoundError:
            return False
        return True

    def peek(self) -> None:
        """Ask for the head of a listing, to learn whether the store answers."""
        with _Translated(self.url, "", listing=True), suppress(InvalidPathError):
            next(iter(obstore.list(self._backend)), None)

    def list(self, prefix: str = "", *, offset: str | None = None) -> Iterator[StoredObject]:
        """All objects under the folder `prefix`, streamed; sorted by name on object stores, unsorted locally."""
        any_key = self._any_key
        if any_key and self._hides_keys(any_key, prefix, offset or ""):
            yield from map(_listed, any_key.list(prefix, offset or ""))
            return
        with _Translated(self.url, prefix, listing=True):
            last = offset
            try:
                for batch in obstore.list(self._backend, prefix or None, offset=offset):
                    for meta in batch:
                        yield _stored(meta)
                        last = meta["path"]
            except InvalidPathError:
                # One key that obstore cannot name ends its listing; S3's own client lists them all.
                if any_key is None:
                    raise
                yield from map(_listed, any_key.list(prefix, last or ""))

    def delete(self, name: str) -> None:
        """Remove one object; it is no error when it is not there."""
        with _Translated(self.url, name):
            try:
                obstore.delete(self._backend, name)
            except FileNotFoundError:
                return

    def _odd(self, name: str) -> S3Bucket | None:
        """What reads an object whose name is no path; None where obstore reads it."""
        return None if self._any_key is None or is_path(name) else self._any_key

    def _hides_keys(self, any_key: S3Bucket, prefix: str, offset: str) -> bool:
        """Whether obstore would not list all there is, or not under its name."""
        if not all(is_path(name) for name in (prefix, offset) if name):
            return True
        return not prefix and any_key.has_leading_slashes()


class _Translated:
    """Turns obstore's exceptions into ours, with a message for people."""

    def __init__(self, url: str, name: str, *, listing: bool = False, writing: bool = False) -> None:
        self.where = f"{url}/{name}" if name else url
        self.listing, self.writing = listing, writing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, BaseError):
            return
        if isinstance(error, PreconditionError):
            raise ObjectChanged(f"{self.where} changed while it was read") from error
        refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        ours = store_error(error, self.where, listing=self.listing, refused=refused)
        if ours is None and self.writing:
            ours = folder_error(error, self.where)
        if ours is not None:
            raise ours from error
        raise OSError(f"{self.where}: {_first_line(error)}") from error


def _stored(meta: Any) -> StoredObject:
    return StoredObject(meta["path"], meta["size"], meta["e_tag"], meta["last_modified"])


def _listed(found: ListedObject) -> StoredObject:
    return StoredObject(found.key, found.size, found.e_tag, found.last_modified)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
