"""The CPU engine's models: what a choice means, what is told when it cannot be, and one page read with each."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import onnxruntime
import pytest
from PIL import Image, ImageDraw
from typer.testing import CliRunner

from pdfocr_core.cpu_engine.models import BUNDLED, DEFAULT_MODEL, choose_model
from pdfocr_core.cpu_engine.reader import PageReader
from pdfocr_core.cpu_engine.server import serve
from pdfocr_core.doctor import checks
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.serving.choice import build_server, check_settings, weights_of
from pdfocr_core.serving.cpu import CpuServer
from pdfocr_core.session import Session
from pdfocr_core.settings import EngineKind, ReadSettings, ServerSettings
from pdfocr_dagster import cli_options
from pdfocr_dagster.cli import app
from pdfocr_dagster.retry_hint import engine_options

LETTER = (
    "The harbour master kept a ledger in which",
    "every ship was entered with the day on which",
    "it came and the name of its captain, and",
    "for many years nobody had asked to see it.",
)


def letter() -> bytes:
    page = Image.new("RGB", (800, 400), "white")
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(LETTER):
        draw.text((60, 60 + 44 * number), line, fill="black", font_size=26)
    data = io.BytesIO()
    page.save(data, "PNG")
    return data.getvalue()


def cpu(model: str) -> ServerSettings:
    return ServerSettings(engine=EngineKind.CPU, cpu_model=model)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory as a user would fill it: a recogniser that has its characters in its own file."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(choose_model("fast").recogniser, folder / "rec.onnx")
    return folder


@pytest.mark.parametrize("name", BUNDLED)
def test_every_model_reads_a_page(name: str) -> None:
    assert " ".join(PageReader(name).read(letter()).markdown.split()) == " ".join(LETTER)


def test_a_directory_reads_a_page_with_its_own_dictionary(own: Path) -> None:
    session = onnxruntime.InferenceSession(str(own / "rec.onnx"), providers=["CPUExecutionProvider"])
    characters = session.get_modelmeta().custom_metadata_map["character"]
    # The same recogniser without its characters, and a dictionary in which one letter is another.
    stripped = (own / "rec.onnx").read_bytes().replace(b"\x0a\x09character", b"\x0a\x09elsewhere")
    (own / "rec.onnx").write_bytes(stripped)
    swapped = ["Q" if character == "h" else character for character in characters.splitlines()]
    (own / "dict.txt").write_text("\n".join(swapped) + "\n", encoding="utf-8")
    model = choose_model(str(own))
    assert model.dictionary == own / "dict.txt"
    assert model.detector == choose_model("fast").detector
    read = " ".join(PageReader(str(own)).read(letter()).markdown.split())
    assert read == " ".join(LETTER).replace("h", "Q")


def test_a_choice_that_cannot_be_is_told_with_a_remedy(tmp_path: Path, own: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no CPU model 'slow'.*accurate, balanced, fast or a directory"):
        choose_model("slow")
    with pytest.raises(ConfigurationError, match=r"has no rec\.onnx.*dict\.txt"):
        choose_model(str(tmp_path))
    (own / "rec.onnx").write_bytes(b"no characters here")
    with pytest.raises(ConfigurationError, match=r"has no dict\.txt, and rec\.onnx holds no characters"):
        choose_model(str(own))
    with pytest.raises(ConfigurationError, match="no CPU model 'slow'"):
        check_settings(cpu("slow"))
    assert serve("127.0.0.1", 9, 1, "slow") == 1


def test_the_command_tells_a_wrong_model_before_it_reads(tmp_path: Path) -> None:
    argv = ["run", str(tmp_path), "--engine", "cpu", "--cpu-model", "slow", "--workspace", str(tmp_path / "workspace")]
    done = CliRunner().invoke(app, argv)
    assert done.exit_code == 2
    assert "no CPU model 'slow'" in done.output


def test_another_model_is_another_engine(own: Path) -> None:
    def engine_id(model: str) -> str:
        with Session(ReadSettings(), cpu(model)) as session:
            return session.engine.engine_id

    seen = {engine_id(model) for model in (*BUNDLED, str(own))}
    assert len(seen) == len(BUNDLED) + 1
    before = choose_model(str(own)).identity
    (own / "dict.txt").write_text("a\n", encoding="utf-8")
    assert choose_model(str(own)).identity != before
    assert weights_of(cpu("fast"), EngineKind.CPU) == ("pdfocr-cpu/fast", "fast-1")
    assert weights_of(cpu(str(own)), EngineKind.CPU)[0] == "pdfocr-cpu/mine"
    hub = ServerSettings(model="a/b", revision="main")
    assert weights_of(hub, EngineKind.VLLM) == ("a/b", "main")


def test_a_directory_means_the_same_wherever_dagster_runs(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    assert cli_options.cpu_model("mine") == str(own)
    assert cli_options.cpu_model("fast") == "fast"
    assert cli_options.cpu_model(None) is None


def test_the_choice_reaches_the_server_the_doctor_and_the_retry(tmp_path: Path) -> None:
    server = build_server(cpu("fast"), EngineKind.CPU)
    assert isinstance(server, CpuServer)
    assert server.command(8000)[-2:] == ["--model", "fast"]
    details = {check.name: check.detail for check in checks(str(tmp_path), cpu("fast"))}
    assert details["model"].endswith("reading with fast")
    assert engine_options(cpu("fast")) == ["--engine", "cpu", "--cpu-model", "fast"]
    assert engine_options(cpu(DEFAULT_MODEL)) == ["--engine", "cpu"]
