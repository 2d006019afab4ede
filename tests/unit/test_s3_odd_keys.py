"""Keys that are no paths: S3 holds them, so they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.index import update_index
from pdfocr_core.sources.listing import expand
from pdfocr_core.store import Store, StoreOpener, open_store
from pdfocr_core.store_errors import ObjectChanged
from pdfocr_core.workspace import open_workspace
from tests.stub_s3 import StubS3, stub_s3

PDF = b"%PDF-1.4\n"
ODD = ["/lead.pdf", "//two.pdf", "a//b.pdf", "a/./c.pdf", "a/../d.pdf", "a/tab\t.pdf", "a/line\n.pdf", "a/del\x7f.pdf"]
PLAIN = ["a/b.pdf", "a/é ü.pdf", "lead.pdf", "z.pdf"]


def filled(server: StubS3) -> StoreOpener:
    for key in ODD + PLAIN:
        server.objects[f"b/{key}"] = PDF + key.encode()
    store = open_store("s3://b", server.settings)
    return lambda _: store


def test_every_key_is_listed_and_every_body_is_its_own(tmp_path: Path) -> None:
    with stub_s3() as server:
        opener = filled(server)
        found = {one.url.removeprefix("s3://b/"): one for one in expand(["s3://b"], opener=opener)}
        assert sorted(found) == sorted(ODD + PLAIN)
        with Fetcher(opener=opener) as fetcher:
            for key, one in found.items():
                assert one.problem is None, key
                assert fetcher.fetch(one.document, tmp_path).path.read_bytes() == PDF + key.encode()


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("s3://b//lead.pdf", ["/lead.pdf"]),
        ("s3://b/a//b.pdf", ["a//b.pdf"]),
        ("s3://b/a/", ["a//b.pdf", "a/../d.pdf", "a/./c.pdf", "a/b.pdf", "a/del\x7f.pdf", "a/line\n.pdf", "a/tab\t.pdf",
                       "a/é ü.pdf"]),
        ("s3://b/**/*b.pdf", ["a//b.pdf", "a/b.pdf"]),
    ],
)  # fmt: skip
def test_sources_may_name_them(source: str, keys: list[str]) -> None:
    with stub_s3() as server:
        found = expand([source], opener=filled(server))
        assert sorted(one.url.removeprefix("s3://b/") for one in found) == sorted(keys)


def test_a_listing_goes_on_behind_such_a_key() -> None:
    with stub_s3() as server:
        opener = filled(server)
        whole = [one.url.removeprefix("s3://b/") for one in expand(["s3://b"], opener=opener)]
        for place, key in list(enumerate(whole))[::3]:
            rest = [one.url.removeprefix("s3://b/") for one in expand(["s3://b"], opener=opener, after=key)]
            assert rest == whole[place + 1 :], key


def test_a_large_body_comes_in_ranges_and_goes_on_where_it_broke_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdfocr_core.s3_bucket._RANGE", 1000)
    with stub_s3() as server:
        body = bytes(range(250)) * 21
        server.objects["b/a//big.pdf"] = body
        store = open_store("s3://b", server.settings)
        server.cut_bodies = 2
        server.seen.clear()
        assert b"".join(store.stream("a//big.pdf")) == body == store.read("a//big.pdf")
        assert store.read_range("a//big.pdf", 999, 3) == body[999:1002]
        assert server.seen.count("GET b/a//big.pdf") == 6 + 2 + 6 + 1


def test_a_body_replaced_between_two_ranges_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdfocr_core.s3_bucket._RANGE", 1000)
    with stub_s3() as server:
        server.objects["b/a//big.pdf"] = b"1" * 3000
        chunks = open_store("s3://b", server.settings).stream("a//big.pdf")
        next(chunks)
        server.objects["b/a//big.pdf"] = b"2" * 3000
        with pytest.raises(ObjectChanged):
            next(chunks)


def test_throttling_is_waited_out() -> None:
    with stub_s3() as server:
        store = open_store("s3://b", server.settings)
        server.objects["b/a//x.pdf"] = PDF
        slow = iter([(503, "SlowDown"), (503, "SlowDown")])
        server.trouble = lambda *_: next(slow, None)
        assert store.read("a//x.pdf") == PDF


def test_gone_changed_and_refused_are_told_apart(tmp_path: Path) -> None:
    with stub_s3() as server:
        opener = filled(server)
        documents = {one.url.removeprefix("s3://b/"): one.document for one in expand(["s3://b/a"], opener=opener)}
        del server.objects["b/a//b.pdf"]
        server.objects["b/a/./c.pdf"] = b"another"

        def trouble(method: str, place: str, headers: dict[str, str]) -> tuple[int, str] | None:
            """Some stores list such a key and refuse to be asked for it, or look for it elsewhere."""
            refusals = {"b/a/../d.pdf": (400, "InvalidURI"), "b/a/tab\t.pdf": (404, "NoSuchKey")}
            return refusals.get(place)

        server.trouble = trouble
        reasons: dict[str, Reason] = {}
        with Fetcher(opener=opener) as fetcher:
            for key in ("a//b.pdf", "a/./c.pdf", "a/../d.pdf", "a/tab\t.pdf"):
                with pytest.raises(DocumentError) as caught:
                    fetcher.fetch(documents[key], tmp_path)
                reasons[key] = caught.value.reason
        assert reasons == {
            "a//b.pdf": Reason.SOURCE_MISSING,
            "a/./c.pdf": Reason.SOURCE_CHANGED,
            "a/../d.pdf": Reason.UNNAMEABLE_KEY,
            "a/tab\t.pdf": Reason.UNNAMEABLE_KEY,
        }


def test_they_are_indexed_once(tmp_path: Path) -> None:
    with stub_s3() as server:
        opener = filled(server)
        workspace = open_workspace(str(tmp_path / "ws"))
        first = update_index(workspace, ["s3://b"], IndexSettings(), opener=opener)
        again = update_index(workspace, ["s3://b"], IndexSettings(), opener=opener)
        assert (first.new_documents, again.documents, again.new_documents) == (12, 12, 0)
        assert {row.problem for row in workspace.read_index()} == {None}


def test_where_no_other_way_leads_to_them_they_are_rows() -> None:
    class Listing(Store):
        def list(self, prefix: str = "", *, offset: str | None = None):  # type: ignore[no-untyped-def]
            for stored in super().list(prefix, offset=offset):
                yield stored.__class__("a//b.pdf", stored.size, stored.e_tag, stored.last_modified)

    from obstore.store import MemoryStore

    bucket = Listing(MemoryStore(), "gs://b")
    bucket.write("a/b.pdf", PDF)
    (found,) = expand(["gs://b"], opener=lambda _: bucket)
    assert (found.url, found.problem) == ("gs://b/a//b.pdf", Reason.UNNAMEABLE_KEY)
