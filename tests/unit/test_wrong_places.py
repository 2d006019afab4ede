"""Places that cannot be used are told with a remedy, not with a traceback."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.books import Books
from pdfocr_core.outputs.prices import Prices
from pdfocr_core.settings import ReadSettings
from pdfocr_core.store import open_store
from pdfocr_core.store_errors import folder_error
from pdfocr_dagster import runs
from pdfocr_dagster.cli import app
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.places import no_empty_folder
from pdfocr_dagster.status import Status, status_tables


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file where a folder is wanted; this is refused to every user, root too."""
    path = tmp_path / "taken.txt"
    path.write_text("mine")
    return path


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_workspace_that_is_a_file_is_refused(file: Path, below: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is a file, and a folder is needed\. Name a folder"):
        open_store(file / below)
    assert file.read_text() == "mine"


def test_a_folder_that_turns_out_to_be_a_file_is_refused_when_it_is_written(file: Path) -> None:
    store = open_store(file.parent)
    for write in (store.write, store.create):
        with pytest.raises(ConfigurationError, match="Name a folder"):
            write(f"{file.name}/x", b"")


def test_what_the_system_forbids_has_a_remedy_and_all_else_is_left_alone() -> None:
    for number in (13, 30):
        told = folder_error(OSError(f"Unable to open file: no (os error {number})"), "/somewhere")
        assert told is not None
        assert told.code == "not_writable"
        assert "Choose another workspace" in str(told)
    assert folder_error(OSError("something (os error 5)"), "/somewhere") is None


def test_a_history_that_cannot_be_written_names_the_variable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(file))
    with pytest.raises(ConfigurationError, match="Set DAGSTER_HOME"), runs.open_instance("unused"):
        pass


def test_a_folder_that_is_no_workspace_is_not_shown_as_an_empty_one(file: Path) -> None:
    found = CliRunner().invoke(app, ["status", str(file.parent)])
    assert found.exit_code == 2
    assert "is no workspace. Name the folder" in found.output


def test_a_page_that_cannot_be_written_is_told(file: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    found = CliRunner().invoke(app, ["compare", str(workspace), str(workspace), "--html", str(file / "x.html")])
    assert found.exit_code == 1, found.output
    assert "cannot be used" in found.output


def test_a_wrong_setting_names_its_variable() -> None:
    with pytest.raises(ConfigurationError, match=r"page_range \(PDFOCR_PAGE_RANGE\): '3-1' is no range"):
        settings_from(ReadSettings, {"page_range": "3-1"})


def test_the_status_is_readable_in_a_narrow_terminal() -> None:
    books = Books()
    books.by_status = {"ok": 10}
    text = io.StringIO()
    console = Console(width=80, file=text)
    console.print(status_tables(Status(books, Prices(), {})))
    assert "documents" in text.getvalue()
    assert "fallback" in text.getvalue()
    assert "…" not in text.getvalue()


def test_a_folder_that_is_no_workspace_is_not_compared(file: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "index").mkdir(parents=True)
    found = CliRunner().invoke(app, ["compare", str(workspace), str(file.parent / "none")])
    assert (found.exit_code, "There is no workspace at" in found.output) == (2, True)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.pdf").touch()
    found = CliRunner().invoke(app, ["compare", str(workspace), str(tmp_path / "letters")])
    assert (found.exit_code, "letters is no workspace" in found.output) == (2, True)


def test_an_import_of_what_is_no_workspace_of_olmocr_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    found = CliRunner().invoke(app, ["import-olmocr", str(theirs), "-w", str(tmp_path / "w")])
    assert found.exit_code == 2, found.output
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_a_folder_that_was_made_for_nothing_goes_again_and_no_other(tmp_path: Path) -> None:
    new, mine, used = (tmp_path / name for name in ("new", "mine", "used"))
    mine.mkdir()
    for folder in (new, mine, used):
        with no_empty_folder(str(folder)):
            open_store(folder)
            if folder is used:
                (folder / "index").mkdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "used"]
    with pytest.raises(ConfigurationError), no_empty_folder(str(new)):
        open_store(new)
        raise ConfigurationError("There is no such source.")
    assert not new.exists()


def test_doctor_leaves_nothing_behind(tmp_path: Path) -> None:
    CliRunner().invoke(app, ["doctor", "--workspace", str(tmp_path / "new"), "--engine", "cpu"])
    assert not list(tmp_path.iterdir())
    (tmp_path / "old").mkdir()
    CliRunner().invoke(app, ["doctor", "--workspace", str(tmp_path / "old"), "--engine", "cpu"])
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]
