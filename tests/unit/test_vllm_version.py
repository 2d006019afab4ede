"""A model that the installed vLLM does not serve is refused with the range, the reason and the way out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pdfocr_core.engines.profile import all_profiles
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.choice import build_server
from pdfocr_core.serving.vllm import VllmServer
from pdfocr_core.serving.vllm_version import VersionRange, installed_version
from pdfocr_core.settings import EngineKind, ServerSettings


def fake_vllm(folder: Path, version: str) -> str:
    """A program that tells its version and serves nothing, noting down that it was asked to."""
    program = folder / "vllm"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = serve ]; then touch {folder}/served; exit 1; fi\necho "INFO 12:00"\necho {version}\n'
    )
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("least", "most", "inside"),
    [
        (None, None, True),
        ("0.29", None, True),
        ("0.29.2", None, False),
        ("0.30.0", None, False),
        (None, "0.29", True),
        (None, "0.29.1", True),
        (None, "0.29.0", False),
        (None, "0.28", False),
    ],
)
def test_a_bound_speaks_for_as_many_numbers_as_it_has(least: str | None, most: str | None, inside: bool) -> None:
    assert ("0.29.1+cpu" in VersionRange(least, most)) is inside


@pytest.mark.parametrize(
    ("version", "model", "words"),
    [
        ("0.32.0", "lighton-ocr2", ["at least 0.11.1 and at most 0.26.0", "0.27.1 loops", "'vllm>=0.11.1,<=0.26.0'"]),
        ("0.22.1", "unlimited-ocr", ["at least 0.26.0", "'vllm>=0.26.0'"]),
        ("0.32.0", "jina-ocr", ["at most 0.29.0"]),
    ],
)
def test_another_version_is_refused_before_it_is_started(
    tmp_path: Path, version: str, model: str, words: list[str]
) -> None:
    program = fake_vllm(tmp_path, version)
    settings = ServerSettings(engine=EngineKind.VLLM, model=model, vllm_program=program, revision="0123abcd")
    with pytest.raises(ConfigurationError) as refused:
        build_server(settings, EngineKind.VLLM).start()
    said = str(refused.value)
    for word in [*words, f"{program} is version {version}", "PDFOCR_VLLM_PROGRAM"]:
        assert word in said
    assert not (tmp_path / "served").exists()


def test_a_last_version_has_its_reason() -> None:
    bounded = [profile for profile in all_profiles() if profile.serve.max_vllm]
    assert bounded
    assert [profile.name for profile in bounded if not profile.serve.version_gated] == []


def test_a_version_inside_the_range_is_started(tmp_path: Path) -> None:
    program = fake_vllm(tmp_path, "0.26.0")
    (tmp_path / "config.json").write_text("{}")
    server = VllmServer(str(tmp_path), executable=program, versions=VersionRange("0.11.1", "0.26.0"))
    with pytest.raises(Exception, match="ended while starting"):
        server.start()
    assert (tmp_path / "served").exists()


def test_a_profile_of_ones_own_lifts_the_bound(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "mine.yaml").write_text(
        f"name: mine\nextends: jina-ocr\nmodel: {tmp_path}\nserve: {{min_vllm: null, max_vllm: null}}\n"
    )
    settings = ServerSettings(
        engine=EngineKind.VLLM,
        model="mine",
        vllm_program=fake_vllm(tmp_path, "9.0"),
        profiles_dir=str(tmp_path),
        revision="0123abcd",
    )
    with pytest.raises(Exception, match="ended while starting"):
        build_server(settings, EngineKind.VLLM).start()


def test_the_version_comes_from_the_metadata_beside_the_program(tmp_path: Path) -> None:
    # A link to our own Python stands for an environment; in it there is no vLLM, so the program itself is asked.
    (tmp_path / "python").symlink_to(sys.executable)
    assert installed_version(fake_vllm(tmp_path, "0.31.0rc1")) == "0.31.0rc1"
    (tmp_path / "python").unlink()
    (tmp_path / "python").write_text("#!/bin/sh\necho 0.30.2+cpu\n")
    (tmp_path / "python").chmod(0o755)
    assert installed_version(fake_vllm(tmp_path, "0.31.0")) == "0.30.2+cpu"
    assert installed_version("/no/such/vllm") is None
