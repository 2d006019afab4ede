"""Object stores: which keys a URL, a prefix or a pattern means. Keys are judged by name; reading each head is dear."""

from __future__ import annotations

from collections.abc import Iterator

from pdfocr_core.errors import ConfigurationError, Reason, StoreUnavailable
from pdfocr_core.sources.found import Found, IsKnown
from pdfocr_core.sources.judge import What, judge
from pdfocr_core.sources.names import is_hidden, split_glob
from pdfocr_core.sources.opening import Stores, object_version
from pdfocr_core.sources.sniff import HEAD_BYTES, sniff
from pdfocr_core.store import Store, StoredObject
from pdfocr_core.store_errors import KeyRefused

__all__ = ["find_objects", "look_at_object"]


def look_at_object(url: str, stores: Stores, *, is_known: IsKnown) -> Found | None:
    """Tell what one named object is; None when there is no object of that key."""
    store, key = stores.locate(url)
    if not key or key.endswith("/"):
        return None
    if not store.can_name(key):
        return Found(url, "unnameable", 0, named=True, problem=Reason.UNNAMEABLE_KEY)
    try:
        head = store.head(key)
    except FileNotFoundError:
        return None
    except KeyRefused as error:
        return Found(url, "unnameable", 0, named=True, problem=Reason.UNNAMEABLE_KEY, detail=str(error))
    version = object_version(head)
    if is_known(url, version):
        return Found(url, version, head.size, named=True, known=True)
    kind = sniff(store.read_range(key, 0, min(HEAD_BYTES, head.size)) if head.size else b"")
    verdict = judge(key, kind, named=True)
    return Found(url, version, head.size, verdict.what, kind, True, pages=verdict.pages, problem=verdict.problem)


def find_objects(
    url: str, stores: Stores, *, is_known: IsKnown, exclude: str | None = None, after: str | None = None
) -> Iterator[Found]:
    """The object of that key, or all objects under the prefix, or all that match the pattern.

    Args:
        url: what the user named.
        stores: opens buckets.
        is_known: what is already indexed.
        exclude: the workspace's URL; nothing under it is listed.
        after: list only keys that sort after this one.
    """
    named = None if after else look_at_object(url, stores, is_known=is_known)
    if named is not None:
        yield named
        return
    store, key = stores.locate(url)
    root = url[: len(url) - len(key)].rstrip("/")
    glob = split_glob(key)
    prefix = (glob.base if glob else key).rstrip("/")
    if not store.can_name("/"):
        prefix = prefix.lstrip("/")
    skip = f"{exclude.rstrip('/')}/" if exclude else None
    empty = after is None
    for stored in _listing(store, prefix, after):
        found_url = f"{root}/{stored.name}"
        below = stored.name.removeprefix(prefix).lstrip("/")
        if (skip and found_url.startswith(skip)) or (glob and not glob.regex.fullmatch(below)):
            continue
        empty = False
        yield _listed(stored, found_url, below, is_known, readable=store.can_name(stored.name))
    if empty:
        raise ConfigurationError(
            f"{url}: no object is there.",
            code="source_not_found",
            remedy="Check the bucket and the prefix; a prefix means whole segments (`a/b` lists `a/b/…`).",
        )


def _listing(store: Store, prefix: str, after: str | None) -> Iterator[StoredObject]:
    begun = False
    try:
        for stored in store.list(prefix, offset=after):
            begun = True
            yield stored
    except (FileNotFoundError, ValueError) as error:
        # No such bucket, or a prefix that no listing can have. What was cut short must not pass for the whole.
        if begun:
            raise StoreUnavailable(f"{store.url}: the listing ended early: {error}") from error


def _listed(stored: StoredObject, url: str, below: str, is_known: IsKnown, *, readable: bool) -> Found:
    version = object_version(stored)
    if any(is_hidden(segment) for segment in below.split("/")[:-1] if segment not in (".", "..")):
        return Found(url, version, stored.size, What.IGNORED)
    if is_known(url, version):
        return Found(url, version, stored.size, known=True)
    name = stored.name.rsplit("/", 1)[-1]
    verdict = judge(name, None, named=False)
    problem = verdict.problem
    if verdict.what is not What.IGNORED and not readable:
        problem = Reason.UNNAMEABLE_KEY
    elif verdict.what is not What.IGNORED and not stored.size:
        problem = Reason.EMPTY_FILE
    what = What.DOCUMENT if problem else verdict.what
    return Found(url, version, stored.size, what, pages=verdict.pages, problem=problem)
