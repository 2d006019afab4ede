"""Archives in buckets are read as a stream: memory does not follow their size."""

from __future__ import annotations

import io
import random
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archive_listing import list_archive
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.opening import Stores
from pdfocr_core.store import Store

MEMBERS, MEMBER = 12, 12 * 1024**2
MOST = 40 * 1024**2


def member(number: int) -> bytes:
    """A PDF by its head; the rest packs well, but not as well as a bomb."""
    block = random.Random(number).randbytes(1024) + bytes(63 * 1024)
    return (b"%PDF-1.4\n" + block * (MEMBER // len(block) + 1))[:MEMBER]


def packed(kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for number in range(MEMBERS):
                archive.writestr(f"{number}.pdf", member(number))
        return out.getvalue()
    options = {"compresslevel": 1} if kind == "tar.gz" else {}
    with tarfile.open(fileobj=out, mode="w:gz" if kind == "tar.gz" else "w", **options) as tar:  # type: ignore[call-overload]
        for number in range(MEMBERS):
            entry = tarfile.TarInfo(f"{number}.pdf")
            entry.size = MEMBER
            tar.addfile(entry, io.BytesIO(member(number)))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_memory_does_not_follow_the_size_of_an_archive(kind: str, tmp_path: Path) -> None:
    store = Store(MemoryStore(), "s3://b")
    store.write(f"x.{kind}", packed(kind))
    tracemalloc.start()
    try:
        (found,) = expand(["s3://b/"], opener=lambda _: store)
        documents = list_archive(found, Stores(lambda _: store), ArchiveLimits()).documents
        with Fetcher(opener=lambda _: store) as fetcher:
            paths = [fetcher.fetch(document, tmp_path).path for document in (documents[1], documents[-1])]
        assert tracemalloc.get_traced_memory()[1] < MOST < MEMBERS * MEMBER / 3
    finally:
        tracemalloc.stop()
    assert len(documents) == MEMBERS
    assert [path.read_bytes() for path in paths] == [member(1), member(MEMBERS - 1)]
