"""Every class of bad input we know of, with the end that each must come to.

The builders stand in `bad_pdfs`, `bad_images` and `bad_archives`; this table says what must become of the files when a
run reads them. Nothing is read from disk, so that each case can be looked at and changed in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pdfocr_core.errors import Reason
from pdfocr_core.records import DocumentStatus
from tests import bad_archives, bad_images, bad_pdfs

__all__ = ["CASES", "Case", "Outcome"]

OK, PARTIAL = DocumentStatus.OK, DocumentStatus.PARTIAL
FAILED, SKIPPED = DocumentStatus.FAILED, DocumentStatus.SKIPPED


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one document of an archive must end."""

    status: DocumentStatus
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One bad input.

    Attributes:
        name: of the case.
        filename: under which it is put into the folder that is read.
        build: makes its bytes.
        expect_status: how the file's own status row must end; None where an archive has no row of its own.
        expect_reason: with which reason code.
        expect_flags: remarks that the row must bear, others may stand beside them.
        pages: how many pages the document must have.
        phrase: what must stand in its text; empty where there is nothing to read.
        members: how the documents of an archive must end, by member name; there must be no others.
        exhausting: reading it uses up the time or memory that a page may have, so it takes long.
    """

    name: str
    filename: str
    build: Callable[[], bytes]
    expect_status: DocumentStatus | None
    expect_reason: Reason | None = None
    expect_flags: frozenset[str] = frozenset()
    pages: int = 1
    phrase: str = ""
    members: Mapping[str, Outcome] = field(default_factory=dict)
    exhausting: bool = False


def _refused(build: Callable[[], bytes], ending: str, reason: Reason, status: DocumentStatus = FAILED) -> Case:
    name = build.__name__
    return Case(name, f"{name}.{ending}", build, status, reason, pages=0)


def _pdf(
    build: Callable[[], bytes],
    *flags: str,
    phrase: str = bad_pdfs.PHRASE,
    pages: int = 1,
    status: DocumentStatus = OK,
    exhausting: bool = False,
) -> Case:
    """A PDF that opens; whatever is not `ok` about it lies in its pages."""
    name = build.__name__
    reason = None if status is OK else Reason.PAGES_FAILED
    flagged = frozenset(flags)
    return Case(name, f"{name}.pdf", build, status, reason, flagged, pages, phrase, exhausting=exhausting)


def _picture(build: Callable[[], bytes], ending: str, *flags: str, pages: int = 1) -> Case:
    name = build.__name__
    return Case(name, f"{name}.{ending}", build, OK, None, frozenset(flags), pages, bad_images.PHRASE)


def _archive(build: Callable[[], bytes], ending: str, own: Outcome | None = None, **members: Outcome) -> Case:
    """Member names are given without their `.pdf`, which Python's keywords cannot hold."""
    return _archive_of(build, ending, own, {f"{name}.pdf": outcome for name, outcome in members.items()})


def _archive_of(build: Callable[[], bytes], ending: str, own: Outcome | None, members: Mapping[str, Outcome]) -> Case:
    name = build.__name__
    status, reason = (own.status, own.reason) if own else (None, None)
    return Case(name, f"{name}.{ending}", build, status, reason, pages=0, members=members)


_GOOD = Outcome(OK)
_UNSAFE = Outcome(FAILED, Reason.UNSAFE_NAME)
_NOT_REGULAR = Outcome(SKIPPED, Reason.NOT_REGULAR)

_PDFS = (
    _refused(bad_pdfs.empty, "pdf", Reason.EMPTY_FILE),
    _refused(bad_pdfs.whitespace_only, "pdf", Reason.EMPTY_FILE),
    _refused(bad_pdfs.html, "pdf", Reason.NOT_A_PDF),
    _refused(bad_archives.docx, "pdf", Reason.NOT_A_PDF),
    _picture(bad_images.png, "pdf"),
    _pdf(bad_pdfs.junk_before_header, "repaired"),
    _pdf(bad_pdfs.missing_eof, "repaired"),
    _pdf(bad_pdfs.trailing_garbage, "repaired"),
    _pdf(bad_pdfs.broken_xref, "repaired"),
    _refused(bad_pdfs.truncated, "pdf", Reason.TRUNCATED),
    _refused(bad_pdfs.header_only, "pdf", Reason.CORRUPT_PDF),
    _refused(bad_pdfs.user_password, "pdf", Reason.PASSWORD_REQUIRED),
    _pdf(bad_pdfs.owner_password, "permissions_restricted"),
    _refused(bad_pdfs.unknown_handler, "pdf", Reason.UNSUPPORTED_ENCRYPTION),
    _refused(bad_pdfs.zero_pages, "pdf", Reason.NO_PAGES),
    _pdf(bad_pdfs.page_tree_loop, pages=2, status=PARTIAL),
    _pdf(bad_pdfs.count_lies, "page_count_mended"),
    _pdf(bad_pdfs.deep_page_tree, phrase="", status=FAILED),
    _pdf(bad_pdfs.deep_content),
    _pdf(bad_pdfs.huge_page, "downscaled"),
    _pdf(bad_pdfs.zero_page, phrase="", status=FAILED),
    _pdf(bad_pdfs.tiny_page, phrase=""),
    _pdf(bad_pdfs.self_calling_form),
    _pdf(bad_pdfs.exploding_form, phrase="", status=FAILED, exhausting=True),
    _pdf(bad_pdfs.flate_bomb, pages=2, status=PARTIAL, exhausting=True),
    _pdf(bad_pdfs.one_page_bomb, phrase="", status=FAILED, exhausting=True),
    _pdf(bad_pdfs.javascript),
    _pdf(bad_pdfs.launch_action),
    _pdf(bad_pdfs.filled_form, "has_form", phrase=bad_pdfs.FIELD_VALUE),
    _pdf(bad_pdfs.attachment, "has_attachments"),
)

_PICTURES = (
    _picture(bad_images.multi_frame_tiff, "tiff", pages=3),
    _picture(bad_images.multi_frame_gif, "gif", pages=2),
    _picture(bad_images.animated_webp, "webp", pages=2),
    _picture(bad_images.cmyk_jpeg, "jpg"),
    _picture(bad_images.grey_16_bit_png, "png"),
    _picture(bad_images.palette_png_with_alpha, "png"),
    _picture(bad_images.exif_turned_jpeg, "jpg"),
    _refused(bad_images.png_bomb, "png", Reason.TOO_MANY_PIXELS),
    _refused(bad_images.corrupt_png, "png", Reason.CORRUPT_IMAGE),
    _picture(bad_images.truncated_jpeg, "jpg", "truncated_image"),
    _refused(bad_images.heic_header, "heic", Reason.UNSUPPORTED_IMAGE, SKIPPED),
    _refused(bad_images.svg, "svg", Reason.UNSUPPORTED_IMAGE, SKIPPED),
)

_ARCHIVES = (
    _archive_of(bad_archives.parent_folder_tar, "tar", None, {"../../evil.pdf": _UNSAFE, "good.pdf": _GOOD}),
    _archive_of(bad_archives.absolute_path_tar, "tar", None, {"/tmp/evil.pdf": _UNSAFE, "good.pdf": _GOOD}),
    _archive(
        bad_archives.links_and_devices_tar,
        "tar",
        good=_GOOD,
        symlink=_NOT_REGULAR,
        hardlink=_NOT_REGULAR,
        pipe=_NOT_REGULAR,
        device=_NOT_REGULAR,
    ),
    _archive_of(bad_archives.backslash_zip, "zip", None, {"..\\evil.pdf": _UNSAFE, "good.pdf": _GOOD}),
    _archive_of(bad_archives.duplicate_names_tar, "tar", None, {"same.pdf": _GOOD, "same.pdf~2": _GOOD}),
    _archive_of(bad_archives.non_utf8_names_tar, "tar", None, {"caf\udce9.pdf": _GOOD}),
    _archive(bad_archives.empty_tar, "tar", Outcome(SKIPPED, Reason.EMPTY_ARCHIVE)),
    _archive(bad_archives.no_document_tar, "tar", Outcome(SKIPPED, Reason.EMPTY_ARCHIVE)),
    _archive(bad_archives.text_named_tar_gz, "tar.gz", Outcome(FAILED, Reason.NOT_AN_ARCHIVE)),
    _archive_of(
        bad_archives.nested_tar, "tar", None, {"inner.tar": Outcome(SKIPPED, Reason.NESTED_ARCHIVE), "good.pdf": _GOOD}
    ),
    _archive(
        bad_archives.truncated_tar_gz,
        "tar.gz",
        Outcome(FAILED, Reason.ARCHIVE_TRUNCATED),
        good=_GOOD,
        cut=Outcome(FAILED, Reason.ARCHIVE_TRUNCATED),
    ),
    _archive(bad_archives.damaged_middle_tar, "tar", Outcome(FAILED, Reason.ARCHIVE_DAMAGED), good=_GOOD),
    _archive(bad_archives.bomb_zip, "zip", bomb=Outcome(FAILED, Reason.ARCHIVE_LIMIT)),
    _archive(
        bad_archives.bomb_tar_gz,
        "tar.gz",
        Outcome(FAILED, Reason.ARCHIVE_LIMIT),
        bomb=Outcome(FAILED, Reason.ARCHIVE_LIMIT),
    ),
    _archive(bad_archives.lying_zip, "zip", small=Outcome(FAILED, Reason.ARCHIVE_DAMAGED)),
    _archive(bad_archives.encrypted_zip, "zip", secret=Outcome(FAILED, Reason.ARCHIVE_ENCRYPTED)),
    _archive(bad_archives.truncated_zip, "zip", Outcome(FAILED, Reason.ARCHIVE_TRUNCATED)),
)

CASES: list[Case] = [*_PDFS, *_PICTURES, *_ARCHIVES]
