"""Documents that surprise the flow: their neighbours are whole and the disk is given back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.profile import load_profile
from pdfocr_core.flow.connection import Connection
from pdfocr_core.flow.group import GroupResult, Stages
from pdfocr_core.flow.scheduler import read_groups
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.serving.answers import Answer
from pdfocr_core.settings import ReadSettings, RenderSettings
from pdfocr_core.sources.fetch import FetchedDocument, Fetcher
from pdfocr_core.telemetry import Telemetry
from pdfocr_core.workspace import open_workspace
from tests.documents import write_pdf

ANSWER = (
    "---\nprimary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False\n"
    "---\nPlain words."
)


class SpoolingFetcher(Fetcher):
    """Fetches a copy of every document, as from a bucket, and breaks on one in a way that nobody foresaw."""

    def fetch(self, document: Document, directory: Path) -> FetchedDocument:
        if document.url.endswith("surprise.pdf"):
            raise ZeroDivisionError("a fault of ours")
        self.directory = directory
        copy = directory / Path(document.url).name
        copy.write_bytes(Path(document.url).read_bytes())
        return FetchedDocument(copy, temporary=True)


class Reader:
    async def ask(self, _body: bytes) -> Answer:
        return Answer(ANSWER, "stop", 1, 1, 0.1, "m")


def test_a_surprise_costs_one_document_and_rejected_copies_are_removed(tmp_path: Path) -> None:
    write_pdf(tmp_path / "good.pdf", ["text"])
    (tmp_path / "surprise.pdf").write_bytes(b"%PDF-")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    group = PageGroup(tuple(Document(str(path), "1") for path in sorted(tmp_path.glob("*.pdf"))))
    workspace = open_workspace(str(tmp_path / "workspace"))
    workspace.write_manifest(group)
    fetcher = SpoolingFetcher()

    async def connect() -> Connection:
        return Connection(Reader(), "m", in_flight=1)

    async def read() -> tuple[list[GroupResult], list[Path]]:
        with RenderPool(RenderSettings(workers=1)) as pool:
            results = read_groups(
                [group.key],
                workspace=workspace,
                stages=Stages(),
                engine=build_engine(load_profile("pdfocr-cpu")),
                settings=ReadSettings(),
                pool=pool,
                fetcher=fetcher,
                connect=connect,
                telemetry=Telemetry(),
            )
            found, left = [], []
            async for result in results:
                found.append(result)
                left += list(fetcher.directory.glob("*.pdf"))
            return found, left

    (result,), left = asyncio.run(read())
    assert result.error is None
    reasons = {Path(row.url).name: row.reason for row in result.rows}
    assert reasons["good.pdf"] is None
    assert reasons["surprise.pdf"] == "internal_error"
    assert reasons["broken.pdf"] in ("corrupt_pdf", "truncated")
    assert left == []
