"""What the command says when a store or a disk does not do its part: exit code 2, within seconds, and what to do.

Wrong keys, endpoints, buckets and missing rights are shown against the real server in `test_s3`.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.counting_server import counting_server
from tests.documents import write_collection
from tests.integration.conftest import Command
from tests.stub_s3 import Trouble, stub_s3

REMOTE = ("--engine", "remote", "--model", "pdfocr-cpu")
WRONG_REGION = (400, "AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'eu-west-1'")
WHO = "User: arn:aws:iam::1:user/ann is not authorized to perform: s3:PutObject on resource: results"


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (lambda *_: WRONG_REGION, ["another region", "The right region is eu-west-1", "AWS_REGION"]),
        (lambda *_: (400, "ExpiredToken"), ["have expired", "aws sso login"]),
        (
            lambda method, *_: (403, "AccessDenied", WHO) if method == "PUT" else None,
            ["refuses access", WHO, "s3:PutObject", "docs/s3.md"],
        ),
    ],
    ids=["region", "expired", "no writing"],
)
def test_what_a_store_refuses(pdfocr: Command, tmp_path: Path, trouble: Trouble, words: list[str]) -> None:
    write_collection(tmp_path / "sources", documents=1, pages=1)
    with stub_s3() as store, counting_server() as server:
        store.trouble = trouble
        started = time.monotonic()
        done = pdfocr(
            "run", tmp_path / "sources", *REMOTE, "--server", server.url, "--workspace", "s3://results/letters",
            code=2, extra_environment={**store.environment, "DAGSTER_HOME": str(tmp_path / "home")},
        )  # fmt: skip
        assert time.monotonic() - started < 150  # the patience of a run is three minutes a request
        assert server.requests == 0
    for word in words:
        assert word in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_without_conditional_writes_is_used_and_named_once(pdfocr: Command, tmp_path: Path) -> None:
    with stub_s3() as store, counting_server() as server:
        store.conditional = "ignored"
        made = write_collection(tmp_path / "made", documents=2, pages=2)
        for path in made.glob("*.pdf"):
            store.objects[f"letters/in//{path.name}"] = (
                path.read_bytes()
            )  # and keys that are no paths, for good measure
        done = pdfocr(
            "run", "s3://letters/in", *REMOTE, "--server", server.url, "--workspace", "s3://results/letters",
            "--pages-per-group", 2, extra_environment={**store.environment, "DAGSTER_HOME": str(tmp_path / "home")},
        )  # fmt: skip
        assert server.requests == 4
        kept = sorted(key for key in store.objects if key.startswith("results/"))
    assert done.stderr.count("has no conditional writes") == 1
    assert sum("/markdown/" in key for key in kept) == 2
    assert not any("/probe-" in key for key in kept)


def test_a_full_disk_ends_the_run_and_the_same_command_goes_on(pdfocr: Command, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    mount = f"mount -t tmpfs -o size=64k none {small}"
    if shutil.which("unshare") is None or subprocess.run([*namespace, "sh", "-c", mount], check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    write_collection(tmp_path / "sources", documents=14, pages=3)
    with counting_server() as server:
        run = pdfocr.argv(
            "run", tmp_path / "sources", *REMOTE, "--server", server.url, "--workspace", small / "workspace"
        )
        # The disk is there for both runs; between them it is made larger.
        script = f'{mount} && {{ "$@" 2>first; echo $? >code; mount -o remount,size=64m {small}; "$@" 2>second; }}'
        environment = {**pdfocr.environment, "DAGSTER_HOME": str(tmp_path / "home")}
        done = subprocess.run([*namespace, "sh", "-c", script, "sh", *run], cwd=tmp_path, env=environment, check=False)
        first = (tmp_path / "first").read_text()
        assert ((tmp_path / "code").read_text().strip(), done.returncode) == ("2", 0), first
        assert len(server.pictures) == 42
    for word in ("the disk is full", "Free some space"):
        assert word in " ".join(first.split()), first
    assert "Traceback" not in first
    assert "42 ok" in (tmp_path / "second").read_text()
