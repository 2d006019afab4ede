"""The built wheel: what it holds, what importing it costs and pulls in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked into a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in files.stdout.splitlines():
        if name.startswith(("pdfocr_", "pyproject", "README", "LICENSE")) and (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(folder / "site"),
    ]
    subprocess.run([*pip, str(source)], check=True, capture_output=True)
    return folder / "site"


def run(installed: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        cwd=installed.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_what_is_read_at_run_time(installed: Path) -> None:
    assert (installed / "pdfocr_core" / "py.typed").exists()
    assert (installed / "pdfocr_core" / "schemas" / "page_record.json").exists()
    assert (installed / "pdfocr_core" / "engines" / "profiles" / "pdfocr-cpu.yaml").exists()
    weights = installed / "pdfocr_core" / "cpu_engine" / "weights"
    assert {path.suffix for path in weights.iterdir()} == {".onnx", ".txt"}
    viewer = installed / "pdfocr_core" / "viewer" / "assets"
    for name in (
        "index.html",
        "viewer.css",
        "vendor/katex.min.js",
        "vendor/fonts/KaTeX_Main-Regular.woff2",
        "licenses/katex.txt",
    ):
        assert (viewer / name).stat().st_size, name
    assert not (installed / "tests").exists()


def test_both_packages_import_from_the_wheel(installed: Path) -> None:
    code = "import pdfocr_core, pdfocr_dagster, sys; print(pdfocr_core.__file__); print('dagster' in sys.modules)"
    file, dagster = run(installed, code).split()
    assert file.startswith(str(installed))
    assert dagster == "False"


def test_every_public_name_is_there(installed: Path) -> None:
    code = "import pdfocr_core; print([getattr(pdfocr_core, name) for name in pdfocr_core.__all__])"
    assert "read_document" in run(installed, code)


def test_the_library_pulls_in_no_orchestrator_and_no_inference_stack(installed: Path) -> None:
    code = (
        "import sys, pdfocr_core; pdfocr_core.read_document; "
        "print({'dagster', 'vllm', 'torch', 'transformers', 'rapidocr', 'pypdfium2'} & set(sys.modules))"
    )
    assert run(installed, code).strip() == "set()"


def test_the_command_says_its_version(installed: Path) -> None:
    code = "import sys; sys.argv = ['pdfocr', '--version']; from pdfocr_dagster.cli import main; main()"
    assert run(installed, code).startswith("pdfocr 0.")
