"""A model's own code runs only where a profile or the user says so, and only in a pinned revision."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pdfocr_core.engines.profile import all_profiles
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.choice import build_server
from pdfocr_core.serving.trust import TRUST_FLAG
from pdfocr_core.serving.vllm import VllmServer
from pdfocr_core.settings import EngineKind, ServerSettings

PROFILES = all_profiles([])
TRUSTING = [profile for profile in PROFILES if profile.serve.trust_remote_code]


def command(server: VllmServer) -> list[str]:
    return server.command(8000)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_code_runs_only_where_the_profile_says_so_and_pinned(profile) -> None:  # type: ignore[no-untyped-def]
    settings = ServerSettings(engine=EngineKind.VLLM, model=profile.name, vllm_program=sys.executable)
    if profile.serve.trust_remote_code and profile.revision is None:
        with pytest.raises(ConfigurationError, match="PDFOCR_REVISION"):
            build_server(settings, EngineKind.VLLM)
        settings = settings.model_copy(update={"revision": "0123abcd"})
    server = build_server(settings, EngineKind.VLLM)
    assert isinstance(server, VllmServer)
    argv = command(server)
    assert (TRUST_FLAG in argv) == profile.serve.trust_remote_code
    if TRUST_FLAG in argv:
        assert argv[argv.index("--revision") + 1] == (profile.revision or "0123abcd")


def test_there_are_profiles_of_both_kinds() -> None:
    assert 0 < len(TRUSTING) < len(PROFILES)


@pytest.mark.parametrize("flag", [TRUST_FLAG, "--trust_remote_code", "--trust-remote-code=true"])
def test_the_users_own_flag_needs_a_revision_too(flag: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no revision"):
        VllmServer("org/model", extra_args=[flag], executable=sys.executable)
    pinned = VllmServer("org/model", extra_args=[flag, "--revision", "0123abcd"], executable=sys.executable)
    assert "0123abcd" in command(pinned)
    # What lies on this machine was put there by someone.
    assert VllmServer(str(tmp_path), extra_args=[flag], executable=sys.executable).model == str(tmp_path)
