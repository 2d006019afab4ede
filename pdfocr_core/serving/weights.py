"""Model weights from an object store: downloaded once, into a folder that is complete or not there.

The folder's name holds a digest of the listing, so other weights under the same prefix come into a folder of their own. While
a download is under way it has another name, and a lock that goes with the process keeps others waiting; one that was broken
off goes on with the next start.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pdfocr_core.errors import ConfigurationError, ServerUnavailable
from pdfocr_core.store import Store, StoredObject, open_store

__all__ = ["CONFIGURATIONS", "Weights", "cache_folder", "fetch_weights", "find_weights", "free_bytes"]

CONFIGURATIONS = ("config.json", "params.json")
CONNECTIONS = 4
POLL_S = 0.5
STILL_AT_IT_S = 30.0
# Other programs write too while gigabytes come in.
SPARE_BYTES = 256 * 1024**2

logger = logging.getLogger("pdfocr.server")


@dataclass(frozen=True)
class Weights:
    """What lies under a prefix.

    Attributes:
        url: the prefix.
        objects: all files, sorted by name.
    """

    url: str
    store: Store
    objects: Sequence[StoredObject]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(found.size for found in self.objects)

    @property
    def name(self) -> str:
        """The folder's name: for people, then a digest of what is there now."""
        listing = "".join(f"{found.name}\0{found.size}\0{found.e_tag}\n" for found in self.objects)
        digest = hashlib.sha256(f"{self.url}\n{listing}".encode()).hexdigest()[:12]
        return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', PurePosixPath(self.url).name)[:80]}-{digest}"


def cache_folder(setting: str | None = None) -> Path:
    """Where weights are kept: as the user says, else in the user's cache folder."""
    if setting:
        return Path(setting).expanduser().absolute() / "weights"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "pdfocr" / "weights"


def free_bytes(directory: Path) -> int:
    """Free space where a directory is or would be."""
    existing = next(parent for parent in (directory, *directory.parents) if parent.exists())
    return shutil.disk_usage(existing).free


def find_weights(url: str) -> Weights:
    """List a prefix.

    Raises:
        ConfigurationError: the store refuses us, or there is no model.
        StoreUnavailable: it does not answer.
    """
    store = open_store(url)
    try:
        listed = sorted(store.list(), key=lambda found: found.name)
    except FileNotFoundError:
        listed = []
    files = [found for found in listed if ".." not in PurePosixPath(found.name).parts]
    if not files:
        raise ConfigurationError(f"There is nothing under {url}.", remedy="Check the bucket and the prefix.")
    if not any(found.name in CONFIGURATIONS for found in files):
        raise ConfigurationError(
            f"There is no config.json directly under {url}.", remedy="Name the prefix that holds the model's files."
        )
    return Weights(store.url, store, files)


def fetch_weights(url: str, cache: Path, stopped: Callable[[], bool] = lambda: False) -> Path:
    """The folder with the weights of a prefix, downloaded if they are not there yet.

    Args:
        url: such as `s3://bucket/prefix`.
        cache: the folder for all weights.
        stopped: asked now and then whether to give up.

    Raises:
        ConfigurationError: the store refuses us, there is no model, or no room for it.
        StoreUnavailable: the store does not answer.
        ServerUnavailable: given up, or the weights changed meanwhile.
    """
    weights = find_weights(url)
    folder = cache / weights.name
    if folder.is_dir():
        return folder
    with _disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache / f"{weights.name}.lock", stopped):
            if not folder.is_dir():
                part = cache / f"{weights.name}.part"
                _check_room(weights, part)
                _download(weights, part, stopped)
                part.rename(folder)
    return folder


def _check_room(weights: Weights, part: Path) -> None:
    there = sum(path.stat().st_size for path in part.rglob("*") if path.is_file()) if part.is_dir() else 0
    needed, free = weights.size - there + SPARE_BYTES, free_bytes(part)
    if needed > free:
        raise ConfigurationError(
            f"{weights.url} takes {needed / 1e9:.1f} GB and {part.parent} has {free / 1e9:.1f} GB free.",
            remedy="Free space, or set cache_dir (PDFOCR_CACHE_DIR) to a directory on a larger disk.",
        )


def _download(weights: Weights, part: Path, stopped: Callable[[], bool]) -> None:
    logger.info("Downloading %s, %.1f GB, to %s", weights.url, weights.size / 1e9, part.parent)
    done = 0
    ended = False

    def fetch(found: StoredObject) -> None:
        nonlocal done
        for size in _fetch(weights.store, found, part / found.name):
            done += size
            if ended or stopped():
                raise ServerUnavailable("The download of the weights was stopped.")

    with ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="pdfocr-weights") as pool:
        pending = {pool.submit(fetch, found) for found in weights.objects}
        try:
            while pending:
                ready, pending = wait(pending, STILL_AT_IT_S, FIRST_EXCEPTION)
                for future in ready:
                    future.result()
                if pending:
                    logger.info("Downloading %s: %.1f of %.1f GB", weights.url, done / 1e9, weights.size / 1e9)
        finally:
            ended = True
            for future in pending:
                future.cancel()


def _fetch(store: Store, found: StoredObject, target: Path) -> Iterator[int]:
    """Bring one file, telling the size of each piece; under its own name it is whole."""
    if target.is_file() and target.stat().st_size == found.size:
        yield found.size
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.unfinished")
    size = 0
    with unfinished.open("wb") as file:
        for chunk in store.stream(found.name):
            file.write(chunk)
            size += len(chunk)
            yield len(chunk)
    now = store.head(found.name)
    if size != found.size or now.e_tag != found.e_tag:
        raise ServerUnavailable(
            f"{store.url}/{found.name} changed while it was downloaded: {size} bytes came of {found.size}.",
            remedy="Run again when the upload is over.",
        )
    unfinished.replace(target)


@contextmanager
def _alone(path: Path, stopped: Callable[[], bool]) -> Iterator[None]:
    """Hold a lock that ends with the process; whoever comes second waits."""
    with path.open("w") as file:
        said = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not said:
                    logger.info("Another process downloads these weights; waiting for it")
                said = True
            if stopped():
                raise ServerUnavailable("The wait for the weights was stopped.")
            time.sleep(POLL_S)
        yield


@contextmanager
def _disk_errors(cache: Path) -> Iterator[None]:
    """Turn what the disk says into words for people."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise ServerUnavailable(f"The weights changed while they were downloaded: {error}.") from error
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        what = "is full" if full else f"cannot be written: {error}"
        raise ConfigurationError(
            f"The folder for weights {cache} {what}.", remedy="Set cache_dir (PDFOCR_CACHE_DIR) to another directory."
        ) from error
