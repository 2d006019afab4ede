"""Where the time of a run went, by stage."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pdfocr_core.session import Session, index_sources
from pdfocr_core.settings import EngineKind, IndexSettings, ReadSettings, RenderSettings, ServerSettings
from pdfocr_core.workspace import open_workspace
from tests.counting_server import counting_server
from tests.documents import write_collection


def test_every_stage_of_a_page_is_timed(tmp_path: Path) -> None:
    sources = write_collection(tmp_path / "sources", documents=2, pages=3)
    workspace = open_workspace(str(tmp_path / "workspace"))
    index_sources(workspace, [str(sources)], IndexSettings(), RenderSettings())
    with counting_server(seconds=0.05) as server:
        settings = ServerSettings(engine=EngineKind.REMOTE, model="pdfocr-cpu", server_urls=(server.url,))

        async def read() -> dict[str, float]:
            with Session(ReadSettings(), settings) as session:
                async for _result in session.read_groups(workspace, workspace.group_keys()):
                    pass
                return session.telemetry.seconds

        seconds = asyncio.run(read())
    assert set(seconds) == {"fetch", "open", "render", "encode", "window", "server", "parse", "write"}
    assert all(spent > 0 for spent in seconds.values())
    assert seconds["server"] >= 6 * 0.05
