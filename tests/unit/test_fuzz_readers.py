"""Hypothesis over what reads other people's bytes and names: archives, keys, paths. Only our own errors come out."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdfocr_core.documents import Document, PageGroup, document_id_of
from pdfocr_core.errors import DocumentError
from pdfocr_core.outputs.markdown import markdown_path
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archives import iter_members
from pdfocr_core.sources.grouping import group_documents
from pdfocr_core.sources.names import name_problem
from pdfocr_core.sources.sniff import HEAD_BYTES, sniff
from tests.variants import damaged

LIMITS = ArchiveLimits(max_member_bytes=2**20, max_total_bytes=2**22, max_members=100, max_ratio=200)
CONTENTS = {"a.pdf": b"%PDF-1.4\n" * 40, "folder/b.pdf": bytes(3000), "c" * 120 + ".pdf": b"%PDF", "empty.pdf": b""}


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in CONTENTS.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("link.pdf")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return out.getvalue()


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in CONTENTS.items():
            archive.writestr(name, content)
    return out.getvalue()


TAR = _tar()
ARCHIVES = {
    "tar": TAR,
    "tar.gz": gzip.compress(TAR, mtime=0),
    "tar.bz2": bz2.compress(TAR),
    "tar.xz": lzma.compress(TAR),
    "zip": _zip(),
}
_NAMES = st.text(st.characters(codec="utf-8") | st.sampled_from("/\\.:~%\0\udce9"), min_size=1, max_size=40)


def drain(data: bytes) -> tuple[int, int]:
    """Read an archive to its end: how many members, and how many bytes they gave."""
    members = total = 0
    stream = io.BytesIO(data)
    with contextlib.suppress(DocumentError):
        for member in iter_members(stream, sniff(data[:HEAD_BYTES]), LIMITS):
            members += 1
            with contextlib.suppress(DocumentError):
                for chunk in member.chunks():
                    total += len(chunk)
    assert members <= LIMITS.max_members
    assert total <= LIMITS.max_total_bytes + LIMITS.max_member_bytes
    return members, total


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_undamaged_archive_gives_all_its_members(kind: str) -> None:
    links = 0 if kind == "zip" else 1
    assert drain(ARCHIVES[kind]) == (len(CONTENTS) + links, sum(map(len, CONTENTS.values())))


@pytest.mark.parametrize("kind", ARCHIVES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow])
def test_a_damaged_archive_ends_in_one_of_our_errors_or_none(kind: str, seed: int) -> None:
    drain(damaged(ARCHIVES[kind], seed))


@pytest.mark.parametrize("head", [b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b"a.pdf" + bytes(95)])
@given(rest=st.binary(max_size=2000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow])
def test_any_bytes_end_in_one_of_our_errors_or_none(head: bytes, rest: bytes) -> None:
    drain(head + rest)


@given(_NAMES)
def test_a_name_that_is_let_pass_stays_where_it_is_put(name: str) -> None:
    if name_problem(name) is None:
        path = PurePosixPath("/archive") / name
        assert path.is_relative_to("/archive")
        assert ".." not in path.parts


@given(st.lists(st.tuples(_NAMES, st.text(max_size=10)), min_size=1, max_size=8, unique=True))
def test_documents_have_their_own_ids_and_groups_one_key_in_any_order(places: list[tuple[str, str]]) -> None:
    ids = {document_id_of(url, version) for url, version in places if "\0" not in url}
    assert len(ids) == len([url for url, _ in places if "\0" not in url])
    documents = [Document(url, version, pages=1) for url, version in places]
    assert PageGroup(tuple(documents)).key == PageGroup(tuple(reversed(documents))).key
    one, other = (group_documents(order, 3) for order in (documents, documents[::-1]))
    assert [group.key for group in one] == [group.key for group in other]
    assert sum(len(group.documents) for group in one) == len(documents)


def _paths_of(url_of: Callable[[str], str], names: list[str], workspace: str) -> list[str]:
    return [markdown_path(url_of(name), workspace) for name in names]


@pytest.mark.parametrize(
    "url_of", [lambda name: f"/data/{name}", lambda name: f"/data/a.tar::{name}", lambda name: f"s3://b/{name}"]
)
@given(names=st.lists(_NAMES.filter(lambda name: "/" not in name), min_size=2, max_size=2, unique=True))
@settings(suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow])
def test_markdown_paths_of_every_kind_of_source_are_their_own(url_of: Callable[[str], str], names: list[str]) -> None:
    if any(name in {".", ".."} for name in names):
        return  # no store and no folder has such a name
    paths = _paths_of(url_of, names, "/data/workspace")
    assert paths[0] != paths[1]
    for path in paths:
        assert not path.startswith("/")
        assert not {"", ".", ".."} & set(path.split("/"))
        assert all(len(segment.encode()) <= 255 for segment in path.split("/"))
