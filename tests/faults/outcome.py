"""What a run left in its workspace, in a form in which two runs can be compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pdfocr_core.records import PageRecord
from pdfocr_core.workspace import open_workspace

TIMES = frozenset({"started_at", "finished_at", "seconds", "periods"})
# In the lines of results, whose every other byte counts. A run that is compared may have crossed midnight.
DAYS = re.compile(rb'("(?:added|created)": )"\d{4}-\d\d-\d\d"')


def outcome(workspace: Path) -> dict[str, Any]:
    """Everything that readers of a workspace get, but for the times: files by name, records by group."""
    opened = open_workspace(str(workspace))
    found: dict[str, Any] = {}
    for folder in ("results", "markdown", "groups"):
        for path in (workspace / folder).rglob("*"):
            if path.is_file():
                found[str(path.relative_to(workspace))] = DAYS.sub(rb"\1null", path.read_bytes())
    for path in (workspace / "status").glob("*"):
        lines = path.read_text().splitlines()
        found[str(path.relative_to(workspace))] = [without_times(json.loads(line)) for line in lines]
    for key in opened.group_keys():
        records = [record.model_dump(mode="json") for record in opened.read_pages(key) or []]
        found[f"pages/{key}"] = without_times(records)
    return found


def without_times(value: Any) -> Any:
    """The same without all fields that hold times."""
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Names of what differs; none for equal outcomes."""
    return sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))


def durable_texts(workspace: Path) -> set[str]:
    """Texts of all pages that are on disk, in parts or committed."""
    if not (workspace / "index").exists():
        return set()
    opened = open_workspace(str(workspace))
    # In this order: parts go only when the pages file is there.
    records = [one for key in opened.group_keys() for one in [*opened.read_parts(key), *(opened.read_pages(key) or [])]]
    return {record.text for record in records if isinstance(record, PageRecord)}
