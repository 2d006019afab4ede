"""Write the JSON Schemas of the record models to `pdfocr_core/schemas`: `python -m tools.make_schemas`."""

from __future__ import annotations

import json
from pathlib import Path

from pdfocr_core.records import DocumentRecord, PageRecord, StatusRow

FOLDER = Path(__file__).parents[1] / "pdfocr_core" / "schemas"
MODELS = {"page_record": PageRecord, "document_record": DocumentRecord, "status_row": StatusRow}


def schema_text(name: str) -> str:
    """The schema of one record, as it is committed."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **MODELS[name].model_json_schema()}
    return json.dumps(schema, indent=1) + "\n"


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    for name in MODELS:
        (FOLDER / f"{name}.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
