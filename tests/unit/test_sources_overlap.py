from __future__ import annotations

import os
from pathlib import Path

import pytest

from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.overlap import may_overlap
from tests.unit.test_sources_objects import PDF, Bucket


@pytest.mark.parametrize(
    ("sources", "overlap"),
    [
        (["s3://b/x"], False),
        (["s3://b/x", "s3://b/xy", "s3://c/x"], False),
        (["s3://b/x/**/*.pdf", "s3://b/y/*.pdf"], False),
        (["s3://b/y", "s3://b/z", "s3://b/y/1.pdf"], True),
        (["s3://b", "s3://b/y"], True),
        (["s3://b/x/*.pdf", "s3://b/x/*.png"], True),
        (["s3://b/x", "s3://b/x/"], True),
        (["lists/all.txt"], True),
        (["~/scans", os.path.expanduser("~/scans/new")], True),  # noqa: PTH111
        (["scans", f"file://{os.getcwd()}/scans/new"], True),  # noqa: PTH109
        (["scans", "other/**/*.pdf"], False),
        (["*.pdf", "other"], True),
    ],
)
def test_it_is_told_by_the_names(sources: list[str], overlap: bool) -> None:
    assert may_overlap(sources) is overlap
    assert may_overlap(sources[::-1]) is overlap


def test_nothing_is_named_twice_whatever_the_sources(tmp_path: Path) -> None:
    bucket = Bucket("x/1.pdf", "x/2.pdf", "y/3.pdf")
    (tmp_path / "list.txt").write_text("s3://b/x/2.pdf\ns3://b/y\n")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "4.pdf").write_bytes(PDF)
    here = str(tmp_path / "here" / "4.pdf")
    sources = ["s3://b/x", "s3://b/x/*.pdf", str(tmp_path / "list.txt"), str(tmp_path / "here"), f"file://{here}"]
    names = [found.url for found in expand(sources, opener=bucket)]
    assert names == ["s3://b/x/1.pdf", "s3://b/x/2.pdf", "s3://b/y/3.pdf", here]
