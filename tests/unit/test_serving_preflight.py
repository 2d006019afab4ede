"""What the preflight sees, with programs of our own on the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfocr_core.serving import preflight


def program(directory: Path, name: str, output: str, code: int = 0) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("minimum", "maximum", "ok"),
    [(None, None, True), ("0.29", None, True), ("0.30", None, False), (None, "0.29", True), (None, "0.28", False)],
)
def test_the_version_must_be_in_the_range(tmp_path: Path, minimum: str | None, maximum: str | None, ok: bool) -> None:
    vllm = program(tmp_path, "vllm", "INFO something 12:00\n0.29.1+cpu")
    check = preflight.check_vllm(str(vllm), minimum, maximum)
    assert check.ok is ok
    assert check.detail == "version 0.29.1+cpu"
    assert bool(check.remedy) is not ok


def test_a_missing_or_broken_vllm(tmp_path: Path) -> None:
    assert not preflight.check_vllm("/no/such/vllm").ok
    assert not preflight.check_vllm(str(program(tmp_path, "vllm", "Traceback", code=1))).ok


@pytest.mark.parametrize(("free", "ok"), [(24000, True), (2000, False)])
def test_a_gpu_must_be_visible_and_free(tmp_path: Path, free: int, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    program(tmp_path, "nvidia-smi", f"NVIDIA L4, 24564, {free}")
    assert preflight.check_gpu().ok is ok
    program(tmp_path, "nvidia-smi", "No devices were found", code=6)
    assert not preflight.check_gpu().ok


def test_a_context_that_is_too_small_names_the_one_that_is_not() -> None:
    assert preflight.check_context(3000, 5000, 8000).ok
    check = preflight.check_context(3000, 5001, 8000)
    assert not check.ok
    assert "8001" in check.remedy


def test_disk_and_model(tmp_path: Path) -> None:
    assert preflight.check_disk(tmp_path / "not" / "there", 1).ok
    assert not preflight.check_disk(tmp_path, 10**18).ok
    assert not preflight.check_model(str(tmp_path)).ok
    (tmp_path / "config.json").write_text("{}")
    assert preflight.check_model(str(tmp_path)).ok
    assert not preflight.check_model("./nowhere").ok
    assert preflight.check_model("org/model").ok


def test_the_whole_never_raises_and_names_each_check_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    checks = preflight.preflight(
        "org/model", executable="no-vllm", image_tokens=1, max_tokens=1, max_model_len=10, size="7B"
    )
    assert [check.name for check in checks] == ["vllm", "gpu", "model", "context", "disk"]
    assert [check.ok for check in checks][:2] == [False, False]
