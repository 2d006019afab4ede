"""Whether a store keeps the promise of a conditional write: of two writers of one name exactly one wins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError

__all__ = ["honours_create"]

logger = logging.getLogger("pdfocr.store")

_CONTENT = b"Written to see whether a second writer may take this name. It may be removed.\n"

# One answer a process: what a store can do does not change while a run goes on.
_outcomes: dict[str, bool] = {}
_lock = threading.Lock()


def honours_create(backends: Sequence[Any], where: str) -> bool:
    """Write a small object twice with `If-None-Match: *`, the first time that this store is asked about.

    Args:
        backends: obstore's store, least patient first: a plain no comes as a 5xx, which a patient one tries again.
        where: stands for the store, its endpoint included; the outcome is remembered for it.
    """
    with _lock:
        if where not in _outcomes:
            _outcomes[where] = _probe(backends)
            if not _outcomes[where]:
                logger.warning(
                    "%s has no conditional writes (If-None-Match): let no two indexings of this workspace run at the "
                    "same time; see docs/s3.md.",
                    where,
                )
        return _outcomes[where]


def _probe(backends: Sequence[Any]) -> bool:
    *hasty, patient = backends
    name = f"probe-{uuid4().hex}"
    try:
        for backend in hasty:
            with suppress(BaseError):
                return _refuses_a_second(backend, name)
        return _refuses_a_second(patient, f"{name}-again")
    finally:
        for written in (name, f"{name}-again"):
            with suppress(BaseError, FileNotFoundError):
                obstore.delete(patient, written)


def _refuses_a_second(backend: Any, name: str) -> bool:
    try:
        for _ in range(2):
            obstore.put(backend, name, _CONTENT, mode="create")
    except AlreadyExistsError:
        return True
    except BaseError as error:
        if not _says_unsupported(error):
            raise
    return False


def _says_unsupported(error: BaseError) -> bool:
    said = str(error)
    return isinstance(error, NotSupportedError) or any(
        mark in said for mark in ("NotImplemented", "status code: 501", "InvalidArgument", "InvalidRequest")
    )
