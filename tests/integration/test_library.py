"""pdfocr as a library, without a workspace and without Dagster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pdfocr_core import read_document, stream_pages
from pdfocr_core.errors import ConfigurationError, DocumentError, Reason
from tests.counting_server import counting_server
from tests.documents import write_pdf
from tests.integration.conftest import SAMPLES


def test_one_document(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["first", "", "third"])
    with counting_server() as server:
        document = read_document(path, server_url=server.url, model="pdfocr-cpu")
        assert server.requests == 2
    assert [(page.page, page.status.value) for page in document.pages] == [(1, "ok"), (2, "blank"), (3, "ok")]
    assert document.markdown.count("Picture ") == 2
    assert document.dolma["metadata"]["pdf-total-pages"] == 3
    assert document.document.content_id is not None


def test_pages_come_as_they_are_read(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["first", "second"])

    async def collect(url: str) -> list[int]:
        return [page.page async for page in stream_pages(path, server_url=url, model="pdfocr-cpu")]

    with counting_server() as server:
        assert sorted(asyncio.run(collect(server.url))) == [1, 2]


def test_what_cannot_be_read_says_why(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    with counting_server() as server:
        with pytest.raises(DocumentError, match="password") as caught:
            read_document(SAMPLES / "locked.pdf", server_url=server.url, model="pdfocr-cpu")
        assert (caught.value.reason, caught.value.remedy != "") == (Reason.PASSWORD_REQUIRED, True)
        with pytest.raises(ConfigurationError, match="2 documents"):
            read_document(SAMPLES / "parish.tar.gz", server_url=server.url, model="pdfocr-cpu")
        with pytest.raises(ConfigurationError, match=r"nowhere\.pdf"):
            read_document(tmp_path / "nowhere.pdf", server_url=server.url, model="pdfocr-cpu")
    assert not [warning for warning in recwarn if "coroutine" in str(warning.message)]
