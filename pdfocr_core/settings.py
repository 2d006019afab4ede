"""Settings, each with its unit, bounds and default. Frozen: a run's settings never change under it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pdfocr_core.page_ranges import check_ranges

__all__ = [
    "ArchiveLimits",
    "EngineKind",
    "FilterSettings",
    "IndexSettings",
    "MarkdownSettings",
    "ObserveSettings",
    "PageBreaks",
    "QualitySettings",
    "ReadSettings",
    "RenderSettings",
    "ServerSettings",
    "StorageSettings",
    "Tables",
    "TextLayer",
    "WatchSettings",
]

# The peer's ladder; a profile may have its own.
TEMPERATURES = (0.1, 0.1, 0.2, 0.3, 0.5, 0.8, 0.9, 1.0)


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EngineKind(StrEnum):
    """Who reads the pages."""

    AUTO = "auto"
    CPU = "cpu"
    VLLM = "vllm"
    REMOTE = "remote"


class TextLayer(StrEnum):
    """What a PDF's own text is used for."""

    OFF = "off"
    FALLBACK = "fallback"
    PREFER = "prefer"


class PageBreaks(StrEnum):
    """What stands between two pages in a Markdown file."""

    BLANK = "blank"
    RULE = "rule"
    COMMENT = "comment"


class Tables(StrEnum):
    """How tables stand in a Markdown file."""

    AS_READ = "as_read"
    PIPES = "pipes"
    HTML = "html"


class StorageSettings(_Settings):
    """How S3 is reached. What is left out comes from the usual AWS environment, profiles and roles."""

    endpoint: str | None = Field(None, pattern="^https?://", description="URL of an S3-compatible store.")
    region: str | None = Field(None, description="The bucket's region.")
    profile: str | None = Field(None, description="A profile of ~/.aws/config.")
    access_key_id: str | None = Field(None, description="With secret_access_key, in place of a profile.")
    secret_access_key: str | None = Field(None, repr=False, description="Never logged.")
    session_token: str | None = Field(None, repr=False, description="Of temporary credentials; never logged.")
    unsigned: bool = Field(False, description="Public buckets: send no credentials.")


class ArchiveLimits(_Settings):
    """Bounds on what an archive may make us read; real decompressed bytes are counted, never what a header says."""

    max_member_bytes: int = Field(2 * 1024**3, gt=0, description="Largest member, in bytes.")
    max_total_bytes: int = Field(256 * 1024**3, gt=0, description="All members together, in bytes.")
    max_members: int = Field(10_000_000, gt=0)
    max_ratio: float = Field(1000.0, gt=1, description="Decompressed over compressed bytes of the whole archive.")


class IndexSettings(_Settings):
    """How sources become documents and groups."""

    pages_per_group: int = Field(500, ge=1, description="Target pages of a group; a larger document is a group alone.")
    count_pages: bool = Field(True, description="Open local files to count pages; otherwise estimate from the size.")
    archive_limits: ArchiveLimits = ArchiveLimits()
    require_sources: bool = Field(
        True, description="A source that holds nothing ends the indexing; false passes it by."
    )


class WatchSettings(_Settings):
    """How new documents are looked for."""

    interval_s: int = Field(60, ge=1, description="Seconds between two looks; new groups are asked for twice as often.")
    max_keys: int = Field(200_000, ge=1, description="Keys looked at in one step.")
    max_seconds: float = Field(20.0, gt=0, le=50, description="Seconds of one step; Dagster ends a sensor at 60.")
    max_wait_s: float = Field(
        900.0, ge=0, description="How long new documents wait for enough of them to fill a group."
    )
    retry_s: float = Field(300.0, ge=0, description="How long after a failed indexing the next one is tried.")


class RenderSettings(_Settings):
    """How pages become pictures, and what a worker process may use."""

    workers: int = Field(0, ge=0, description="Processes; 0 means one per core.")
    longest_side_px: int = Field(1288, ge=64, le=16384)
    min_short_side_px: int = Field(28, ge=1, description="Very thin pages are padded with white to this.")
    image_format: str = Field("jpeg", pattern="^(jpeg|png)$")
    jpeg_quality: int = Field(95, ge=50, le=100)
    allow_grey: bool = Field(True, description="Send pages without colour as grey pictures.")
    max_image_pixels: int = Field(400_000_000, gt=0, description="A larger source picture is refused by its header.")
    max_pages: int = Field(100_000, gt=0, description="Pages of one document; the document fails beyond.")
    max_bytes: int = Field(4 * 1024**3, gt=0, description="Bytes of one document.")
    page_render_timeout_s: float = Field(60.0, gt=0, description="One page, enforced from outside the process.")
    open_timeout_s: float = Field(120.0, gt=0, description="Hashing and opening one document.")
    render_memory_mb: int = Field(3072, ge=256, description="Address space of one worker process, in MiB.")
    tasks_per_worker: int = Field(500, ge=1, description="A worker process is replaced after this many tasks.")


class FilterSettings(_Settings):
    """Which documents are left out before the model sees any page of them; without any of these, none is."""

    filter_languages: tuple[str, ...] = Field(
        (), description="ISO 639-1 codes of the languages to keep, judged by the text layer; empty: all."
    )
    filter_text_pages: int = Field(5, ge=1, le=1000, description="First pages whose text layer is looked at.")
    filter_min_characters: int = Field(200, ge=1, description="Documents with less text are not judged by it.")
    filter_min_letter_share: float = Field(
        0.5, ge=0, le=1, description="Letters among the characters; text with fewer is not judged, it may be a bad OCR."
    )
    filter_min_confidence: float = Field(
        0.0, ge=0, le=1, description="A document goes for its language only when that is at least so certain."
    )
    filter_forms: bool = Field(False, description="Leave out PDFs with text fields to be filled in.")
    filter_spam: bool = Field(False, description="Leave out pages that lure to downloads: too many words of that kind.")
    filter_max_spam_share: float = Field(0.004, ge=0, le=1, description="Such words among all words, at most.")
    filter_min_pages: int | None = Field(None, ge=1, description="Pages of a document, at least.")
    filter_max_pages: int | None = Field(None, ge=1, description="Pages of a document, at most.")
    filter_min_bytes: int | None = Field(None, ge=1, description="Size of a document, at least.")
    filter_max_bytes: int | None = Field(None, ge=1, description="Size of a document, at most.")
    filter_duplicates: bool = Field(False, description="Keep one of several documents with the same bytes.")
    filter_blank: bool = Field(False, description="Count documents whose pages are all blank as filtered, not as ok.")

    @field_validator("filter_languages", mode="before")
    @classmethod
    def _one_code_each(cls, value: Any) -> Any:
        if not isinstance(value, str | Iterable):
            return value
        given = [value] if isinstance(value, str) else [str(one) for one in value]
        codes = [code.strip().lower() for one in given for code in one.split(",") if code.strip()]
        wrong = [code for code in codes if len(code) != 2 or not code.isascii() or not code.isalpha()]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no ISO 639-1 code; they have two letters, as `en`")
        return tuple(sorted(set(codes)))

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for what in ("pages", "bytes"):
            least, most = getattr(self, f"filter_min_{what}"), getattr(self, f"filter_max_{what}")
            if least is not None and most is not None and least > most:
                raise ValueError(f"filter_min_{what} is more than filter_max_{what}: nothing would be left")
        return self

    @property
    def by_text(self) -> bool:
        """Whether documents are judged by their text."""
        return bool(self.filter_languages) or self.filter_spam


class MarkdownSettings(_Settings):
    """What Markdown files look like. They are made from what was read, so other settings cost no model call."""

    markdown_page_breaks: PageBreaks = Field(
        PageBreaks.BLANK, description="Between pages: a blank line, a rule, or a comment with the page's number."
    )
    markdown_front_matter: bool = Field(False, description="Say in YAML at the top where the text comes from.")
    markdown_tables: Tables = Field(
        Tables.AS_READ, description="Tables as the model wrote them, or as pipes or HTML where nothing is lost by it."
    )
    markdown_normalize: bool = Field(
        False, description="Unicode NFC, no invisible characters, no stray spaces at line ends."
    )
    figures: bool = Field(
        False, description="Cut figures out of the pages and point to them; the sources are fetched again for it."
    )
    figure_dpi: int = Field(200, ge=36, le=1200, description="Resolution of figures, in dots per inch of the page.")


class ReadSettings(_Settings):
    """How pages are read."""

    text_layer: TextLayer = TextLayer.FALLBACK
    keep_margins: bool = Field(
        False,
        description="Keep page numbers, running heads and stamps in the text of the CPU engine and of text layers; vision "
        "models leave them out.",
    )
    max_attempts: int = Field(8, ge=1, le=50, description="Answers asked for one page before giving up.")
    temperatures: Annotated[tuple[float, ...], Field(min_length=1)] = TEMPERATURES
    max_page_error_rate: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Share of failed and fallback pages that makes a document `failed`; unset: never.",
    )
    in_flight: int = Field(0, ge=0, description="Pages in flight, fixed; 0: as many as the engine can use.")
    max_in_flight: int = Field(1024, ge=1, description="Pages in flight at most, where the engine decides.")
    judge_first_pages: int = Field(
        20, ge=0, description="First answers that are judged before more pages are sent; 0 judges none."
    )
    in_flight_bytes: int = Field(1024**3, gt=0, description="Picture bytes held in memory while pages are in flight.")
    request_timeout_s: float = Field(900.0, gt=0, description="One answer, from sending to its end.")
    page_deadline_s: float = Field(7200.0, gt=0, description="All attempts of one page together.")
    document_deadline_s: float = Field(
        86_400.0, gt=0, description="Work on one document; waiting for its turn is free. Pages not read by then fail."
    )
    server_patience_s: float = Field(900.0, gt=0, description="How long a run waits for a server that does not answer.")
    stop_grace_s: float = Field(
        10.0,
        ge=0,
        description="How long pages in flight may still be answered when the machine is taken away (SIGTERM); the rest "
        "of the end takes up to 20 s more.",
    )
    temporary_bytes: int = Field(
        8 * 1024**3, gt=0, description="Disk for copies of documents from archives and stores; a larger one goes alone."
    )
    archive_limits: ArchiveLimits = ArchiveLimits()
    checkpoint_interval_s: float = Field(5.0, gt=0, description="Finished pages are on disk after this many seconds.")
    checkpoint_bytes: int = Field(4 * 1024**2, gt=0, description="… or this many bytes of records, whichever is first.")
    render: RenderSettings = RenderSettings()
    passwords: tuple[str, ...] = Field((), repr=False, description="Tried on encrypted PDFs; never logged.")
    retry: tuple[str, ...] = Field((), description="Reasons whose documents and pages are read again in a done group.")
    reuse: bool = Field(True, description="Take results committed under the same engine; false reads again.")
    keep_lines: bool = Field(
        False, description="Keep the place of every line in the page records, where the engine or the PDF gives it."
    )
    page_range: str | None = Field(None, description="Pages to read of every document, as `1-3,7,10-`; unset: all.")
    filters: FilterSettings = FilterSettings()
    markdown: MarkdownSettings = MarkdownSettings()

    @field_validator("page_range")
    @classmethod
    def _ranges(cls, value: str | None) -> str | None:
        return check_ranges(value) if value else None

    @property
    def selection_id(self) -> str:
        """What tells one choice of documents and pages from another; empty where everything is read."""
        chosen = self.filters.model_dump(mode="json", exclude_defaults=True)
        if self.page_range is not None:
            chosen["page_range"] = self.page_range
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:16] if chosen else ""


class ServerSettings(_Settings):
    """Which model reads, and where it runs."""

    engine: EngineKind = EngineKind.AUTO
    model: str | None = Field(None, description="A profile's name, a hub id or a local directory; unset: the default.")
    revision: str | None = Field(None, description="Revision of the weights at the hub.")
    server_urls: tuple[str, ...] = Field((), description="Base URLs with /v1 of servers that run already.")
    api_key: str | None = Field(None, repr=False, description="Sent as Bearer token to server_urls; never logged.")
    key_header: str = Field("Authorization", min_length=1, description="The header that carries the key.")
    headers: tuple[str, ...] = Field((), repr=False, description="More headers for server_urls, as `Name: value`.")
    ca_bundle: str | None = Field(None, description="A PEM file with certificates to trust; unset: the system's.")
    requests_per_minute: int | None = Field(None, ge=1, description="Requests sent at most in a minute.")
    tokens_per_minute: int | None = Field(None, ge=1, description="Tokens, in and out, at most in a minute.")
    vllm_args: tuple[str, ...] = Field((), description="Arguments for `vllm serve`; they override the profile's.")
    vllm_program: str | None = Field(None, description="Path of the `vllm` program; unset: it is looked for.")
    cpu_model: str = Field(
        "balanced", min_length=1, description="Of the CPU server: accurate, balanced, fast or a directory with models."
    )
    cpu_workers: int = Field(0, ge=0, description="Processes of the CPU server; 0 means one per core.")
    ready_timeout_s: float = Field(1800.0, gt=0, description="How long a starting server may load.")
    restarts: int = Field(5, ge=0, description="How often a dead server is started again in one run.")
    stream: bool | None = Field(
        None, description="Stream answers and break off those that loop; unset: where many tokens come in one part."
    )
    recycle_pages: int = Field(
        0, ge=0, description="Start vLLM anew between groups after so many pages; 0: not for that."
    )
    recycle_memory_mb: int = Field(
        0, ge=0, description="… or when its processes hold so much of the host's memory, in MiB; 0: not for that."
    )
    cache_dir: str | None = Field(
        None, description="Where weights from object stores are kept; unset: `pdfocr` in the user's cache folder."
    )
    prompt_file: str | None = Field(None, description="A text file with the prompt to use instead of the profile's.")
    profiles_dir: str | None = Field(None, description="A folder with model profiles of your own.")
    accept_license: bool = Field(False, description="Needed for models whose licence restricts use.")
    price_in: float = Field(0.0, ge=0, description="Price of a million tokens in.")
    price_out: float = Field(0.0, ge=0, description="Price of a million tokens out.")
    price_gpu_hour: float = Field(0.0, ge=0, description="Price of one GPU for an hour.")
    gpus: int = Field(1, ge=1, description="GPUs that work at the same time; for the cost alone.")


class ObserveSettings(_Settings):
    """What people see of a run besides its outputs."""

    metrics_port: int | None = Field(None, ge=1, le=65535, description="Port for Prometheus.")
    metrics_host: str = Field("127.0.0.1", min_length=1, description="Address for Prometheus.")
    log_file: str | None = Field(None, min_length=1, description="A file that gets a JSON object a line.")
    log_format: str = Field("text", pattern="^(text|json)$", description="Of the log that Dagster keeps of a run.")
    report_pages: int = Field(4, ge=0, le=50, description="Pages of each kind that the report shows; 0: none.")
    thumbnails: bool = Field(True, description="Show a page of each group in the Dagster UI.")


class QualitySettings(_Settings):
    """From where on the checks of quality warn. Shares are of pages, 0 to 1."""

    max_fallback_rate: float = Field(0.1, ge=0, le=1, description="Pages taken from the text layer.")
    max_failed_document_rate: float = Field(
        0.05, ge=0, le=1, description="Documents that ended as failed or partial, of all that have ended."
    )
    max_empty_text_rate: float = Field(0.02, ge=0, le=1, description="Pages with ink that are ok without any text.")
    max_repetition_rate: float = Field(0.05, ge=0, le=1, description="Answers that went round in a circle.")
    max_language_shift: float = Field(
        0.3, ge=0, le=1, description="Change of the mix of languages between what was read before and what is new."
    )
    min_text_layer_coverage: float = Field(
        0.7, ge=0, le=1, description="Words of sound text layers that the model's text has, over the sampled pages."
    )
    judged_from_pages: int = Field(20, ge=1, description="Fewer pages are not judged.")
