"""What can go wrong, in one place: the reason codes with their remedies, and the tree of exceptions.

    PdfocrError               code, remedy, retryable
    ├── ConfigurationError    ends the run early: what was asked for cannot work
    ├── DocumentError         ends one document: its bytes or its source are not what they should be
    ├── PageError             ends one attempt at a page, or the page
    ├── StoreUnavailable      the object store stays away; never charged to a document
    └── ServerError           the inference server's own trouble; never charged to a page
        └── ServerUnavailable the server is gone and its budget of restarts or patience is spent

Codes are a public contract: status rows, page records and exit messages carry them. Never rename one.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "REMEDIES",
    "ConfigurationError",
    "DocumentError",
    "PageError",
    "PdfocrError",
    "Reason",
    "ServerError",
    "ServerUnavailable",
    "StoreUnavailable",
    "is_filtered",
    "remedy_for",
]


class Reason(StrEnum):
    """Why a document or a page did not end as `ok`; the value is what is written to the outputs."""

    # Documents.
    EMPTY_FILE = "empty_file"
    NOT_A_PDF = "not_a_pdf"
    CORRUPT_PDF = "corrupt_pdf"
    TRUNCATED = "truncated"
    PASSWORD_REQUIRED = "password_required"  # noqa: S105 - a reason code
    UNSUPPORTED_ENCRYPTION = "unsupported_encryption"
    NO_PAGES = "no_pages"
    UNSUPPORTED_IMAGE = "unsupported_image"
    CORRUPT_IMAGE = "corrupt_image"
    TOO_MANY_PIXELS = "too_many_pixels"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_MANY_BYTES = "too_many_bytes"
    SOURCE_MISSING = "source_missing"
    SOURCE_CHANGED = "source_changed"
    SOURCE_UNREADABLE = "source_unreadable"
    UNNAMEABLE_KEY = "unnameable_key"
    NOT_AN_ARCHIVE = "not_an_archive"
    EMPTY_ARCHIVE = "empty_archive"
    ARCHIVE_TRUNCATED = "archive_truncated"
    ARCHIVE_DAMAGED = "archive_damaged"
    ARCHIVE_UNSUPPORTED = "archive_unsupported"
    ARCHIVE_ENCRYPTED = "archive_encrypted"
    ARCHIVE_LIMIT = "archive_limit"
    NOT_REGULAR = "not_regular"
    UNSAFE_NAME = "unsafe_name"
    NESTED_ARCHIVE = "nested_archive"
    PAGES_FAILED = "pages_failed"
    PAGE_ERROR_RATE = "page_error_rate"
    # Documents, left out on purpose.
    FILTERED_LANGUAGE = "filtered_language"
    FILTERED_FORM = "filtered_form"
    FILTERED_SPAM = "filtered_spam"
    FILTERED_PAGES = "filtered_pages"
    FILTERED_BYTES = "filtered_bytes"
    FILTERED_DUPLICATE = "filtered_duplicate"
    FILTERED_BLANK = "filtered_blank"
    FILTERED_PAGE_RANGE = "filtered_page_range"
    # Pages, before the model.
    PAGE_UNREADABLE = "page_unreadable"
    RENDERER_CRASHED = "renderer_crashed"
    RENDERER_TIMEOUT = "renderer_timeout"
    RENDERER_MEMORY = "renderer_memory"
    # Pages, the model's answers.
    BAD_FRONT_MATTER = "bad_front_matter"
    LENGTH = "length"
    REPETITION = "repetition"
    EMPTY_ANSWER = "empty_answer"
    PROMPT_ECHO = "prompt_echo"
    REFUSAL = "refusal"
    WRONG_ROTATION = "wrong_rotation"
    REFUSED_BY_SERVER = "refused_by_server"
    PAGE_DEADLINE = "page_deadline"
    DOCUMENT_DEADLINE = "document_deadline"
    INTERNAL_ERROR = "internal_error"


REMEDIES: dict[Reason, str] = {
    Reason.EMPTY_FILE: "The file has no bytes. Copy it again from where it came from.",
    Reason.NOT_A_PDF: "The bytes are neither a PDF nor a picture we read. Check what the file really is.",
    Reason.CORRUPT_PDF: "The PDF is damaged beyond what the reader repairs. Try `qpdf in.pdf out.pdf`.",
    Reason.TRUNCATED: "The end of the file is missing. Download it again.",
    Reason.PASSWORD_REQUIRED: "Set PDFOCR_PASSWORDS to the passwords, one a line, and run `pdfocr retry`.",
    Reason.UNSUPPORTED_ENCRYPTION: "Open it with the program that has the certificate and save it without encryption.",
    Reason.NO_PAGES: "The PDF holds no page. Check how it was made.",
    Reason.UNSUPPORTED_IMAGE: "Convert the picture to PNG, JPEG, TIFF or WebP.",
    Reason.CORRUPT_IMAGE: "The picture is damaged. Get it again.",
    Reason.TOO_MANY_PIXELS: "Raise max_image_pixels if the picture is genuine, or scale it down.",
    Reason.TOO_MANY_PAGES: "Raise max_pages, or split the document.",
    Reason.TOO_MANY_BYTES: "Raise max_bytes, or split the document.",
    Reason.SOURCE_MISSING: "The file was there at indexing and is gone now. Restore it or index again.",
    Reason.SOURCE_CHANGED: "It changed after it was indexed. `pdfocr run` with the same sources reads it as it is now.",
    Reason.SOURCE_UNREADABLE: "Check the file's permissions and the disk or network it is on.",
    Reason.UNNAMEABLE_KEY: "Copy the object to a key without empty, `.` or `..` segments.",
    Reason.NOT_AN_ARCHIVE: "The bytes are not a tar or zip archive. Check what the file really is.",
    Reason.EMPTY_ARCHIVE: "The archive holds no document. Check how it was made.",
    Reason.ARCHIVE_TRUNCATED: "The archive ends too early; members before the cut are read. Download it again.",
    Reason.ARCHIVE_DAMAGED: "A part of the archive is damaged; what could be read was read. Get the archive again.",
    Reason.ARCHIVE_UNSUPPORTED: "Unpack the archive with the program that made it and index the files.",
    Reason.ARCHIVE_ENCRYPTED: "Unpack the archive with its password and index the files.",
    Reason.ARCHIVE_LIMIT: "Raise max_member_bytes, max_total_bytes, max_members or max_ratio if the archive is genuine.",
    Reason.NOT_REGULAR: "Links and devices in archives are never followed. Pack the file itself.",
    Reason.UNSAFE_NAME: "The member's name points outside the archive. Pack it again with a plain name.",
    Reason.NESTED_ARCHIVE: "Archives inside archives are not opened. Unpack the inner one and name it as a source.",
    Reason.PAGES_FAILED: "Some pages could not be read; the page records say why for each.",
    Reason.PAGE_ERROR_RATE: "More pages failed than max_page_error_rate allows. Raise it to keep the good pages.",
    Reason.PAGE_UNREADABLE: "The PDF's description of this page is damaged. Try `qpdf in.pdf out.pdf`.",
    Reason.RENDERER_CRASHED: "The page's content crashes the renderer. Report it; `qpdf in.pdf out.pdf` may help.",
    Reason.RENDERER_TIMEOUT: "Drawing the page takes longer than page_render_timeout_s. Raise it if need be.",
    Reason.RENDERER_MEMORY: "The page needs more memory than render_memory_mb. Raise it for such documents.",
    Reason.BAD_FRONT_MATTER: "The answer had another form than the profile says. Check that model and profile match.",
    Reason.FILTERED_LANGUAGE: "Left out by filter_languages. To read them: `pdfocr retry --reason filtered_language`.",
    Reason.FILTERED_FORM: "Left out by filter_forms. To read them: `pdfocr retry --reason filtered_form`.",
    Reason.FILTERED_SPAM: "Left out by filter_spam. To read them: `pdfocr retry --reason filtered_spam`.",
    Reason.FILTERED_PAGES: "Left out by filter_min_pages or filter_max_pages; `pdfocr retry --reason filtered_pages`.",
    Reason.FILTERED_BYTES: "Left out by filter_min_bytes or filter_max_bytes; `pdfocr retry --reason filtered_bytes`.",
    Reason.FILTERED_DUPLICATE: "The same bytes are read under another name, which stands in `detail`.",
    Reason.FILTERED_BLANK: "All pages are blank, and filter_blank counts such documents as filtered.",
    Reason.FILTERED_PAGE_RANGE: "The document has none of the pages asked for with `page_range`.",
    Reason.LENGTH: "The answer was cut at max_tokens. Raise it if the page is really that long.",
    Reason.REPETITION: "The model repeated itself to the end. Another model or a larger picture may read the page.",
    Reason.EMPTY_ANSWER: "The model saw no text on a page that has ink. Look at the page.",
    Reason.PROMPT_ECHO: "The model answered with its own instruction. Check that model, profile and server version match.",
    Reason.REFUSAL: "The model declined to read the page. Another model may read it.",
    Reason.WRONG_ROTATION: "The model could not settle which way is up. Look at the page.",
    Reason.REFUSED_BY_SERVER: "The server refuses this page's request (HTTP 400). Its message is in the attempt.",
    Reason.INTERNAL_ERROR: "A fault of pdfocr itself; its log has the trace. Please report it with the document.",
    Reason.PAGE_DEADLINE: "All attempts together took longer than page_deadline_s. Raise it for slow engines.",
    Reason.DOCUMENT_DEADLINE: "Raise document_deadline_s and run `pdfocr retry`: pages that were read stay as they are.",
}


def remedy_for(code: str) -> str:
    """The plain words for a reason code; empty for a code we do not know."""
    try:
        return REMEDIES[Reason(code)]
    except ValueError:
        return ""


def is_filtered(code: str | None) -> bool:
    """Whether this is the reason of a document that was left out on purpose."""
    return code is not None and code.startswith("filtered_")


class PdfocrError(Exception):
    """The root of all our exceptions.

    Attributes:
        code: a stable identifier.
        remedy: what the user can do, in plain words.
        retryable: whether the same call may succeed later with nothing changed.
    """

    code = "error"
    retryable = False

    def __init__(self, message: str, *, code: str | None = None, remedy: str = "") -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.remedy = remedy or remedy_for(self.code)

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} {self.remedy}".strip() if self.remedy else message


class ConfigurationError(PdfocrError):
    """What was asked for cannot work: ends the run at once."""

    code = "configuration"


class DocumentError(PdfocrError):
    """One document cannot be read, or was left out by a filter; its neighbours go on."""

    def __init__(self, reason: Reason, detail: str = "", *, content_id: str | None = None) -> None:
        super().__init__(detail or reason.value, code=reason.value)
        self.reason = reason
        self.detail = detail
        self.content_id = content_id


class PageError(PdfocrError):
    """One page, or one attempt at it, failed; the other pages go on."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail or reason.value, code=reason.value)
        self.reason = reason
        self.detail = detail


class StoreUnavailable(PdfocrError):
    """The object store does not answer after all patience: the run ends, what was committed stays."""

    code = "store_unavailable"
    retryable = True

    def __init__(self, message: str) -> None:
        super().__init__(message, remedy="Run again when the store answers; what was finished is kept.")


class ServerError(PdfocrError):
    """The server's own trouble (transport, 429, 5xx): waited out, never charged to the page."""

    code = "server"
    retryable = True


class ServerUnavailable(ServerError):
    """The server stays away after all patience: the run ends, what was committed stays."""

    code = "server_unavailable"
