"""Keys of S3 that the store library cannot name, reached through boto3.

S3 takes any key: `a//b.pdf`, `/a.pdf`, `a/./b.pdf`, control characters. obstore takes paths only. What it cannot name is
listed, looked at and read here; a body is read in ranges, each of the version that was looked at first.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from pdfocr_core.errors import ConfigurationError, StoreUnavailable
from pdfocr_core.s3 import s3_client
from pdfocr_core.settings import StorageSettings
from pdfocr_core.store_errors import KeyRefused, ObjectChanged, store_error

__all__ = ["ListedObject", "S3Bucket", "is_path"]

_NO_PATH = re.compile(r"[\x00-\x1f\x7f]|(?:\A|/)\.{0,2}(?:/|\Z)")
_RANGE = 8 * 1024**2
_TRIES = 6
_LONGEST_PAUSE_S = 5.0


def is_path(key: str) -> bool:
    """Whether the store library has a name for this key."""
    return _NO_PATH.search(key) is None


class ListedObject(NamedTuple):
    """One key, as S3 has it; `key` is relative to the root."""

    key: str
    size: int
    e_tag: str
    last_modified: datetime


class S3Bucket:
    """The objects of one bucket under one root, whatever their keys are; to be used from any number of threads."""

    def __init__(self, settings: StorageSettings, bucket: str, root: str = "") -> None:
        self._settings = settings
        self._bucket = bucket
        self._base = f"{root}/" if root else ""
        self._lock = threading.Lock()
        self._made: Any = None

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = s3_client(self._settings)
            return self._made

    def list(self, folder: str = "", after: str = "") -> Iterator[ListedObject]:
        """All keys below `folder` that sort after the key `after`."""
        prefix = f"{self._base}{folder}/" if folder else self._base
        with _Translated(self._url(folder), listing=True):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=prefix, StartAfter=f"{self._base}{after}" if after else ""
            )
            for page in pages:
                for entry in page.get("Contents", []):
                    if not entry["Key"].endswith("/"):  # what some programs leave as the mark of a folder
                        name = entry["Key"].removeprefix(self._base)
                        yield ListedObject(name, entry["Size"], entry["ETag"], entry["LastModified"])

    def has_leading_slashes(self) -> bool:
        """Whether some key starts with a slash: obstore would list it without, and so under another key's name."""
        return not self._base and self._is_listed("/", whole=False)

    def head(self, name: str) -> ListedObject:
        """What S3 says of one object.

        Raises:
            FileNotFoundError: there is no such object.
            KeyRefused: the object is listed, but the store does not take its key.
        """
        try:
            with _Translated(self._url(name)):
                found = self._client.head_object(Bucket=self._bucket, Key=self._base + name)
        except (FileNotFoundError, KeyRefused):
            if self._is_listed(self._base + name, whole=True):
                raise KeyRefused(f"{self._url(name)}: the store lists this key and does not answer to it") from None
            raise
        return ListedObject(name, found["ContentLength"], found["ETag"], found["LastModified"])

    def read_range(self, name: str, start: int, length: int, e_tag: str | None = None) -> bytes:
        """`length` bytes from `start`; a transfer that breaks off is tried again.

        Raises:
            ObjectChanged: the object has not the version `e_tag`, where one is given.
        """
        if length <= 0:
            return b""
        condition = {"IfMatch": e_tag} if e_tag else {}
        for attempt in range(_TRIES):
            try:
                with _Translated(self._url(name)):
                    answer = self._client.get_object(
                        Bucket=self._bucket,
                        Key=self._base + name,
                        Range=f"bytes={start}-{start + length - 1}",
                        **condition,
                    )
                    return bytes(answer["Body"].read())
            except StoreUnavailable:
                if attempt == _TRIES - 1:
                    raise
                time.sleep(min(0.2 * 2**attempt, _LONGEST_PAUSE_S))
        raise AssertionError("the last try returns or raises")

    def stream(self, name: str) -> Iterator[bytes]:
        """The object's bytes in chunks of a few megabytes, all of one version."""
        head = self.head(name)
        for start in range(0, head.size, _RANGE):
            yield self.read_range(name, start, min(_RANGE, head.size - start), head.e_tag)

    def _is_listed(self, key: str, *, whole: bool) -> bool:
        with _Translated(self._url(key), listing=True):
            answer = self._client.list_objects_v2(Bucket=self._bucket, Prefix=key, MaxKeys=1)
        first = answer.get("Contents", [])[:1]
        return bool(first) and (not whole or first[0]["Key"] == key)

    def _url(self, name: str) -> str:
        return f"s3://{self._bucket}/{self._base}{name}"


class _Translated:
    """Turns botocore's exceptions into ours."""

    def __init__(self, where: str, *, listing: bool = False) -> None:
        self.where = where
        self.listing = listing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError

        if isinstance(error, ClientError):
            raise self._answer(error) from error
        if isinstance(error, HTTPClientError | IncompleteReadError):
            raise StoreUnavailable(f"{self.where}: {error}.") from error
        if isinstance(error, BotoCoreError):
            raise ConfigurationError(
                f"{self.where}: {error}",
                code="bad_credentials",
                remedy="Check the credentials and the profile's name in ~/.aws/config; for SSO run `aws sso login`.",
            ) from error

    def _answer(self, error: Any) -> Exception:
        said = error.response.get("Error", {})
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        code = said.get("Code", "")
        text = f"{error}\n<Code>{code}</Code><Message>{said.get('Message', '')}</Message> status code: {status:03}"
        ours = store_error(OSError(text), self.where, listing=self.listing)
        if ours is not None:
            return ours
        if status == 404:
            return FileNotFoundError(self.where)
        if status in (412, 416):
            return ObjectChanged(f"{self.where} changed while it was read")
        if status == 400:
            return KeyRefused(f"{self.where}: the store does not take this key")
        return OSError(f"{self.where}: {error}")
