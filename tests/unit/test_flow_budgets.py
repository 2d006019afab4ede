"""Budgets of the flow: temporary disk, and the settings that reach those who keep to them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pdfocr_core.documents import Document
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.flow.disk import DiskBudget
from pdfocr_core.session import Session
from pdfocr_core.settings import ArchiveLimits, IndexSettings, ReadSettings, ServerSettings
from pdfocr_dagster.environment import settings_from


def of_archive(size: int) -> Document:
    return Document("/a.tar::b.pdf", "1#0", bytes=size, member=0)


def test_copies_wait_for_room_and_a_large_one_goes_alone() -> None:
    async def play() -> list[str]:
        budget = DiskBudget(100)
        told: list[str] = []

        async def take(name: str, size: int) -> int:
            taken = await budget.take(of_archive(size))
            told.append(name)
            return taken

        first, second = await take("first", 60), await take("second", 40)
        waiting = [asyncio.create_task(take("large", 500)), asyncio.create_task(take("next", 1))]
        await asyncio.sleep(0.01)
        assert told == ["first", "second"]
        budget.give_back(first)
        await asyncio.sleep(0.01)
        assert told == ["first", "second"]  # the large one still waits, and nobody overtakes it
        budget.give_back(second)
        budget.give_back(await waiting[0])
        budget.give_back(await waiting[1])
        assert budget.bytes == 0
        return told

    assert asyncio.run(play()) == ["first", "second", "large", "next"]


def test_local_files_take_no_room() -> None:
    assert asyncio.run(DiskBudget(1).take(Document(str(Path("/a.pdf")), "1", bytes=10**12))) == 0


def test_limits_of_archives_have_variables_and_reach_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_MAX_MEMBER_BYTES", "1000")
    monkeypatch.setenv("PDFOCR_MAX_RATIO", "50")
    wanted = ArchiveLimits(max_member_bytes=1000, max_ratio=50)
    assert settings_from(IndexSettings, {}).archive_limits == wanted
    read = settings_from(ReadSettings, {})
    assert read.archive_limits == wanted
    with Session(read, ServerSettings(engine="cpu", model="pdfocr-cpu")) as session:
        assert session.settings.archive_limits == wanted
    monkeypatch.setenv("PDFOCR_MAX_MEMBERS", "0")
    with pytest.raises(ConfigurationError, match="max_members"):
        settings_from(IndexSettings, {})
