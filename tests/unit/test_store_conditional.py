"""Conditional writes: found out once, and what is done where they are missing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.store import open_store
from tests.stub_s3 import StubS3, stub_s3


@pytest.fixture
def server() -> Iterator[StubS3]:
    with stub_s3() as started:
        yield started


def puts(server: StubS3) -> list[str]:
    return [seen for seen in server.seen if seen.startswith("PUT")]


@pytest.mark.parametrize("behaviour", ["kept", "ignored", "rejected"])
def test_create_never_replaces_and_the_store_is_asked_once(
    server: StubS3, behaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.conditional = behaviour
    with caplog.at_level(logging.WARNING, "pdfocr.store"):
        for store in (open_store("s3://b/w", server.settings), open_store("s3://b/w", server.settings)):
            for number in range(3):
                new = f"b/w/{number}" not in server.objects
                assert store.create(str(number), b"one") is new
                assert store.create(str(number), b"two") is False
                assert store.read(str(number)) == b"one"
    assert sorted(server.objects) == ["b/w/0", "b/w/1", "b/w/2"]  # nothing of the probe is left
    probes = [seen for seen in puts(server) if "/probe-" in seen]
    assert 1 < len(probes) <= 3
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == (behaviour != "kept")
    if warnings:
        assert f"s3://b/w at {server.endpoint} has no conditional writes" in warnings[0]
        # Three objects, each written once, and no refusal asked for again.
        assert len(puts(server)) == len(probes) + 3


def test_of_many_writers_one_wins(server: StubS3) -> None:
    def write(number: int) -> bool:
        return open_store("s3://b/w", server.settings).create("x", bytes([number]))

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(write, range(8))) == 1


def test_reading_asks_for_no_probe(server: StubS3) -> None:
    server.objects["b/w/x"] = b"1"
    store = open_store("s3://b/w", server.settings)
    assert store.read("x") == b"1"
    store.write("y", b"2")
    assert puts(server) == ["PUT b/w/y"]


def test_a_refusal_is_no_missing_feature(server: StubS3, caplog: pytest.LogCaptureFixture) -> None:
    server.trouble = lambda method, *_: (403, "AccessDenied") if method == "PUT" else None
    store = open_store("s3://b/w", server.settings)
    with pytest.raises(ConfigurationError) as caught:
        store.create("x", b"1")
    assert caught.value.code == "access_denied"
    server.trouble = lambda *_: None
    assert store.create("x", b"1")
    assert caplog.records == []


def test_throttling_during_the_probe_is_waited_out(server: StubS3) -> None:
    busy = iter([(503, "SlowDown")] * 4)
    server.trouble = lambda method, *_: next(busy, None) if method == "PUT" else None
    assert open_store("s3://b/w", server.settings).create("x", b"1")
    assert not open_store("s3://b/w", server.settings).create("x", b"1")
