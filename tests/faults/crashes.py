"""Kills processes of `pdfocr run` at random, by seed, and checks that nothing was lost, repeated or left behind."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from pdfocr_core.records import PageRecord
from pdfocr_core.testing.plan import Plan
from pdfocr_core.testing.server import MODEL, FaultServer, fault_server
from pdfocr_core.workspace import open_workspace
from tests.documents import write_collection, write_pdf
from tests.integration.conftest import Command

DOCUMENTS, PAGES_EACH = 16, 3
VICTIMS = ("command", "command", "command", "renderer", "renderer", "server")


def write_sources(folder: Path) -> int:
    """Files, and an archive whose members go through the temporary folder. Returns the pages there are."""
    write_collection(folder, documents=DOCUMENTS, pages=PAGES_EACH)
    packed = folder / "packed.tar"
    with tarfile.open(packed, "w") as archive:
        for number in range(4):
            path = write_pdf(folder / "member.tmp", [f"member {number} page {page}" for page in range(PAGES_EACH)])
            data = path.read_bytes()
            entry = tarfile.TarInfo(f"member{number}.pdf")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
            path.unlink()
    return (DOCUMENTS + 4) * PAGES_EACH


class Episode:
    """One collection from its first run to its end, however many runs that takes."""

    def __init__(self, folder: Path, sources: Path, server: FaultServer, say: Callable[[str], None]) -> None:
        self.command = Command(folder)
        (folder / "tmp").mkdir(parents=True)
        self.sources, self.server, self._say = sources, server, say
        self.process: subprocess.Popen[str] | None = None
        self.durable: dict[str, int] = {}
        self.committed: dict[Path, int] = {}

    def start(self) -> None:
        options = ("--engine", "remote", "--model", MODEL, "--server", self.server.url, "--in-flight", 3)
        extra = {"PDFOCR_CHECKPOINT_INTERVAL_S": "0.2", "TMPDIR": str(self.command.folder / "tmp")}
        place = ("--workspace", self.command.workspace, "--pages-per-group", 9, "--quiet")
        self.process = self.command.start("run", self.sources, *options, *place, extra_environment=extra)

    def strike(self, chance: random.Random) -> str | None:
        """Kill something at a random moment. None when the run was over before."""
        assert self.process is not None
        victim = chance.choice(VICTIMS)
        early, moment, requests = chance.random() < 0.3, chance.uniform(0.0, 3.0), chance.randint(1, 25)
        if not early:
            goal = self.server.asked.total() + requests
            wait_until(lambda: self.process_is_over() or self.server.asked.total() >= goal)
            moment /= 10
        time.sleep(moment)
        if self.process_is_over():
            return None
        if victim == "server":
            self.server.crash()
        elif victim == "renderer" and (children := self._renderers()):
            chance.choice(children).kill()
        else:
            victim = "command"
            self._kill_command()
        self._say(f"{victim} after {self.server.asked.total()} requests")
        return victim

    def process_is_over(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def _renderers(self) -> list[psutil.Process]:
        assert self.process is not None
        try:
            children = psutil.Process(self.process.pid).children(recursive=True)
            return [child for child in children if "pdfocr_core.rendering.child" in child.cmdline()]
        except psutil.Error:
            return []

    def _kill_command(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()
        self.process = None
        wait_until(lambda: not self._processes())
        # What is on disk now must never be asked again, and what is committed never be touched.
        self.durable.update({text: self._asked(text) for text in durable_texts(self.command.workspace)})
        pages = self.command.workspace / "pages"
        self.committed.update({path: path.stat().st_mtime_ns for path in pages.glob("*.zst")})
        for path in self.command.workspace.rglob("*#*"):
            os.utime(path, (0, 0))  # as if the next run came an hour later

    def _asked(self, text: str) -> int:
        return self.server.asked[text.removeprefix("Picture ").removesuffix(".")]

    def _processes(self) -> list[int]:
        found = psutil.process_iter(["cwd"])
        return [one.pid for one in found if str(one.info["cwd"] or "").startswith(str(self.command.folder))]

    def finish(self, pages: int, undisturbed: tuple[dict[str, Any], list[Any]] | None) -> None:
        """Let the run end, or run once more, and compare."""
        if self.process is None:
            self.start()
        assert self.process is not None
        said = self.process.communicate()
        assert self.process.returncode == 0, said
        workspace = self.command.workspace
        books = self.command.books()
        assert (books["balanced"], books["pages_ok"]) == (True, pages)
        assert {text: self._asked(text) for text in self.durable} == self.durable
        assert {path: path.stat().st_mtime_ns for path in self.committed} == self.committed
        assert not self._processes()
        assert not list((self.command.folder / "tmp").glob("pdfocr-*"))
        assert not [path for path in workspace.rglob("*") if "#" in path.name or "part-" in path.name]
        if undisturbed is not None:
            assert self.outputs() == undisturbed[0]
            assert self.records() == undisturbed[1]

    def outputs(self) -> dict[str, bytes]:
        """What readers of the workspace get."""
        root = self.command.workspace
        files = [path for name in ("results", "status", "markdown", "groups") for path in (root / name).rglob("*")]
        return {str(path.relative_to(root)): path.read_bytes() for path in files if path.is_file()}

    def records(self) -> list[dict[str, Any]]:
        """All page records without their times."""
        opened = open_workspace(str(self.command.workspace))
        found = [record.model_dump() for key in sorted(opened.group_keys()) for record in opened.read_pages(key) or []]
        for record in found:
            record.pop("started_at", None)
            record.pop("finished_at", None)
            for attempt in record.get("attempts", []):
                attempt.pop("seconds")
        return found


def crash_rounds(folder: Path, rounds: int, seed: int, say: Callable[[str], None] = lambda _line: None) -> Counter[str]:
    """So many kills, over as many collections as that takes. Returns what was killed how often."""
    chance = random.Random(seed)
    sources = folder / "sources"
    pages = write_sources(sources)
    killed: Counter[str] = Counter()
    with fault_server(Plan()) as server:
        reference = Episode(folder / "undisturbed", sources, server, say)
        reference.finish(pages, None)
        undisturbed = (reference.outputs(), reference.records())
    while killed.total() < rounds:
        with fault_server(Plan(down_s=0.5), seconds=0.12) as server:
            episode = Episode(folder / f"after{killed.total()}", sources, server, say)
            over = False
            while not over and killed.total() < rounds:
                if episode.process is None:
                    episode.start()
                victim = episode.strike(chance)
                over = victim is None
                killed.update([victim] if victim else [])
            episode.finish(pages, undisturbed)
    return killed


def durable_texts(workspace: Path) -> set[str]:
    """Texts of all pages that are on disk, in parts or committed."""
    if not (workspace / "index").exists():
        return set()
    opened = open_workspace(str(workspace))
    records = [one for key in opened.group_keys() for one in [*(opened.read_pages(key) or []), *opened.read_parts(key)]]
    return {record.text for record in records if isinstance(record, PageRecord)}


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
