"""What is told of a model's download, with a hub and a cache of our own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving import hub, preflight

GB = 10**9
COMMIT = "40bd7202494b8264ee17ada08b401b5aab7a9ce1"


class Hub(BaseHTTPRequestHandler):
    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        type(self).asked.append((self.path, self.headers.get("authorization", "")))
        sizes = {"config.json": 1000, "a.safetensors": 5 * GB, "b.safetensors": 4 * GB, "pytorch_model.bin": 9 * GB}
        files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
        known = self.path.startswith("/api/models/org/known/")
        content = json.dumps({"siblings": files} if known else {"error": "no"}).encode()
        self.send_response(200 if known else 401)
        if not known:
            self.send_header("x-error-code", "RepoNotFound")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_CACHE", "HF_TOKEN", "VLLM_USE_MODELSCOPE"):
        monkeypatch.delenv(name, raising=False)
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield Hub.asked
    server.shutdown()
    server.server_close()


def cached(model: str, files: dict[str, str], cache: Path, commit: str = COMMIT) -> Path:
    folder = cache / f"models--{model.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    for name, content in files.items():
        (snapshot / name).write_text(content)
    return folder


def test_the_hub_tells_what_is_to_come(asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf-secret")
    assert hub.download("org/known", COMMIT) == hub.Download(9 * GB + 1000, "the hub")
    assert asked == [(f"/api/models/org/known/revision/{COMMIT}?blobs=true", "Bearer hf-secret")]
    # What came before it was broken off need not come again.
    blobs = hub.hub_cache() / "models--org--known" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / "half").write_bytes(b"x" * 500)
    assert hub.download("org/known").size == 9 * GB + 500


def test_a_model_that_does_not_fit_or_cannot_be_had_is_told_at_once(
    asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "free_bytes", lambda _directory: 8 * GB)
    with pytest.raises(ConfigurationError, match=r"takes 9\.0 GB.*8\.0 GB free.*HF_HOME"):
        hub.check_room("org/known", None)
    with pytest.raises(ConfigurationError, match=r"RepoNotFound.*HF_TOKEN"):
        hub.check_room("org/unknown", None)
    monkeypatch.setattr(hub, "free_bytes", lambda _directory: 10 * GB)
    hub.check_room("org/known", None)
    assert len(asked) == 3


def test_what_is_in_the_cache_needs_no_hub(asked: list[tuple[str, str]], tmp_path: Path) -> None:
    index = json.dumps({"weight_map": {"x": "1.safetensors", "y": "2.safetensors"}})
    folder = cached("org/big", {"model.safetensors.index.json": index, "1.safetensors": ""}, hub.hub_cache())
    assert not hub.is_cached("org/big")
    (folder / "snapshots" / COMMIT / "2.safetensors").write_text("")
    assert hub.is_cached("org/big")
    assert hub.is_cached("org/big", COMMIT)
    assert not hub.is_cached("org/big", "0" * 40)
    assert not hub.is_cached("org/big", cache=tmp_path / "elsewhere")
    assert hub.download("org/big").size == 0
    hub.check_room("org/big", None)
    assert not asked


def test_offline_is_said_plainly(asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    cached("org/here", {"model.safetensors": ""}, hub.hub_cache())
    here, gone = preflight.check_model("org/here"), preflight.check_model("org/known")
    assert (here.ok, gone.ok) == (True, False)
    assert "HF_HUB_OFFLINE" in here.detail
    assert "not in the local cache" in gone.detail
    assert "HF_HUB_OFFLINE" in gone.remedy
    with pytest.raises(ConfigurationError, match="HF_HUB_OFFLINE"):
        hub.check_room("org/known", None)
    hub.check_room("org/here", None)
    assert not asked


def test_without_a_hub_the_size_is_estimated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert hub.download("org/seven", size="7B").size == 14 * GB
    assert hub.download("org/seven-FP8", size="7B").size == 7 * GB
    assert hub.download("org/small", size="258M").size == 516 * 10**6
    assert hub.download("org/none").size is None
    # What is only estimated stops nobody.
    hub.check_room("org/none", None)
    found = preflight.check_disk(tmp_path, 10**18, "estimated")
    assert not found.ok
    assert "estimated" in found.detail
    assert "HF_HOME" in found.remedy
