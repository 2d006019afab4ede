"""What the documentation says is tested is tested: the tests that it names exist, and each promise names some."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RELIABILITY = ROOT / "docs" / "reliability.md"
NAMED = re.compile(r"(?:tests/)?((?:contract|faults|integration|unit|vllm)/[\w/]+\.py)(?:::(\w+))?")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def functions_of(path: Path) -> set[str]:
    """The test functions of a file; none when it is not there."""
    if not path.is_file():
        return set()
    functions = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


def missing(text: str) -> list[str]:
    """The tests named by a text that are not there."""
    lost = []
    for match in NAMED.finditer(text):
        there = functions_of(ROOT / "tests" / match[1])
        if not there or (match[2] and match[2] not in there):
            lost.append(match[0])
    return lost


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    assert missing(page.read_text("utf-8")) == []


def test_each_of_the_twelve_promises_names_a_test_and_a_figure() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \| (.+) \|$", RELIABILITY.read_text("utf-8"), re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 13))
    for number, _promise, tests, figure in rows:
        assert NAMED.search(tests), f"promise {number} names no test"
        assert re.search(r"\d", figure), f"promise {number} has no figure"


@pytest.mark.parametrize("name", ["faults/test_gone.py", "faults/test_crashes.py::test_gone", "tests/unit/gone.py"])
def test_a_test_that_is_not_there_is_noticed(name: str) -> None:
    assert missing(f"see `{name}` and `unit/test_promises.py`") == [name]
