"""The command with a real vLLM (CPU build) and a tiny model with random weights.

`make vllm-test` sets PDFOCR_VLLM, the path of the `vllm` program; without it these tests are skipped.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
import yaml

from pdfocr_core.records import PageRecord
from pdfocr_core.workspace import open_workspace
from tests.integration.conftest import Command

PROGRAM = os.environ.get("PDFOCR_VLLM", "")
ROOT = Path(__file__).parents[2]
MARK = "PDFOCR_TEST_MARK"

# Its letters are random. No stop may come before `min_tokens`, which the front matter, one token a byte, stays below; then
# the first of some letters ends the answer. Nothing else is asked for than of a model that was trained.
PROFILE: dict[str, Any] = {
    "name": "tiny-ocr",
    "tier": 3,
    "licence": {"id": "Apache-2.0", "restricted": False},
    "serve": {
        "args": [
            *("--load-format", "dummy", "--dtype", "float32", "--enforce-eager", "--max-model-len", "4096"),
            *("--limit-mm-per-prompt", '{"image": 1}', "--no-enable-prefix-caching", "--mm-processor-cache-gb", "0"),
        ],
        "env": {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_MAX_STOP_STRINGS": "64"},
    },
    "image": {"format": "jpeg", "longest_side_px": 400},
    "message": {"order": ["text", "image"]},
    "prompt": {"text": "OCR:", "wording": "task"},
    "sampling": {
        "temperature": 1.0,
        "temperatures": [1.0] * 8,
        "max_tokens": 600,
        "extra_body": {"min_tokens": 135, "stop": list("abcdefghijklmno")},
    },
    "output_format": "front_matter",
    "post": ["front_matter", "strip"],
    "worst_image_tokens": 256,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder need the program."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.vllm)
            item.add_marker(pytest.mark.timeout(900))
            if not PROGRAM:
                item.add_marker(
                    pytest.mark.skip(reason="PDFOCR_VLLM is not set: `make vllm-test` installs a vLLM and sets it")
                )


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny-model")
    subprocess.run([sys.executable, ROOT / "tools" / "make_tiny_vlm.py", folder], check=True)
    return folder


@dataclass
class VllmCommand(Command):
    """`pdfocr run --engine vllm` with the tiny model; each start of the server is noted down."""

    model: Path = Path()
    mark: str = field(default_factory=lambda: uuid4().hex)
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.write_profile()
        starts, program = self.folder / "starts", self.folder / "vllm"
        starts.touch()
        program.write_text(
            f'#!/bin/sh\n[ "$1" = serve ] && echo "$*" >> {shlex.quote(str(starts))}\nexec {shlex.quote(PROGRAM)} "$@"\n'
        )
        # What stands beside the program is asked for the version.
        python = self.folder / "python"
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(str(Path(PROGRAM).with_name("python")))} "$@"\n')
        for script in (program, python):
            script.chmod(0o755)

    def write_profile(self, model: str | None = None, serve: dict[str, object] | None = None) -> None:
        """The tiny model's profile, or one with something else in it."""
        said = {**PROFILE, "model": model or str(self.model), "serve": {**PROFILE["serve"], **(serve or {})}}
        path = self.folder / "profiles" / "tiny.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(said))

    @property
    def environment(self) -> dict[str, str]:
        return {
            **super().environment,
            MARK: self.mark,
            "PDFOCR_ENGINE": "vllm",
            "PDFOCR_MODEL": "tiny-ocr",
            "PDFOCR_PROFILES_DIR": str(self.folder / "profiles"),
            "PDFOCR_VLLM_PROGRAM": str(self.folder / "vllm"),
            "PDFOCR_CHECKPOINT_INTERVAL_S": "0.2",
            **self.settings,
        }

    @property
    def starts(self) -> int:
        """How often `vllm serve` was started."""
        return len((self.folder / "starts").read_text().splitlines())

    def pages(self) -> list[PageRecord]:
        """Every page that is durable."""
        opened = open_workspace(str(self.workspace))
        records = [
            record for key in opened.group_keys() for record in (opened.read_pages(key) or opened.read_parts(key))
        ]
        return [record for record in records if isinstance(record, PageRecord)]

    def processes(self) -> list[psutil.Process]:
        """Everything that carries this command's mark, whoever its parent is by now."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark and lives(process):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def process(self, words: str) -> psutil.Process:
        """The newest of them whose command line has these words."""
        found = [process for process in self.processes() if words in " ".join(process.cmdline())]
        assert found, f"no process {words}"
        return max(found, key=lambda process: process.create_time())

    def serving(self) -> list[psutil.Process]:
        """The processes of `vllm serve` itself."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                line = process.cmdline()
                if "serve" in line and not any(word.endswith("guard.py") for word in line):
                    found.append(process)
        return found

    def wait_for_pages(self, number: int, process: subprocess.Popen[str]) -> None:
        """Wait until that many pages are durable."""
        wait_until(lambda: process.poll() is not None or (self.workspace.exists() and len(self.pages()) >= number), 400)
        assert process.poll() is None, process.communicate()

    def assert_nothing_is_left(self) -> None:
        """No process of the command or of its server, some seconds at most after the end."""
        wait_until(lambda: not self.processes(), 30, lambda: str([process.cmdline() for process in self.processes()]))


def lives(process: psutil.Process) -> bool:
    """Whether it runs; one that has ended and is only not yet collected holds nothing any more."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], seconds: float, say: Callable[[], str] = lambda: "") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain {say()}"
        time.sleep(0.1)


@pytest.fixture
def vllm_run(tmp_path: Path, tiny_model: Path) -> VllmCommand:
    return VllmCommand(tmp_path, model=tiny_model)
