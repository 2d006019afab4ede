"""Kills processes of `pdfocr run` at random, by seed, and checks that nothing was lost, repeated or left behind.

The run starts its own server, so that all its processes can be killed: the run itself, a drawing process, the server, and
the guard between the two. Runs are forked from a process that has imported everything, so that a kill finds them at work
and not at importing.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import psutil

from pdfocr_core.outputs.report import books_of
from pdfocr_core.testing.server import good_text
from pdfocr_core.workspace import open_workspace
from tests.documents import write_collection, write_pdf
from tests.faults import stand_in_vllm
from tests.faults.outcome import differences, durable_texts, outcome
from tests.integration.conftest import Command

DOCUMENTS, PAGES_EACH = 24, 3
SECONDS = 0.2  # for one answer, three of which are on their way
VICTIMS = {"run": 4, "renderer": 3, "server": 2, "guard": 2}  # how often each is chosen
PROGRAMS = {
    "renderer": "pdfocr_core.rendering.child",
    "server": "tests.faults.stand_in_vllm",
    "guard": "serving/guard.py",
}
GAVE_UP = re.compile(r"^pdfocr: .*was killed from outside", re.MULTILINE)

_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["pdfocr_dagster.cli", "pdfocr_dagster.command"])


@dataclass
class Tally:
    """What the rounds came to."""

    killed: Counter[str] = field(default_factory=Counter)
    collections: int = 0
    pages: int = 0
    asked: int = 0
    durable: int = 0

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.killed.items()))
        return (
            f"{self.killed.total()} rounds: {kinds}; {self.collections} collections with {self.pages} pages, "
            f"asked {self.asked} times; {self.durable} pages durable at a kill, none of them asked again"
        )


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


def run_command(argv: list[str], folder: Path, environment: dict[str, str]) -> None:
    """The `pdfocr` command, in a process that was forked for it."""
    from pdfocr_dagster.cli import main

    log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["pdfocr", *argv]
    main()


class Episode:
    """One collection from its first run to its end, however many runs that takes."""

    def __init__(self, folder: Path, sources: Path, say: Callable[[str], None]) -> None:
        self.command = Command(folder)
        (folder / "tmp").mkdir(parents=True)
        self.sources, self._say = sources, say
        self.process: ForkServerProcess | None = None
        self.durable: dict[str, int] = {}
        self.committed: dict[Path, int] = {}
        self._server_hit = 0  # kills of the server or its guard since the run was started
        self._log = folder / "asked"
        self._log.touch()
        self.environment = {
            **self.command.environment,
            "PDFOCR_VLLM_PROGRAM": str(stand_in_vllm.program(folder)),
            "PDFOCR_CHECKPOINT_INTERVAL_S": "0.2",
            "PDFOCR_RESTARTS": "1000",
            "TMPDIR": str(folder / "tmp"),
            "STAND_IN_ASKED": str(self._log),
            "STAND_IN_SECONDS": str(SECONDS),
        }

    def start(self) -> None:
        options = ("--engine", "vllm", "--model", "olmocr-2", "--in-flight", 3, "--pages-per-group", 15, "--quiet")
        argv = ["run", *map(str, (self.sources, *options, "--workspace", self.command.workspace))]
        self._server_hit = 0
        self.process = _FORKS.Process(target=run_command, args=(argv, self.command.folder, self.environment))
        self.process.start()

    def strike(self, chance: random.Random) -> str | None:
        """Kill something at a random moment. None when the run was over before."""
        assert self.process is not None
        (victim,) = chance.choices(list(VICTIMS), list(VICTIMS.values()))
        early, moment, requests = chance.random() < 0.3, chance.uniform(0.0, 2.0), chance.randint(1, 25)
        if not early:
            goal = self.asked().total() + requests
            wait_until(lambda: self.is_over() or self.asked().total() >= goal)
            moment /= 10
        time.sleep(moment)
        if self.is_over():
            return None
        if victim != "run" and (family := self._family(PROGRAMS[victim])):
            with contextlib.suppress(psutil.NoSuchProcess):  # it may end by itself in this moment
                chance.choice(family).kill()
            self._server_hit += victim != "renderer"
        else:
            victim = "run"
            self._kill_run()
        self._note_durable()
        self._say(f"{victim} after {self.asked().total()} requests, {len(self.durable)} pages durable")
        return victim

    def is_over(self) -> bool:
        return self.process is None or self.process.exitcode is not None

    def asked(self) -> Counter[str]:
        """Requests by the text of the page they were for."""
        return Counter(good_text(digest) for digest in self._log.read_text().splitlines())

    def _family(self, program: str) -> list[psutil.Process]:
        """Processes of the run that run this program, and none that only starts one."""
        assert self.process is not None
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    before_the_command = " ".join(child.cmdline()).partition(" -- ")[0]
                    if program in before_the_command:
                        found.append(child)
        return found

    def _kill_run(self) -> None:
        assert self.process is not None
        run = psutil.Process(self.process.pid)
        self.process.kill()
        # Not `join`: it waits for a pipe, and Dagster's `tail` may hold that open. The next run ends an orphan of these.
        wait_until(lambda: not is_alive(run))
        self.process = None
        wait_until(lambda: not [one for one in self._processes() if one.info["name"] != "tail"])
        # What is committed now must never be touched.
        pages = self.command.workspace / "pages"
        self.committed = {path: path.stat().st_mtime_ns for path in pages.glob("*.zst")} | self.committed
        for path in self.command.workspace.rglob("*#*"):
            os.utime(path, (0, 0))  # as if the next run came an hour later

    def _note_durable(self) -> None:
        """What is on disk now must never be asked again."""
        texts = durable_texts(self.command.workspace)
        asked = self.asked()
        self.durable = {**{text: asked[text] for text in texts}, **self.durable}

    def _processes(self) -> list[psutil.Process]:
        found = psutil.process_iter(["cwd", "name"])
        return [one for one in found if str(one.info["cwd"] or "").startswith(str(self.command.folder))]

    def _said(self) -> str:
        return (self.command.folder / "log").read_text()[-5000:]

    def finish(self, pages: int) -> None:
        """Let the run end, or run once more, and look at what is there."""
        if self.process is None:
            self.start()
        assert self.process is not None
        self.process.join()
        if self.process.exitcode != 0 and self._server_hit > 1 and GAVE_UP.search(self._said()):
            # A server that is killed again and again while it starts ends the run, as it should: the next goes on.
            self.start()
            self.process.join()
        assert self.process.exitcode == 0, self._said()
        workspace = self.command.workspace
        books, _rows = books_of(open_workspace(str(workspace)))
        assert (books.balanced, books.pending, books.pages_ok) == (True, 0, pages)
        asked = self.asked()
        assert {text: asked[text] for text in self.durable} == self.durable
        assert {path: path.stat().st_mtime_ns for path in self.committed} == self.committed
        wait_until(lambda: not self._processes(), 120)
        assert not list((self.command.folder / "tmp").glob("pdfocr-*"))
        assert not [path for path in workspace.rglob("*") if "#" in path.name or "part-" in path.name]


def crash_rounds(folder: Path, rounds: int, seed: int, say: Callable[[str], None] = lambda _line: None) -> Tally:
    """So many kills, over as many collections as that takes."""
    chance = random.Random(seed)
    sources = folder / "sources"
    pages = write_sources(sources)
    reference = Episode(folder / "undisturbed", sources, say)
    reference.finish(pages)
    undisturbed = outcome(reference.command.workspace)
    tally = Tally()
    while tally.killed.total() < rounds:
        episode = Episode(folder / f"after{tally.killed.total()}", sources, say)
        over = False
        while not over and tally.killed.total() < rounds:
            if episode.process is None:
                episode.start()
            victim = episode.strike(chance)
            over = victim is None
            tally.killed.update([victim] if victim else [])
        episode.finish(pages)
        assert differences(outcome(episode.command.workspace), undisturbed) == []
        tally.collections += 1
        tally.pages += pages
        tally.asked += episode.asked().total()
        tally.durable += len(episode.durable)
    return tally


def is_alive(process: psutil.Process) -> bool:
    """Whether it is there and no zombie; it may go at any moment, also between two questions."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
