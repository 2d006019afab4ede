"""The window, checkpoint parts, the workspace's files, and the bridge to Dagster's thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfocr_core.documents import Document, PageGroup
from pdfocr_core.flow.checkpoint import Checkpoint
from pdfocr_core.flow.window import Window
from pdfocr_core.records import Method, PageRecord, PageStatus
from pdfocr_core.workspace import IndexRow, Workspace, open_workspace
from pdfocr_dagster.bridge import AsyncBridge
from pdfocr_dagster.partitions import ranges


def page(number: int, text: str = "x") -> PageRecord:
    return PageRecord(
        document_id="d",
        content_id="c",
        page=number,
        status=PageStatus.OK,
        text=text,
        method=Method.MODEL,
        engine_id="e",
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return open_workspace(str(tmp_path / "workspace"))


def test_the_window_bounds_pages_and_bytes_and_keeps_the_order() -> None:
    async def use() -> None:
        window = Window(2, 100)
        admitted: list[int] = []

        async def page(number: int, size: int) -> None:
            await window.acquire(size)
            admitted.append(number)

        tasks = [asyncio.create_task(page(number, size)) for number, size in enumerate([60, 60, 30, 500])]
        await asyncio.sleep(0)
        assert admitted == [0]  # the second would pass the byte limit, and nobody overtakes it
        window.release(60)
        await asyncio.sleep(0)
        assert admitted == [0, 1, 2]
        window.release(60)
        window.release(30)
        await asyncio.sleep(0)
        assert admitted == [0, 1, 2, 3]  # larger than the limit: alone
        await asyncio.gather(*tasks)

    asyncio.run(use())


def test_a_cancelled_wait_leaves_no_hole_in_the_window() -> None:
    async def use() -> None:
        window = Window(1, 100)
        await window.acquire(1)
        waiting = asyncio.create_task(window.acquire(1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        window.release(1)
        await asyncio.wait_for(window.acquire(1), 60)
        assert window.pages == 1

    asyncio.run(use())


def test_pages_are_durable_once_flushed(workspace: Workspace) -> None:
    async def use() -> None:
        checkpoint = Checkpoint(workspace, "k", interval_s=1000, max_bytes=5)
        checkpoint.add(page(1, "abc"))
        assert not checkpoint.due()
        checkpoint.add(page(2, "abc"))
        assert checkpoint.due()
        await checkpoint.flush()
        assert not checkpoint.due()
        checkpoint.add(page(3))
        checkpoint.flush_now()

    asyncio.run(use())
    assert sorted(record.page for record in workspace.read_parts("k")) == [1, 2, 3]
    workspace.drop_parts("k")
    assert list(workspace.read_parts("k")) == []


def test_two_runs_on_one_group_do_not_overwrite_each_other(workspace: Workspace) -> None:
    for number in (1, 2):
        checkpoint = Checkpoint(workspace, "k", interval_s=1, max_bytes=1)
        checkpoint.add(page(number))
        checkpoint.flush_now()
    assert sorted(record.page for record in workspace.read_parts("k")) == [1, 2]


_URLS = st.text(min_size=1, max_size=30, alphabet=st.characters(exclude_categories=["Cs"], include_characters="\udcff"))


@given(st.lists(_URLS, min_size=1, max_size=5, unique=True))
def test_the_index_keeps_every_name(urls: list[str]) -> None:
    workspace = open_workspace("memory://")
    rows = [IndexRow("g", str(number), url, 'v,"1', 5, 1, number or None, None) for number, url in enumerate(urls)]
    workspace.append_index(rows, "1")
    assert list(workspace.read_index()) == rows


def test_a_manifest_round_trips(workspace: Workspace) -> None:
    group = PageGroup((Document("/a\udcff.pdf", "1", 5, 2), Document("/b.tar::c", "2#1", 5, 2, 1, "unsafe_name", "…")))
    workspace.write_manifest(group)
    assert workspace.read_manifest(group.key) == group


def test_ranges_are_neighbours_and_not_too_long() -> None:
    order = [f"k{number}" for number in range(8)]
    wanted = ["k0", "k1", "k2", "k4", "k6", "k7"]
    assert ranges(order, wanted, 2) == [("k0", "k1"), ("k2", "k2"), ("k4", "k4"), ("k6", "k7")]
    assert ranges(order, [], 2) == []


def test_the_bridge_hands_items_and_errors_over() -> None:
    async def items() -> AsyncIterator[int]:
        yield 1
        yield 2
        raise ValueError("three")

    seen: list[int] = []
    with pytest.raises(ValueError, match="three"), AsyncBridge(items) as bridge:
        for item in bridge:
            seen.append(item)
    assert seen == [1, 2]


def test_leaving_the_bridge_early_cleans_up_on_the_loop() -> None:
    cleaned = threading.Event()

    async def endless() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
                await asyncio.sleep(0.01)
        finally:
            await asyncio.sleep(0.01)  # needs a living loop
            cleaned.set()

    with AsyncBridge(endless) as bridge:
        for _item in bridge:
            break
    assert cleaned.is_set()
