"""The store's whole interface, alike on every backend.

Google Cloud Storage and Azure come through the same library and the same class; memory and the local disk stand for them
here, and S3 for its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.sources.opening import Stores, object_version
from pdfocr_core.store import Store, is_url, open_store, store_opener
from tests.stub_s3 import stub_s3

NAMES = ["a/b #1 %25,?.txt", "a/ü/[x].txt", "a/-rf.txt", "a/" + "l" * 240 + ".txt", "ab.txt"]


@pytest.fixture(params=["memory", "local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield open_store("memory://")
    elif request.param == "local":
        yield open_store(tmp_path / "store")
    else:
        with stub_s3() as server:
            yield open_store("s3://bucket/below/here", server.settings)


def test_what_is_written_is_read(store: Store) -> None:
    for number, name in enumerate(NAMES):
        store.write(name, b"first")
        store.write(name, b"0123456789" * number)
        assert store.read(name) == b"".join(store.stream(name)) == b"0123456789" * number
    assert store.read_range(NAMES[1], 2, 3) == b"234"
    assert store.read_range(NAMES[1], 8, 100) == b"89"


def test_a_large_object_is_streamed(store: Store) -> None:
    body = bytes(range(256)) * 50_000
    store.write("large", body)
    chunks = list(store.stream("large"))
    assert b"".join(chunks) == body
    assert len(chunks) > 1 or store.url.startswith("memory://")


def test_an_upload_that_fails_is_aborted_and_leaves_what_was_there() -> None:
    with stub_s3() as server:
        store = open_store("s3://bucket", server.settings)
        store.write("large", b"before")
        server.trouble = lambda method, *_: (403, "AccessDenied") if server.uploads and method == "PUT" else None
        with pytest.raises(ConfigurationError):
            store.write("large", bytes(20_000_000))
        assert server.uploads == {}
        assert store.read("large") == b"before"


def test_create_never_replaces(store: Store) -> None:
    assert store.create("x/one", b"1")
    assert not store.create("x/one", b"2")
    assert store.read("x/one") == b"1"
    store.delete("x/one")
    assert store.create("x/one", b"3")


def test_of_many_creators_one_wins(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(lambda number: store.create("x/one", bytes([number])), range(8)))
    assert sum(won) == 1
    assert store.read("x/one") == bytes([won.index(True)])


def test_listings(store: Store) -> None:
    assert list(store.list()) == []
    assert list(store.list("none")) == []
    for name in NAMES:
        store.write(name, name.encode())
    assert sorted(found.name for found in store.list()) == sorted(NAMES)
    assert sorted(found.name for found in store.list("a")) == sorted(NAMES[:4])
    sizes = {found.name: found.size for found in store.list()}
    assert sizes == {name: len(name.encode()) for name in NAMES}
    ordered = sorted(NAMES)
    for place, name in enumerate(ordered):
        assert sorted(found.name for found in store.list(offset=name)) == ordered[place + 1 :]


def test_a_listing_and_a_look_give_the_same_version_and_another_body_another(store: Store) -> None:
    store.write("a/x", b"one")
    (listed,) = store.list("a")
    first = store.head("a/x")
    assert object_version(listed) == object_version(first)
    store.write("a/x", b"another")
    assert object_version(store.head("a/x")) != object_version(first)


def test_what_is_not_there(store: Store) -> None:
    assert not store.exists("no")
    for look in (
        store.read,
        store.head,
        lambda name: store.read_range(name, 0, 1),
        lambda name: list(store.stream(name)),
    ):
        with pytest.raises(FileNotFoundError):
            look("no")
    store.delete("no")
    store.write("no", b"")
    assert store.exists("no")
    assert store.read("no") == b"".join(store.stream("no")) == b""
    store.delete("no")
    assert not store.exists("no")


def test_a_look_at_the_whole_and_at_names(store: Store) -> None:
    store.peek()
    assert store.can_name("a/b.pdf")
    assert store.can_name("a//b.pdf") is store.url.startswith("s3://")
    assert is_url(store.url) is (store.local_root is None)


@pytest.mark.parametrize("url", ["gs://bucket/x", "az://container/x", "abfs://c@account.dfs.core.windows.net/x"])
def test_without_credentials_it_is_said_which(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"):
        monkeypatch.delenv(name, raising=False)
    # What a machine in the cloud would be asked for its own credentials; here nobody answers.
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("AZURE_MSI_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigurationError) as caught:
        open_store(url)
    assert caught.value.code == "no_credentials"
    assert url in str(caught.value)
    assert ("GOOGLE_APPLICATION_CREDENTIALS" if url.startswith("gs") else "AZURE_STORAGE_ACCOUNT_NAME") in str(
        caught.value
    )


@pytest.mark.parametrize("url", ["ftp://host/x", "gcs://bucket"])
def test_an_unknown_scheme_is_said(url: str) -> None:
    with pytest.raises(ConfigurationError, match="s3://"):
        open_store(url)
    with pytest.raises(ConfigurationError, match="s3://"):
        Stores(store_opener(None)).locate(url)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "POST"])
def test_a_store_that_asks_for_patience_gets_it(method: str) -> None:
    with stub_s3() as server:
        store = open_store("s3://bucket", server.settings)
        store.write("a", b"1")
        busy = iter([(503, "SlowDown")] * 3)
        server.trouble = lambda asked, *_: next(busy, None) if asked == method else None
        store.write("b", b"2")
        assert store.create("c", b"3")
        assert (store.head("a").size, store.read("b"), len(list(store.list()))) == (1, b"2", 3)
        store.delete("a")
        assert not store.exists("a")
        assert next(busy, None) is None
