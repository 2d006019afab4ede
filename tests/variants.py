"""Damaged variants of good files: bytes flipped, cut out, repeated or cut off, by seed and number alone."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["damaged", "write_variants"]


def damaged(data: bytes, seed: object) -> bytes:
    """One variant; never equal to the original."""
    rng = random.Random(f"{seed}")
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        _damage_once(changed, rng)
    if changed == data:
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _damage_once(data: bytearray, rng: random.Random) -> None:
    """One kind of damage at one place."""
    # The ends of a file say what it is and where its parts are, so they have more than their share of the damage; but
    # not all of it, or nothing would open.
    first, last = rng.randrange(min(64, len(data))), len(data) - rng.randint(1, min(512, len(data)))
    place = rng.choice((first, last, *(rng.randrange(len(data)) for _ in range(10))))
    length = rng.choice((1, 4, 32, 1024))
    match rng.randrange(10):
        case 0:
            del data[place : place + length]
        case 1:
            data[place:place] = data[place : place + length]
        case 2:
            data[place : place + length] = rng.randbytes(len(data[place : place + length]))
        case 3 if rng.random() < 0.3:
            del data[place:]
        case 4:
            data[place] = rng.choice(b"0123456789<>[]()/%\x00\xff")
        case _:
            data[place] ^= 1 << rng.randrange(8)
    if not data:
        data.append(0)


def write_variants(folder: Path, originals: Sequence[Path], count: int, seed: object) -> Iterator[Path]:
    """Write `count` variants of the originals in turn; the name of each says how to make it again."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        original = originals[number % len(originals)]
        path = folder / f"{number:04}_{original.name}"
        path.write_bytes(damaged(original.read_bytes(), f"{seed}/{number}"))
        yield path
