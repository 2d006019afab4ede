"""A server that cannot work as it is set: told with its cause and a remedy, within ten seconds of being knowable."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdfocr_core.errors import PdfocrError
from pdfocr_core.serving.choice import build_server, check_settings
from pdfocr_core.settings import EngineKind, ServerSettings
from tests.ports import quiet_port
from tests.unit.test_serving import ONE, foreign_server


def allowed_s() -> float:
    """What is promised, longer on a machine that has other things to do."""
    return 10 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def told(kind: EngineKind, **settings: object) -> str:
    """What starting such a server says."""
    started = time.monotonic()
    given = ServerSettings.model_validate({"engine": kind, **settings})
    with pytest.raises(PdfocrError) as refused:
        build_server(given, kind).start()
    assert time.monotonic() - started < allowed_s()
    # Told with what to do, not only with what happened.
    assert refused.value.remedy
    return str(refused.value)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A directory that looks like a copy of a known model, so that no hub is asked."""
    folder = tmp_path / "olmOCR-2-7B-1025-FP8"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return str(folder)


@pytest.fixture
def vllm(tmp_path: Path, model: str) -> Iterator[dict[str, object]]:
    """Settings with a program that must not be asked to serve."""
    program = tmp_path / "vllm"
    program.write_text(f"#!/bin/sh\n[ $1 = serve ] && touch {tmp_path}/served\necho 0.32.0\n")
    program.chmod(0o755)
    yield {"vllm_program": str(program), "model": model}
    assert not (tmp_path / "served").exists()


@pytest.mark.parametrize(
    ("status", "key", "words"),
    [
        (401, "wrong-key-of-mine", ["refuses the API key", "Set PDFOCR_API_KEY to a valid key"]),
        (401, None, ["asks for an API key", "Set PDFOCR_API_KEY"]),
        (403, "wrong-key-of-mine", ["denies access", "PDFOCR_API_KEY"]),
        (404, None, ["no such address", "it usually ends in /v1"]),
    ],
)
def test_a_wrong_key_or_path(status: int, key: str | None, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PDFOCR_API_KEY", raising=False)
    with foreign_server(ONE, status) as url:
        said = told(EngineKind.REMOTE, server_urls=[url], api_key=key)
    assert all(word in said for word in [*words, url])
    assert "wrong-key-of-mine" not in said


def test_a_url_where_nobody_listens() -> None:
    said = told(EngineKind.REMOTE, server_urls=[f"http://127.0.0.1:{quiet_port()}/v1"])
    assert "does not answer" in said
    assert "Check the URL" in said


def test_what_is_no_url() -> None:
    said = told(EngineKind.REMOTE, server_urls=["gpu-machine:8000"])
    assert "not an http or https URL" in said
    assert "http://gpu-machine:8000/v1" in said


def test_a_taken_port(vllm: dict[str, object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = told(EngineKind.VLLM, **vllm, vllm_args=["--port", str(port)])
    assert f"Port {port} for vLLM is taken by another program" in said
    assert "Leave the port out" in said


def test_a_model_directory_that_is_missing_or_holds_no_model(vllm: dict[str, object], model: str) -> None:
    Path(model, "config.json").unlink()
    assert "has no config.json" in told(EngineKind.VLLM, **vllm)
    Path(model).rmdir()
    assert "There is no model directory" in told(EngineKind.VLLM, **vllm)


def test_a_context_that_is_too_small(vllm: dict[str, object]) -> None:
    said = told(EngineKind.VLLM, **vllm, vllm_args=["--max-model-len", "4096"])
    assert "The context is too small for olmocr-2" in said
    assert "Raise max_model_len to" in said


def test_a_program_that_is_missing() -> None:
    said = told(EngineKind.VLLM, model="olmocr-2", vllm_program="/no/such/vllm")
    assert "There is no program /no/such/vllm" in said


def test_a_flag_the_server_does_not_know(tmp_path: Path, model: str) -> None:
    program = tmp_path / "vllm"
    program.write_text(
        '#!/bin/sh\n[ $1 = serve ] || { echo 0.32.0; exit; }\necho "vllm: error: unrecognized arguments: --x"\nexit 2\n'
    )
    program.chmod(0o755)
    said = told(EngineKind.VLLM, model=model, vllm_program=str(program), vllm_args=["--x", "1"])
    assert "does not know one of its arguments" in said
    assert "Correct or remove that argument" in said


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "olmcor-2"}, "Did you mean olmocr-2"),
        ({"engine": EngineKind.VLLM, "model": "dots-ocr"}, "--accept-license"),
        ({"engine": EngineKind.VLLM, "vllm_args": ["--max-model-len", "2000"]}, "context is too small"),
        ({"engine": EngineKind.REMOTE}, "--server"),
        ({"server_urls": ["gpu-machine:8000"]}, "not an http or https URL"),
        ({"server_urls": ["http://gpu-machine/v1"], "headers": ["no colon"]}, "`Name: value`"),
        ({"profiles_dir": "/no/such/folder", "model": "mine"}, "/no/such/folder"),
    ],
)
def test_what_is_wrong_in_itself_is_told_without_starting_or_asking_anything(
    settings: dict[str, object], words: str
) -> None:
    with pytest.raises(PdfocrError) as refused:
        check_settings(ServerSettings.model_validate(settings))
    assert words in str(refused.value)


def test_settings_that_may_work_are_let_pass() -> None:
    check_settings(ServerSettings(engine=EngineKind.VLLM, model="olmocr-2", vllm_program="/not/here/yet"))
    check_settings(ServerSettings(server_urls=[f"http://127.0.0.1:{quiet_port()}/v1"]))
