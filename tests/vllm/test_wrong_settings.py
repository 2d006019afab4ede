"""What cannot work with a real vLLM is said with its cause and a remedy, within seconds of being knowable."""

from __future__ import annotations

import os
import shutil
import socket
import time

import pytest

from tests.documents import write_collection
from tests.vllm.conftest import VllmCommand, wait_until


def allowed_s() -> float:
    """From the end of the server's process to that of the command; longer on a machine that has other things to do."""
    return 10 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def explain(vllm_run: VllmCommand, *options: object, starts: int) -> str:
    """What the command says at its end, which follows the server's in time and leaves nothing behind."""
    sources = write_collection(vllm_run.folder / "sources", documents=1, pages=1)
    process = vllm_run.start("run", sources, *options, "--workspace", vllm_run.workspace)
    if starts:
        wait_until(lambda: vllm_run.starts > 0 and bool(vllm_run.serving()), 120)
        wait_until(lambda: not vllm_run.serving(), 240)
    known = time.monotonic()
    _, stderr = process.communicate(timeout=120)
    took = time.monotonic() - known
    assert process.returncode == 2, stderr
    assert vllm_run.starts == starts
    if starts:
        assert took < allowed_s()
    assert "Traceback" not in stderr.partition("The end of its log")[0]
    vllm_run.assert_nothing_is_left()
    return stderr


@pytest.mark.parametrize(
    ("arguments", "cause", "remedy"),
    [
        (["--max-modle-len", "9"], "unrecognized arguments: --max-modle-len", "Correct or remove that argument"),
        (["--max-model-len", "400000"], "longer context than the model has", "Lower --max-model-len"),
        (["--chat-template", "/no/such.jinja"], "/no/such.jinja", "Check the paths among the arguments"),
    ],
    ids=["flag", "context", "template"],
)
def test_what_only_the_server_knows(vllm_run: VllmCommand, arguments: list[str], cause: str, remedy: str) -> None:
    said = explain(vllm_run, *(part for argument in arguments for part in ("--vllm-arg", argument)), starts=1)
    assert cause in said
    assert remedy in said


def test_a_model_that_is_not_in_the_cache(vllm_run: VllmCommand) -> None:
    vllm_run.write_profile(model="no/such-model")
    said = explain(vllm_run, starts=1)
    assert "runs offline and the model is not in the local cache" in said
    assert "Unset HF_HUB_OFFLINE" in said


def test_a_directory_without_its_weights_configuration(vllm_run: VllmCommand) -> None:
    copy = vllm_run.folder / "copy"
    shutil.copytree(vllm_run.model, copy)
    (copy / "config.json").unlink()
    vllm_run.write_profile(model=str(copy))
    said = explain(vllm_run, starts=0)
    assert f"{copy} has no config.json" in said
    assert "Name the directory that holds the weights" in said


def test_a_directory_that_is_not_there(vllm_run: VllmCommand) -> None:
    vllm_run.write_profile(model=str(vllm_run.folder / "nowhere"))
    assert "There is no model directory" in explain(vllm_run, starts=0)


def test_a_context_in_which_no_page_fits(vllm_run: VllmCommand) -> None:
    said = explain(vllm_run, "--vllm-arg", "--max-model-len", "--vllm-arg", "600", starts=0)
    assert "The context is too small for tiny-ocr" in said
    assert "Raise max_model_len to 1112 or more" in said


def test_a_port_that_is_taken(vllm_run: VllmCommand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = explain(vllm_run, "--vllm-arg", "--port", "--vllm-arg", port, starts=0)
    assert f"Port {port} for vLLM is taken" in said
    assert "Leave the port out" in said


def test_a_version_that_does_not_serve_the_model(vllm_run: VllmCommand) -> None:
    vllm_run.write_profile(serve={"max_vllm": "0.26.0", "version_gated": "later ones loop"})
    said = explain(vllm_run, starts=0)
    assert "needs vLLM at most 0.26.0" in said
    assert "later ones loop" in said
    assert "'vllm<=0.26.0'" in said
