"""The record formats are contracts: their schemas are committed, and what is written obeys them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pdfocr_core.workspace import open_workspace
from tests.counting_server import counting_server
from tests.documents import write_collection
from tests.integration.conftest import Command
from tools.make_schemas import FOLDER, MODELS, schema_text


@pytest.mark.parametrize("name", MODELS)
def test_schemas_are_those_of_the_models(name: str) -> None:
    committed = (FOLDER / f"{name}.json").read_text()
    assert committed == schema_text(name), "run `python -m tools.make_schemas`; a changed field needs a new version"


def test_what_a_run_writes_obeys_the_schemas(tmp_path: Path) -> None:
    pdfocr = Command(tmp_path)
    sources = write_collection(tmp_path / "sources", documents=2, pages=2)
    (sources / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    with counting_server() as server:
        pdfocr.run(sources, "--engine", "remote", "--model", "pdfocr-cpu", "--server", server.url, code=3)
    workspace = open_workspace(str(pdfocr.workspace))
    validators = {
        name: jsonschema.Draft202012Validator(json.loads((FOLDER / f"{name}.json").read_text())) for name in MODELS
    }
    seen = []
    for key in workspace.group_keys():
        for record in workspace.read_pages(key) or []:
            validators[f"{record.record}_record"].validate(record.model_dump(mode="json"))
            seen.append(record.record)
        for row in workspace.read_status(key) or []:
            validators["status_row"].validate(row.model_dump(mode="json"))
    assert (seen.count("page"), seen.count("document")) == (4, 3)
