"""A collection as a data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pdfocr_core.documents import Document
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.flow.group import Stages, finish_group
from pdfocr_core.outputs import datasets
from pdfocr_core.outputs.datasets import By, rows_of, write_jsonl, write_parquet
from pdfocr_core.records import PageStatus
from pdfocr_core.settings import ReadSettings
from pdfocr_core.workspace import Workspace, open_workspace
from tests.record_makers import add_group, made_page


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    opened = open_workspace(str(tmp_path / "workspace"))
    old, new, other, bad = (
        Document(url, version) for url, version in (("/a.pdf", "1"), ("/a.pdf", "2"), ("/b.pdf", "1"), ("/c.pdf", "1"))
    )
    groups = [
        add_group(opened, {old: [made_page(old, 1, "old")], bad: "corrupt_pdf"}, "00000000"),
        add_group(
            opened,
            {
                new: [
                    made_page(new, 1, "first"),
                    made_page(new, 2, status=PageStatus.BLANK, language=None),
                    made_page(new, 3, "dri\udc80tte", language="de"),
                ],
                other: [made_page(other, 1, "only")],
            },
            "00000001",
        ),
    ]
    for key in groups:
        finish_group(opened, key, Stages(), ReadSettings(), "m")
    return opened


def test_documents_with_text_once_and_in_their_newest_version(workspace: Workspace, tmp_path: Path) -> None:
    assert write_parquet(rows_of(workspace, By.DOCUMENT), tmp_path / "out" / "all.parquet", By.DOCUMENT) == 2
    rows = {row["url"]: row for row in pq.read_table(tmp_path / "out" / "all.parquet").to_pylist()}
    assert rows.keys() == {"/a.pdf", "/b.pdf"}
    row = rows["/a.pdf"]
    assert (row["text"], row["page_numbers"], row["page_starts"]) == ("first\ndri?tte", [1, 2, 3], [0, 6, 6])
    assert (row["pages"], row["status"], row["model"]) == (3, "ok", "m")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["all.parquet"]


def test_pages_as_json_lines_are_the_same_as_in_parquet(workspace: Workspace, tmp_path: Path) -> None:
    assert write_jsonl(rows_of(workspace, By.PAGE), tmp_path / "pages.jsonl") == 4
    write_parquet(rows_of(workspace, By.PAGE), tmp_path / "pages.parquet", By.PAGE)
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines == pq.read_table(tmp_path / "pages.parquet").to_pylist()
    assert [(row["url"], row["page"], row["status"]) for row in lines] == [
        ("/a.pdf", 1, "ok"),
        ("/a.pdf", 2, "blank"),
        ("/a.pdf", 3, "ok"),
        ("/b.pdf", 1, "ok"),
    ]


def test_files_and_row_groups_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "_GROUP_CHARACTERS", 25)
    row: dict[str, Any] = dict.fromkeys(datasets._DOCUMENT_TYPES)
    rows = ({**row, "id": str(number), "text": "x" * 10} for number in range(20))
    assert write_parquet(rows, tmp_path / "set", By.DOCUMENT, file_characters=60) == 20
    files = sorted((tmp_path / "set").iterdir())
    assert [path.name for path in files] == [f"part-{index:05}.parquet" for index in range(4)]
    metadata = pq.ParquetFile(files[0]).metadata
    assert (metadata.num_rows, metadata.num_row_groups) == (6, 2)
    assert [row["id"] for row in pq.read_table(tmp_path / "set").to_pylist()] == [str(number) for number in range(20)]
    with pytest.raises(ConfigurationError, match="has Parquet files already"):
        write_parquet([], tmp_path / "set", By.DOCUMENT)


def test_what_breaks_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "all.parquet"
    write_parquet([], target, By.DOCUMENT)
    before = target.read_bytes()

    def broken() -> Any:
        yield {**dict.fromkeys(datasets._DOCUMENT_TYPES), "text": "x"}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_parquet(broken(), target, By.DOCUMENT)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]
    assert pq.read_table(target).num_rows == 0
