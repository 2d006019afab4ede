"""Looking for new documents in bounded steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pdfocr_core.settings import IndexSettings, WatchSettings
from pdfocr_core.sources.index import update_index
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.watch import Look, look_for_new
from pdfocr_core.workspace import open_workspace
from tests.unit.test_sources_objects import PDF, Bucket

SOURCES = ["s3://b/x", "s3://b/empty", "s3://b/y/**/*.pdf"]


def steps(bucket: Bucket, known: Known, max_keys: int, sources: Sequence[str] = SOURCES) -> list[Look]:
    looks, look = [], Look()
    while look.source < len(sources):
        look = look_for_new(known, sources, look, WatchSettings(max_keys=max_keys), opener=bucket)
        looks.append(look)
        assert len(looks) < 100
    return looks


def test_steps_end_at_their_bounds_and_together_find_what_one_look_finds() -> None:
    names = [f"x/{number:02}.pdf" for number in range(20)] + [f"y/{number}/{number}.pdf" for number in range(7)]
    bucket = Bucket(*names, "x/notes.csv", "z/elsewhere.pdf")
    (whole,) = steps(bucket, Known(), 1000)
    assert (whole.documents, whole.first) == (27, "s3://b/x/00.pdf")
    many = steps(bucket, Known(), 4)
    assert len(many) >= 7
    assert (many[-1].documents, many[-1].pages, many[-1].digest) == (27, whole.pages, whole.digest)


def test_what_is_indexed_is_not_new_and_a_new_body_is(tmp_path: Path) -> None:
    bucket = Bucket("x/1.pdf", "x/2.pdf")
    workspace = open_workspace(str(tmp_path / "ws"))
    known = Known()
    update_index(workspace, ["s3://b/x"], IndexSettings(), opener=bucket)
    assert known.refresh(workspace)
    assert steps(bucket, known, 1000)[-1].documents == 0
    bucket.store.write("x/2.pdf", PDF + b"more")
    changed = steps(bucket, known, 1000)[-1]
    assert (changed.documents, changed.first) == (1, "s3://b/x/2.pdf")
    update_index(workspace, ["s3://b/x"], IndexSettings(), opener=bucket)
    assert known.refresh(workspace)
    assert steps(bucket, known, 1000)[-1].documents == 0


def test_a_workspace_that_was_emptied_is_noticed(tmp_path: Path) -> None:
    bucket = Bucket("x/1.pdf")
    workspace = open_workspace(str(tmp_path / "ws"))
    known = Known()
    update_index(workspace, ["s3://b/x"], IndexSettings(), opener=bucket)
    known.refresh(workspace)
    for name in workspace.index_batches():
        workspace.store.delete(name)
    known.refresh(workspace)
    assert steps(bucket, known, 1000)[-1].documents == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = [
        "a.pdf",
        "b/1.pdf",
        "b/2.pdf",
        "b/c/3.pdf",
        "b/c/d/4.pdf",
        "b-/5.pdf",
        "b.pdf",
        "\udce9/6.pdf",
        "z/notes.csv",
    ]
    for name in names:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes((b"" if name.endswith(".csv") else PDF) + name.encode("utf-8", "replace"))
    (tmp_path / "in" / "empty").mkdir()
    return tmp_path / "in"


@pytest.mark.parametrize("pattern", ["", "/**/*.pdf", "/b*", "/a.pdf"])
@pytest.mark.parametrize("max_keys", [1, 2, 3, 4])
def test_local_folders_are_left_in_the_middle_too(folder: Path, pattern: str, max_keys: int) -> None:
    sources = [f"{folder}{pattern}"]
    (whole,) = steps(Bucket(), Known(), 1000, sources)
    many = steps(Bucket(), Known(), max_keys, sources)
    assert len(many) >= whole.documents // max_keys
    assert (many[-1].documents, many[-1].pages, many[-1].digest) == (whole.documents, whole.pages, whole.digest)
    assert whole.documents == {"": 8, "/**/*.pdf": 8, "/b*": 6, "/a.pdf": 1}[pattern]


def test_a_step_over_a_local_folder_ends_in_time_and_the_next_one_goes_on(folder: Path) -> None:
    settings = WatchSettings(max_seconds=1e-9)
    look, looks = Look(), 0
    while look.source < 1:
        before, look, looks = look, look_for_new(Known(), [str(folder)], look, settings, opener=Bucket()), looks + 1
        assert look.documents <= before.documents + 1
    assert (look.documents, looks) == (8, 10)


def test_what_was_looked_at_last_may_be_gone(folder: Path) -> None:
    def after(name: str) -> list[str]:
        found = expand([str(folder)], after=f"{folder}/{name}")
        return [one.url.removeprefix(f"{folder}/") for one in found if one.what is What.DOCUMENT]

    everything = after("")
    assert everything == sorted(everything, key=lambda name: name.split("/"))
    for gone in ("b/0.pdf", "b/c/3.pdf/x", "c.pdf", "aa/b/c"):
        rest = [name for name in everything if name.split("/") > gone.split("/")]
        assert after(gone) in (rest, everything[everything.index(rest[0]) - 1 :]), gone
