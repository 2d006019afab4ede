"""Running the real command in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"


@dataclass
class Command:
    """The `pdfocr` command in a folder, with no settings from outside."""

    folder: Path
    workspace_name: str = "workspace"

    @property
    def workspace(self) -> Path:
        return self.folder / self.workspace_name

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PDFOCR_", "DAGSTER_"))}
        # Pictures for people cost time in every run; the tests of what people see ask for them.
        return {**inherited, "PYTHONUNBUFFERED": "1", "PDFOCR_REPORT_PAGES": "0", "PDFOCR_THUMBNAILS": "0"}

    def argv(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "pdfocr_dagster.cli", *map(str, arguments)]

    def start(self, *arguments: object, extra_environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*arguments),
            cwd=self.folder,
            env={**self.environment, **(extra_environment or {})},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __call__(
        self, *arguments: object, code: int | None = 0, extra_environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, extra_environment=extra_environment)
        stdout, stderr = process.communicate()
        done = subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
        if code is not None:
            assert done.returncode == code, done.stdout + done.stderr
        return done

    def run(self, *arguments: object, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        return self("run", *arguments, "--workspace", self.workspace, code=code)

    def books(self) -> dict[str, Any]:
        return json.loads(self("status", self.workspace, "--json").stdout)

    def status_rows(self, root: Path = SAMPLES) -> dict[str, dict[str, Any]]:
        """Status rows by the document's name below `root`."""
        rows = [
            json.loads(line)
            for path in sorted((self.workspace / "status").glob("*.jsonl"))
            for line in path.read_text().splitlines()
        ]
        return {row["url"].removeprefix(f"{root}/"): row for row in rows}

    def dolma(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for path in sorted((self.workspace / "results").glob("*.jsonl"))
            for line in path.read_text().splitlines()
        ]


@pytest.fixture
def pdfocr(tmp_path: Path) -> Command:
    return Command(tmp_path)
