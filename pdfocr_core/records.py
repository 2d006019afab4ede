"""The data contracts: what is written for each page and each document.

Every record carries `schema_version`. A field may be added within a version; changing or dropping one is a new version.
The JSON Schemas in `pdfocr_core/schemas` are made from these models and checked by a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from pdfocr_core.page_ranges import pages_in

__all__ = [
    "LINE_SPACE",
    "Attempt",
    "Box",
    "DocumentRecord",
    "DocumentStatus",
    "Method",
    "PageRecord",
    "PageStatus",
    "StatusRow",
    "TextLine",
]

SCHEMA_VERSION = 1
LINE_SPACE = 10_000
"""Into how many parts each side of a picture is cut for the places of lines."""

_Place = Annotated[int, Field(ge=0, le=LINE_SPACE)]


class PageStatus(StrEnum):
    """How a page ended."""

    OK = "ok"
    FALLBACK = "fallback"
    BLANK = "blank"
    FAILED = "failed"


class Method(StrEnum):
    """Where a page's text came from."""

    MODEL = "model"
    TEXT_LAYER = "text_layer"
    BLANK = "blank"
    NONE = "none"


class DocumentStatus(StrEnum):
    """How a document ended: exactly one of these."""

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"
    FILTERED = "filtered"
    SKIPPED = "skipped"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Box(_Record):
    """A region of the page as the model named it.

    Coordinates are fractions, 0 to 1, of the picture that the accepted answer was given for (so after any turn): x runs to
    the right from its left edge, y down from its top.
    """

    label: str = Field(description="The model's own word for what stands there.")
    x0: float = Field(ge=0, le=1)
    y0: float = Field(ge=0, le=1)
    x1: float = Field(ge=0, le=1)
    y1: float = Field(ge=0, le=1)


class TextLine(NamedTuple):
    """A line of text and where it stands; an array of six in JSON, since a page has many.

    Coordinates are ten-thousandths of the same picture as those of `Box`: x to the right, y down. `score` says how sure
    the recogniser was, in hundredths; text that the PDF carries itself has 100.
    """

    text: str
    x0: _Place
    y0: _Place
    x1: _Place
    y1: _Place
    score: Annotated[int, Field(ge=0, le=100)] = 100


class Attempt(_Record):
    """One answer of the model for one page, good or bad."""

    reason: str | None = Field(description="Reason code of a bad answer; null for the accepted one.")
    temperature: float
    rotation: int = Field(0, description="Degrees counter-clockwise by which the picture was turned before asking.")
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)
    seconds: float = Field(0.0, ge=0, description="From sending the request to the end of the answer.")
    detail: str = Field("", description="What was seen, shortened.")


class PageRecord(_Record):
    """The result for one page; one line of `pages/<group>.jsonl.zst`."""

    record: Literal["page"] = "page"
    schema_version: int = SCHEMA_VERSION
    document_id: str
    content_id: str
    page: int = Field(ge=1, description="1-based.")
    status: PageStatus
    reason: str | None = Field(None, description="Why the page is not `ok`; null when it is.")
    detail: str = Field("", description="What exactly was found, where the reason alone does not say it.")
    flags: list[str] = Field(default_factory=list, description="Remarks that do not change the status.")
    text: str = Field("", description="Markdown after post-processing.")
    raw: str | None = Field(None, description="The model's answer as it came; null when no answer was accepted.")
    finish_reason: str | None = None
    language: str | None = Field(None, description="ISO 639 code as the model said it.")
    is_rotation_valid: bool = True
    rotation_asked: int = Field(0, description="Turn the last answer asked for, in degrees.")
    rotation_applied: int = Field(0, description="Degrees counter-clockwise by which the accepted picture was turned.")
    is_table: bool = False
    is_diagram: bool = False
    boxes: list[Box] = Field(default_factory=list, description="Regions in reading order, where the model names them.")
    lines: list[TextLine] | None = Field(
        None, description="Lines in reading order with their places, where they are known and were to be kept."
    )
    confidence: float | None = Field(
        None, ge=0, le=1, description="Mean score of the page's lines, where the engine gives scores."
    )
    method: Method
    attempts: list[Attempt] = Field(default_factory=list)
    image_width: int = Field(0, ge=0, description="Pixels sent to the model.")
    image_height: int = Field(0, ge=0)
    image_format: str = ""
    model: str | None = None
    engine_id: str
    started_at: str = Field("", description="UTC, ISO 8601.")
    finished_at: str = ""

    @property
    def prompt_tokens(self) -> int:
        """Tokens in, over all attempts."""
        return sum(attempt.prompt_tokens for attempt in self.attempts)

    @property
    def completion_tokens(self) -> int:
        """Tokens out, over all attempts."""
        return sum(attempt.completion_tokens for attempt in self.attempts)


class DocumentRecord(_Record):
    """What opening a document found; in the pages file it stands before the document's pages."""

    record: Literal["document"] = "document"
    schema_version: int = SCHEMA_VERSION
    document_id: str
    content_id: str | None = Field(None, description="SHA-256 of the bytes; null when they could not be read.")
    url: str
    version: str
    bytes: int = 0
    kind: str | None = Field(None, description="`pdf` or `image`; null when it did not open.")
    pages: int = Field(0, ge=0, description="Pages that have a record: all, or those of `page_range`.")
    source_pages: int | None = Field(
        None, ge=0, description="Pages of the source, where pages were asked for by number."
    )
    page_range: str | None = Field(None, description="Pages that were asked for, as `1-3,7`; null for all.")
    reason: str | None = Field(None, description="Why it did not open, or was left out by a filter; null otherwise.")
    detail: str = ""
    flags: list[str] = Field(default_factory=list)
    selection: str = Field("", description="Identifies the filters and page ranges in force; empty: none.")
    engine_id: str

    @property
    def page_numbers(self) -> Sequence[int]:
        """The numbers of the pages that have a record, in order."""
        if self.page_range is None or self.source_pages is None or not self.pages:
            return range(1, self.pages + 1)
        return pages_in(self.page_range, self.source_pages)


class StatusRow(_Record):
    """The end of one document; one line of `status/<group>.jsonl`. There is one for every document of the index."""

    schema_version: int = SCHEMA_VERSION
    document_id: str
    content_id: str | None
    url: str
    group: str
    status: DocumentStatus
    reason: str | None = None
    remedy: str = ""
    detail: str = ""
    flags: list[str] = Field(default_factory=list)
    pages: int = Field(0, ge=0)
    pages_ok: int = Field(0, ge=0)
    pages_fallback: int = Field(0, ge=0)
    pages_blank: int = Field(0, ge=0)
    pages_failed: int = Field(0, ge=0)
    failed_pages: list[int] = Field(default_factory=list)
    fallback_pages: list[int] = Field(default_factory=list)
    page_reasons: dict[str, int] = Field(default_factory=dict, description="Failed and fallback pages by reason.")
    languages: dict[str, int] = Field(default_factory=dict, description="Pages by language.")
    prompt_tokens: int = Field(0, ge=0, description="Over all attempts.")
    completion_tokens: int = Field(0, ge=0)
    characters: int = Field(0, ge=0)
    methods: dict[str, int] = Field(default_factory=dict, description="Pages by where their text came from.")
    attempts: dict[str, int] = Field(default_factory=dict, description="Pages by how many answers were asked for.")
    retries: dict[str, int] = Field(default_factory=dict, description="Bad answers by reason.")
    empty_pages: int = Field(0, ge=0, description="Pages that are ok and have no text all the same.")
    confidence: float | None = Field(
        None, ge=0, le=1, description="Mean of the pages' confidence, over those that have one."
    )
    least_confidence: float | None = Field(None, ge=0, le=1, description="Of the page with the least.")
    seconds: float = Field(0.0, ge=0, description="Of all answers, one after the other.")
    periods: list[tuple[str, str]] = Field(
        default_factory=list, description="From when to when (UTC) its pages were read; several after interruptions."
    )
    engine_id: str
