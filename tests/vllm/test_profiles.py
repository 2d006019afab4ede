"""The argument parser of a real vLLM takes the command line of every profile."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pdfocr_core.engines.profile import Profile, all_profiles
from pdfocr_core.serving.vllm import VllmServer
from tests.vllm.conftest import PROGRAM

PROFILES = [profile for profile in all_profiles() if profile.name != "pdfocr-cpu"]


def parse(lines: dict[str, list[str]]) -> dict[str, str]:
    done = subprocess.run(
        [Path(PROGRAM).with_name("python"), Path(__file__).with_name("parse_arguments.py")],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout
    return json.loads(said[said.index("{") :])


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    lines = {
        profile.name: VllmServer(
            profile.model,
            revision=profile.revision,
            serve_args=profile.serve.args,
            env=profile.serve.env,
            executable=PROGRAM,
        ).command(8000)[1:]
        for profile in PROFILES
    }
    return parse({**lines, "wrong": ["serve", "model", "--max-modle-len", "9"]})


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_command_line_is_taken(profile: Profile, verdicts: dict[str, str]) -> None:
    # What only loading the model would show stands in the profile as `version_gated`.
    assert verdicts[profile.name] == ""


def test_a_wrong_flag_would_be_noticed(verdicts: dict[str, str]) -> None:
    assert "--max-modle-len" in verdicts["wrong"]
