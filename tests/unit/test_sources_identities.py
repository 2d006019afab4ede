"""The set that keeps what was seen."""

from __future__ import annotations

import random

import pytest

from pdfocr_core.sources.identities import IDENTITY_BYTES, Identities


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdfocr_core.sources.identities._WAITING", 37)


def test_it_holds_what_was_added_and_nothing_else() -> None:
    chance = random.Random(1)
    # Few beginnings and many ends that are zero: neighbours, and what strings of numpy's would not tell apart.
    starts = [chance.randbytes(5) for _ in range(40)] + [bytes(5), b"\xff" * 5]
    ends = [chance.randbytes(5) for _ in range(20)] + [bytes(5), bytes(4) + b"\1", b"\1" + bytes(4)]
    everything = [start + end for start in starts for end in ends]
    there = set(chance.sample(everything, len(everything) // 2))
    identities, expected = Identities(), set[bytes]()
    for identity in chance.choices(sorted(there), k=3000):
        assert identities.add(identity) is (identity not in expected)
        expected.add(identity)
    assert all((identity in identities) == (identity in expected) for identity in everything)


def test_many_at_once_are_there_and_take_ten_bytes_each() -> None:
    chance = random.Random(2)
    many = [chance.randbytes(IDENTITY_BYTES) for _ in range(5000)]
    identities = Identities()
    identities.update(many)
    identities.update([])
    assert all(identity in identities for identity in many)
    assert (len(many) - 37) * 10 <= identities.nbytes <= len(many) * 10
    assert not any(identities.add(identity) for identity in many)
