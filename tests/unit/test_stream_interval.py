"""vLLM is started with many tokens in one part of a stream, where it knows how and the user does not say otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfocr_core.errors import PdfocrError
from pdfocr_core.serving.choice import build_server
from pdfocr_core.settings import EngineKind, ServerSettings


@pytest.mark.parametrize(
    ("version", "settings", "value"),
    [
        ("0.32.0+cpu", {}, "64"),
        ("0.12.0", {"stream": True}, "64"),
        ("0.32.0", {"vllm_args": ("--stream-interval", "5")}, "5"),
        ("0.32.0", {"stream": False}, ""),
        ("0.11.2", {}, ""),
    ],
)
def test_the_flag_of_the_server_that_is_started(
    tmp_path: Path, version: str, settings: dict[str, object], value: str
) -> None:
    program, started = tmp_path / "vllm", tmp_path / "arguments"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\necho "$*" > {started}\nexit 1\n')
    program.chmod(0o755)
    model = tmp_path / "RolmOCR"
    model.mkdir()
    (model / "config.json").write_text("{}")
    given = ServerSettings.model_validate(
        {"engine": "vllm", "model": str(model), "vllm_program": str(program), **settings}
    )
    server = build_server(given, EngineKind.VLLM)
    with pytest.raises(PdfocrError):
        server.start()
    assert server.streams_in_parts is bool(value)
    words = started.read_text().split()
    assert ("--stream-interval" in words) is bool(value)
    if value:
        assert words[words.index("--stream-interval") + 1] == value
