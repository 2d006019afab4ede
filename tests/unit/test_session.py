"""From settings to servers: what is handed on, and what is refused before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfocr_core.engines.profile import load_profile
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.choice import build_server, choose_engine, model_to_load
from pdfocr_core.serving.remote import RemoteServer
from pdfocr_core.serving.vllm import VllmServer
from pdfocr_core.settings import EngineKind, ServerSettings
from tests.counting_server import counting_server


def test_keys_and_headers_reach_a_remote_server() -> None:
    with counting_server() as counting:
        settings = ServerSettings(
            server_urls=(counting.url,),
            model="pdfocr-cpu",
            api_key="the-secret-key",
            key_header="api-key",
            headers=("X-Team: archive", "X-Trace:  a:b "),
        )
        server = build_server(settings, EngineKind.REMOTE)
        assert isinstance(server, RemoteServer)
        endpoint = server.start()
    assert endpoint.request_headers() == {"X-Team": "archive", "X-Trace": "a:b", "api-key": "the-secret-key"}
    assert "the-secret-key" not in repr(endpoint) + repr(settings)


@pytest.mark.parametrize("line", ["no colon secret", ": secret", "name: ", "naïve: secret"])
def test_a_wrong_header_is_refused_without_being_shown(line: str) -> None:
    settings = ServerSettings(server_urls=("http://127.0.0.1:9",), headers=(line,))
    with pytest.raises(ConfigurationError, match="Name: value") as caught:
        build_server(settings, EngineKind.REMOTE)
    assert "secret" not in str(caught.value)


def test_the_users_arguments_go_before_the_profiles(tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    settings = ServerSettings(
        model="olmocr-2",
        vllm_program=str(program),
        vllm_args=("--max-model-len", "12000", "--tensor-parallel-size", "2"),
    )
    server = build_server(settings, EngineKind.VLLM)
    assert isinstance(server, VllmServer)
    argv = server.command(8123)
    assert argv[:3] == [str(program), "serve", "allenai/olmOCR-2-7B-1025-FP8"]
    assert argv[argv.index("--max-model-len") + 1] == "12000"
    assert argv.count("--max-model-len") == 1
    assert argv[argv.index("--tensor-parallel-size") + 1] == "2"
    assert argv[argv.index("--revision") + 1] == load_profile("olmocr-2").revision


def test_a_context_that_no_page_fits_in_is_refused_at_once() -> None:
    settings = ServerSettings(model="olmocr-2", vllm_args=("--max-model-len=4096",))
    with pytest.raises(ConfigurationError, match="context is too small") as caught:
        build_server(settings, EngineKind.VLLM)
    assert "max_model_len" in caught.value.remedy


def test_a_vllm_that_is_not_there_is_named() -> None:
    settings = ServerSettings(model="olmocr-2", vllm_program="/no/such/vllm")
    with build_server(settings, EngineKind.VLLM) as server, pytest.raises(ConfigurationError, match="/no/such/vllm"):
        server.start()
    assert choose_engine(settings) is EngineKind.CPU


def test_what_is_loaded_is_the_users_copy_or_the_profiles(tmp_path: Path) -> None:
    profile = load_profile("olmocr-2")
    assert model_to_load(ServerSettings(model="olmocr-2"), profile) == profile.model
    assert model_to_load(ServerSettings(model="allenai/olmOCR-2-7B-1025"), profile) == "allenai/olmOCR-2-7B-1025"
    assert model_to_load(ServerSettings(model=str(tmp_path)), profile) == str(tmp_path)
