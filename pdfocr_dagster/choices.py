"""The fields of the resource `pages` that choose: which documents and pages are read, and what Markdown looks like."""

from typing import Any

import dagster as dg
from pydantic import Field

from pdfocr_core.settings import FilterSettings, MarkdownSettings
from pdfocr_dagster.environment import settings_from

__all__ = ["ChoiceFields"]


class ChoiceFields(dg.ConfigurableResource[Any]):
    """Left out, each comes from PDFOCR_<FIELD>, and otherwise chooses everything."""

    page_range: str | None = Field(default=None, description="Pages to read of every document, as 1-3,7,10-.")
    keep_lines: bool | None = Field(
        default=None, description="Keep the place of every line in the page records. Default: false."
    )
    filter_languages: list[str] | None = Field(
        default=None, description="Keep documents in these languages (ISO 639-1, as en); judged by the text layer."
    )
    filter_text_pages: int | None = Field(
        default=None, description="First pages whose text layer filters look at. Default: 5."
    )
    filter_min_characters: int | None = Field(
        default=None, description="Documents with less text are kept unjudged. Default: 200."
    )
    filter_min_letter_share: float | None = Field(
        default=None, description="Text with fewer letters among its characters is kept unjudged. Default: 0.5."
    )
    filter_min_confidence: float | None = Field(
        default=None, description="How certain a foreign language must be to leave a document out. Default: 0."
    )
    filter_forms: bool | None = Field(default=None, description="Leave out PDFs with text fields to be filled in.")
    filter_spam: bool | None = Field(default=None, description="Leave out pages that lure to downloads.")
    filter_max_spam_share: float | None = Field(
        default=None, description="Words of download pages among all words, at most. Default: 0.004."
    )
    filter_min_pages: int | None = Field(default=None, description="Pages of a document, at least.")
    filter_max_pages: int | None = Field(default=None, description="Pages of a document, at most.")
    filter_min_bytes: int | None = Field(default=None, description="Bytes of a document, at least.")
    filter_max_bytes: int | None = Field(default=None, description="Bytes of a document, at most.")
    filter_duplicates: bool | None = Field(default=None, description="Keep one of several documents with equal bytes.")
    filter_blank: bool | None = Field(default=None, description="Count documents without any ink as filtered.")
    markdown_page_breaks: str | None = Field(
        default=None, description="Between pages: blank (a blank line), rule, or comment (with the number)."
    )
    markdown_front_matter: bool | None = Field(default=None, description="YAML at the top says where the text is from.")
    markdown_tables: str | None = Field(
        default=None, description="as_read, or pipes or html where nothing is lost by it. Default: as_read."
    )
    markdown_normalize: bool | None = Field(
        default=None, description="Unicode NFC, no invisible characters, no stray spaces at line ends."
    )
    figures: bool | None = Field(default=None, description="Cut figures out of the pages, for the Markdown files.")
    figure_dpi: int | None = Field(default=None, description="Dots per inch of figures. Default: 200.")

    def chosen(self) -> dict[str, Any]:
        """The settings inside `ReadSettings`, with variables and defaults filled in."""
        given = {name: getattr(self, name) for name in ChoiceFields.model_fields}
        return {
            "filters": settings_from(FilterSettings, given),
            "markdown": settings_from(MarkdownSettings, given),
        }
