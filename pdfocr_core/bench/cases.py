"""The tests of olmOCR-Bench: one JSON object a line, each about one page of one PDF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from pdfocr_core.bench.normalise import normalise
from pdfocr_core.errors import ConfigurationError

__all__ = [
    "BaselineCase",
    "Case",
    "FootnoteCase",
    "FormatCase",
    "MathCase",
    "OrderCase",
    "TableCase",
    "TextCase",
    "load_cases",
    "parse_case",
]

_Normal = Annotated[str, BeforeValidator(lambda value: normalise(value) if isinstance(value, str) else value)]


class _Case(BaseModel):
    """What every test has.

    Attributes:
        pdf: path below `pdfs/`.
        max_diffs: edits that a text may be away from what is asked for.
        checked: what a person said of the test; it does not change how it is run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pdf: str = Field(min_length=1)
    page: int
    id: str = Field(min_length=1)
    max_diffs: int = Field(default=0, ge=0)
    checked: Literal["verified", "rejected"] | None = None
    url: str | None = None


class TextCase(_Case):
    """A text is on the page, or is not."""

    type: Literal["present", "absent"]
    text: _Normal
    case_sensitive: bool = True
    first_n: int | None = None
    last_n: int | None = None

    @model_validator(mode="after")
    def _not_blank(self) -> TextCase:
        return _with_words(self, "text")


class OrderCase(_Case):
    """One text comes before another."""

    type: Literal["order"]
    before: _Normal
    after: _Normal

    @model_validator(mode="after")
    def _not_blank(self) -> OrderCase:
        if self.max_diffs > min(len(self.before), len(self.after)) // 2:
            raise ValueError("max_diffs is more than half of `before` or `after`")
        return _with_words(self, "before", "after")


class TableCase(_Case):
    """A cell stands in a table beside, above or under these others, below these headings."""

    type: Literal["table"]
    cell: _Normal
    up: _Normal = ""
    down: _Normal = ""
    left: _Normal = ""
    right: _Normal = ""
    top_heading: _Normal = ""
    left_heading: _Normal = ""
    ignore_markdown_tables: bool = False


class MathCase(_Case):
    """A formula is on the page, however its LaTeX is written."""

    type: Literal["math"]
    math: str = Field(pattern=r"\S")
    ignore_dollar_delimited: bool = False


class BaselineCase(_Case):
    """The page holds text that does not end in a loop and is in no foreign script; or, with `max_length`, hardly any."""

    type: Literal["baseline"]
    max_length: int | None = None
    max_length_skips_image_alt_tags: bool = False
    max_repeats: int = 30
    check_disallowed_characters: bool = True


class FormatCase(_Case):
    """A text is a heading, bold or italic."""

    type: Literal["format"]
    text: _Normal
    format: Literal["heading", "bold", "italic"]
    case_sensitive: bool = True

    @model_validator(mode="after")
    def _not_blank(self) -> FormatCase:
        return _with_words(self, "text")


class FootnoteCase(_Case):
    """The mark of a footnote is there, after and before these words."""

    type: Literal["footnote"]
    marker: str = Field(pattern=r"^[^ ]+$")
    appears_before_marker: _Normal | None = None
    appears_after_marker: _Normal | None = None

    @model_validator(mode="after")
    def _not_blank(self) -> FootnoteCase:
        given = [name for name in ("appears_before_marker", "appears_after_marker") if getattr(self, name)]
        return _with_words(self, *given)


_C = TypeVar("_C", bound=_Case)
Case = TextCase | OrderCase | TableCase | MathCase | BaselineCase | FormatCase | FootnoteCase
_CASE: TypeAdapter[Case] = TypeAdapter(Annotated[Case, Field(discriminator="type")])


def parse_case(data: dict[str, Any]) -> Case:
    """One test.

    Raises:
        ValueError: it is none; pydantic's `ValidationError` says why.
    """
    return _CASE.validate_python(data)


def load_cases(path: Path) -> list[Case]:
    """All tests of a JSONL file.

    Raises:
        ConfigurationError: a line is no test, or an id is there twice.
    """
    cases: list[Case] = []
    seen: set[str] = set()
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                case = parse_case(json.loads(line))
            except ValidationError as error:
                raise _bad_line(path, number, _first_fault(error)) from None
            except ValueError as error:
                raise _bad_line(path, number, str(error)) from None
            if case.id in seen:
                raise _bad_line(path, number, f"there is a test {case.id} already")
            seen.add(case.id)
            cases.append(case)
    return cases


def _with_words(case: _C, *names: str) -> _C:
    for name in names:
        if not getattr(case, name).strip():
            raise ValueError(f"`{name}` is blank")
    return case


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else fault["msg"]


def _bad_line(path: Path, number: int, problem: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path}, line {number} is no test of olmOCR-Bench: {problem}",
        remedy="Each line is one JSON object with pdf, page, id, type and the fields of that type (docs/bench.md).",
    )
