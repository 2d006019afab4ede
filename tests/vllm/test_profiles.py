"""A real vLLM's argument parser takes the command line of every profile; those for other versions of it are refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pdfocr_core.engines.profile import Profile, all_profiles
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.choice import build_server
from pdfocr_core.serving.vllm import VllmServer
from pdfocr_core.serving.vllm_version import VersionRange, installed_version
from pdfocr_core.settings import EngineKind, ServerSettings
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


def server(profile: Profile) -> VllmServer:
    """The server as a run would build it."""
    settings = ServerSettings(
        engine=EngineKind.VLLM,
        model=profile.name,
        vllm_program=PROGRAM,
        # A profile whose model brings code of its own may leave the choice of a revision to the user.
        revision=profile.revision or ("0123abcd" if profile.serve.trust_remote_code else None),
    )
    built = build_server(settings, EngineKind.VLLM)
    assert isinstance(built, VllmServer)
    return built


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    lines = {}
    for profile in PROFILES:
        built = server(profile)
        built.streams_in_parts = True
        lines[profile.name] = built.command(8000)[1:]
    return parse({**lines, "wrong": ["serve", "model", "--max-modle-len", "9"]})


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_command_line_is_taken(profile: Profile, verdicts: dict[str, str]) -> None:
    # What only loading the model would show stands in the profile as `version_gated`.
    assert verdicts[profile.name] == ""


def test_a_wrong_flag_would_be_noticed(verdicts: dict[str, str]) -> None:
    assert "--max-modle-len" in verdicts["wrong"]


def test_profiles_for_other_versions_are_refused_with_the_reason() -> None:
    version = installed_version(PROGRAM)
    assert version is not None
    excluded = [
        profile for profile in PROFILES if version not in VersionRange(profile.serve.min_vllm, profile.serve.max_vllm)
    ]
    assert {"lighton-ocr2", "jina-ocr"} <= {profile.name for profile in excluded}
    for profile in excluded:
        with pytest.raises(ConfigurationError) as refused:
            server(profile).start()
        for words in ("needs vLLM at ", f"is version {version}", profile.serve.version_gated or "", "Install 'vllm"):
            assert words in str(refused.value)
