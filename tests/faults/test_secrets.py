"""Secrets are planted wherever a user may put one, and then looked for in everything that a run writes or shows."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.server import MODEL, fault_server
from tests.bad_pdfs import user_password
from tests.documents import write_collection
from tests.integration.conftest import Command

KEY, TOKEN, HEADER, PASSWORD = "sk-planted-key-4711", "planted-token-4712", "planted-header-4713", "lantern"
WRONG_PASSWORD = "planted-password-4714"
PLANTED = (KEY, TOKEN, HEADER, PASSWORD, WRONG_PASSWORD)
ENVIRONMENT = {
    "PDFOCR_API_KEY": KEY,
    "PDFOCR_HEADERS": f"X-Tenant: {HEADER}",
    "PDFOCR_PASSWORDS": f"{WRONG_PASSWORD}\n{PASSWORD}",
}


def found_in(folder: Path, exempt: Path) -> list[tuple[str, str]]:
    """Every file below with a planted secret in it; compressed ones are unpacked first."""
    import zstandard

    found = []
    for path in folder.rglob("*"):
        if path.is_file() and exempt not in path.parents:
            data = path.read_bytes()
            if path.suffix == ".zst":
                data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
            found += [(str(path), secret) for secret in PLANTED if secret.encode() in data]
    return found


def watch(process: subprocess.Popen[str], own_argv: list[str]) -> set[str]:
    """Planted secrets in command lines of the run's processes, the user's own words aside, while it runs."""
    seen: set[str] = set()
    while process.poll() is None:
        try:
            family = psutil.Process(process.pid).children(recursive=True)
            lines = [" ".join(one.cmdline()) for one in family if one.cmdline() != own_argv]
        except psutil.Error:
            lines = []
        seen |= {secret for secret in PLANTED for line in lines if secret in line}
        time.sleep(0.05)
    return seen


@pytest.mark.parametrize("by_flag", [False, True], ids=["from the environment", "on the command line"])
def test_no_planted_secret_is_written_or_shown(pdfocr: Command, by_flag: bool) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=3, pages=2)
    (sources / "locked.pdf").write_bytes(user_password())
    # The server's messages repeat key, headers and query, as those of careless servers do.
    plan = Plan({Fault.ERROR: 0.3, Fault.REFUSE: 0.4}, seed=1, times=2)
    with fault_server(plan) as server:
        url = f"{server.url}?token={TOKEN}"
        arguments = ["run", sources, "--engine", "remote", "--model", MODEL, "--workspace", pdfocr.workspace]
        extra = {**ENVIRONMENT, "DAGSTER_HOME": str(pdfocr.folder / "home")}
        if by_flag:
            arguments += ["--server", url]
        else:
            extra["PDFOCR_SERVER_URLS"] = url
        process = pdfocr.start(*arguments, extra_environment=extra)
        in_argv = watch(process, pdfocr.argv(*arguments))
        stdout, stderr = process.communicate()
        assert process.returncode == 0, stderr
        # They were of use, so they were there to be leaked; and the messages that repeat them were met.
        assert server.keys == {f"Bearer {KEY}"}
        assert min(server.met[Fault.ERROR], server.met[Fault.REFUSE]) > 0
    assert pdfocr.books()["by_status"] == {"ok": 4}
    assert in_argv == set()
    assert [secret for secret in PLANTED if secret in stdout + stderr] == []
    assert found_in(pdfocr.folder, exempt=sources) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"http://user:{TOKEN}@127.0.0.1:9/v1", "user name or password"),
        (f"http://127.0.0.1:9/v1?token={TOKEN}", "does not answer"),
    ],
)
def test_errors_about_a_url_do_not_repeat_its_secrets(pdfocr: Command, url: str, words: str) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=1, pages=1)
    arguments = ("run", sources, "--engine", "remote", "--model", MODEL, "--server", url)
    done = pdfocr(*arguments, "--workspace", pdfocr.workspace, code=None, extra_environment=ENVIRONMENT)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert [secret for secret in PLANTED if secret in done.stdout + done.stderr] == []
    assert found_in(pdfocr.folder, exempt=sources) == []


def test_planted_secrets_would_be_found(tmp_path: Path) -> None:
    """The search itself can fail."""
    import zstandard

    (tmp_path / "plain.log").write_text(f"Bearer {KEY}")
    (tmp_path / "packed.jsonl.zst").write_bytes(zstandard.compress(TOKEN.encode()))
    assert {secret for _, secret in found_in(tmp_path, exempt=tmp_path / "none")} == {KEY, TOKEN}
    child = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(4)', {PASSWORD!r}])"
    )
    process = subprocess.Popen([sys.executable, "-c", child], text=True)
    assert watch(process, []) == {PASSWORD}
