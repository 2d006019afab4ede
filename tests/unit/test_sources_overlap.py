from __future__ import annotations

import os
from pathlib import Path

import pytest

from pdfocr_core.sources.listing import expand
from pdfocr_core.sources.overlap import Once, may_overlap
from pdfocr_core.sources.presence import Extent
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


def test_names_that_a_listing_has_given_are_told_without_being_remembered() -> None:
    once = Once(["s3://b/x", "s3://b"])
    once.begins(Extent.of_objects("s3://b/x", None))
    assert once.is_new("s3://b/x/1.pdf")
    once.ended()
    once.begins(Extent.of_objects("s3://b", None))
    assert not once.is_new("s3://b/x/1.pdf")
    assert once.is_new("s3://b/y/2.pdf")
    once.ended()
    assert not once.is_new("s3://b/y/2.pdf")


def test_a_listing_that_broke_off_tells_nothing() -> None:
    once = Once(["s3://b/x", "s3://b"])
    once.begins(Extent.of_objects("s3://b/x", None))
    once.begins(Extent.of_objects("s3://b", None))
    assert once.is_new("s3://b/x/1.pdf")


def test_what_is_behind_a_link_in_a_listed_folder_is_taken_when_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "1.pdf").write_bytes(PDF)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "2.pdf").write_bytes(PDF)
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "elsewhere")
    sources = [str(tmp_path / "folder"), str(tmp_path / "folder" / "link" / "2.pdf")]
    names = [Path(found.url).name for found in expand(sources)]
    assert [name for name in names if name != "link"] == ["1.pdf", "2.pdf"]


def test_more_listings_than_are_kept_name_nothing_twice() -> None:
    bucket = Bucket(*(f"x/{number:02}/1.pdf" for number in range(40)))
    sources = [*(f"s3://b/x/{number:02}" for number in range(40)), "s3://b/x", "s3://b/x/03/1.pdf", "s3://b/x/39"]
    assert len([found.url for found in expand(sources, opener=bucket)]) == 40
