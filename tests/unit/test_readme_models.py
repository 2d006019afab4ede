"""Every line by which the documents say that a model is run: the command takes it and the model is known."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from pdfocr_core.engines.profile import load_profile
from pdfocr_core.serving.choice import check_settings
from pdfocr_core.settings import EngineKind, ServerSettings
from pdfocr_dagster.cli import app

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"pdfocr run [^`\n#]*--model [^`\n#]*")
LINES = [
    (name, line.strip())
    for name in ("README.md", "docs/models.md")
    for line in LINE.findall((ROOT / name).read_text(encoding="utf-8"))
]
# What README has to show a line for: the hub's names start so.
MODELS = """
allenai/olmOCR-2 lightonai/LightOnOCR-2 lightonai/LightOnOCR-3 deepseek-ai/DeepSeek-OCR rednote-hilab/dots.ocr
PaddlePaddle/PaddleOCR-VL zai-org/GLM-OCR nanonets/Nanonets-OCR2 numind/NuMarkdown reducto/RolmOCR
""".split()  # noqa: SIM905 - reads better than a list


@pytest.mark.parametrize(("document", "line"), LINES)
def test_the_line_is_taken_as_it_stands(document: str, line: str) -> None:
    _program, _run, *words = shlex.split(line)
    command = typer.main.get_command(app).get_command(None, "run")  # type: ignore[attr-defined]
    taken = command.make_context("run", words).params
    profile = load_profile(taken["model"])
    assert profile.name == taken["model"]
    check_settings(
        ServerSettings(engine=taken["engine"], model=taken["model"], accept_license=taken["accept_license"])
        if taken["engine"] is EngineKind.VLLM
        else ServerSettings(engine=taken["engine"], model=taken["model"], server_urls=taken["server"])
    )


@pytest.mark.parametrize("model", MODELS)
def test_the_readme_has_a_line_for_it(model: str) -> None:
    shown = [
        load_profile(line.partition("--model ")[2].split()[0]) for document, line in LINES if document == "README.md"
    ]
    assert any(profile.model.startswith(model) for profile in shown)
