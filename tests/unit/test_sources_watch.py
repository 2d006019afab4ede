"""Looking for new documents in bounded steps."""

from __future__ import annotations

import random
from pathlib import Path

from pdfocr_core.settings import IndexSettings, WatchSettings
from pdfocr_core.sources.index import update_index
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.watch import Look, look_for_new
from pdfocr_core.workspace import open_workspace
from tests.unit.test_sources_objects import PDF, Bucket

SOURCES = ["s3://b/x", "s3://b/empty", "s3://b/y/**/*.pdf"]


def steps(bucket: Bucket, known: Known, max_keys: int) -> list[Look]:
    looks, look = [], Look()
    while look.source < len(SOURCES):
        look = look_for_new(known, SOURCES, look, WatchSettings(max_keys=max_keys), opener=bucket)
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


def test_identities_are_kept_apart(tmp_path: Path) -> None:
    from pdfocr_core.sources.known import _Identities

    chance = random.Random(1)
    halves = [chance.randbytes(8) for _ in range(50)]
    there = {chance.choice(halves) + chance.choice(halves) for _ in range(900)}
    identities = _Identities()
    ordered = sorted(there)
    for start in range(0, len(ordered), 37):
        identities.add(ordered[start : start + 37])
    identities.add([])
    assert all((first + second in identities) == (first + second in there) for first in halves for second in halves)
