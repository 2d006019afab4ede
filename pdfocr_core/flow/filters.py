"""Which documents are left out before a model sees them. A filter that cannot judge keeps the document.

What the text-based filters look at is read by the isolated renderer; only plain text comes here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pdfocr_core.documents import Document, shown_url
from pdfocr_core.errors import ConfigurationError, DocumentError, Reason
from pdfocr_core.flow.documents import OpenDocument
from pdfocr_core.records import DocumentStatus
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import FilterSettings, ReadSettings
from pdfocr_core.sources.standing import standings_of
from pdfocr_core.workspace import Workspace

__all__ = ["Filters", "Verdict", "judge_text"]

# The words that olmOCR counts.
_SPAM_WORDS = frozenset(
    ("download", "pdf", "epub", "mobi", "free", "ebook", "file", "save", "casino", "viagra", "cialis", "ciprofloxacin")
)
_WORD = re.compile(r"\b\w+\b")
_WITH_TEXT = (DocumentStatus.OK, DocumentStatus.PARTIAL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a document is left out."""

    reason: Reason
    detail: str


class Filters:
    """Judges documents as the settings say.

    Raises:
        ConfigurationError: a language cannot be told from others.
    """

    def __init__(self, settings: ReadSettings, pool: RenderPool, workspace: Workspace) -> None:
        self._settings, self._pool = settings.filters, pool
        self._originals = _Originals(workspace)
        if self._settings.filter_languages:
            _check_languages(self._settings.filter_languages)

    def before_opening(self, document: Document) -> None:
        """Judge by what the index knows, so that nothing has to be fetched.

        Raises:
            DocumentError: it is left out.
        """
        if document.bytes and document.problem is None:
            _leave_out(_by_size(document.bytes, self._settings))

    async def after_opening(self, opened: OpenDocument) -> None:
        """Judge an open document.

        Raises:
            DocumentError: it is left out.
        """
        content_id = opened.content_id
        if not opened.pages:
            detail = f"The document has {opened.source_pages} pages, asked for are {opened.selection.page_range}."
            _leave_out(Verdict(Reason.FILTERED_PAGE_RANGE, detail), content_id)
        _leave_out(_by_pages(opened.source_pages, self._settings), content_id)
        if not opened.document.bytes:
            size = (await asyncio.to_thread(opened.path.stat)).st_size
            _leave_out(_by_size(size, self._settings), content_id)
        if opened.kind == "pdf":
            _leave_out(await self._by_content(opened), content_id)
        # Last, so that what another filter leaves out is never the one that is kept for all.
        if self._settings.filter_duplicates:
            _leave_out(await self._originals.judge(opened), content_id)

    async def _by_content(self, opened: OpenDocument) -> Verdict | None:
        settings = self._settings
        want_form = settings.filter_forms and "has_form" in opened.flags
        if not (want_form or settings.by_text):
            return None
        sample = await self._pool.sample(
            opened.path,
            settings.filter_text_pages if settings.by_text else 0,
            want_form=want_form,
            password=opened.password,
        )
        if sample is None:
            return None
        if sample.has_text_fields:
            return Verdict(Reason.FILTERED_FORM, "The PDF has text fields to be filled in.")
        return await asyncio.to_thread(judge_text, sample.text, settings) if settings.by_text else None


def _leave_out(verdict: Verdict | None, content_id: str | None = None) -> None:
    if verdict is not None:
        raise DocumentError(verdict.reason, verdict.detail, content_id=content_id)


def _by_size(size: int, settings: FilterSettings) -> Verdict | None:
    least, most = settings.filter_min_bytes, settings.filter_max_bytes
    if (least is not None and size < least) or (most is not None and size > most):
        return Verdict(Reason.FILTERED_BYTES, f"The document has {size} bytes, wanted are {_bounds(least, most)}.")
    return None


def _by_pages(pages: int, settings: FilterSettings) -> Verdict | None:
    least, most = settings.filter_min_pages, settings.filter_max_pages
    if (least is not None and pages < least) or (most is not None and pages > most):
        return Verdict(Reason.FILTERED_PAGES, f"The document has {pages} pages, wanted are {_bounds(least, most)}.")
    return None


def _bounds(least: int | None, most: int | None) -> str:
    return f"{least or 0} to {most}" if most is not None else f"{least} or more"


def judge_text(text: str, settings: FilterSettings) -> Verdict | None:
    """Judge the text layer of the first pages, by olmOCR's rules in olmOCR's order; None keeps the document."""
    if len(text) < settings.filter_min_characters:
        return None
    if sum(map(str.isalpha, text)) < settings.filter_min_letter_share * len(text):
        return None
    if settings.filter_languages:
        language, confidence = _language_of(text)
        foreign = language is not None and language not in settings.filter_languages
        if foreign and confidence >= settings.filter_min_confidence:
            return Verdict(Reason.FILTERED_LANGUAGE, f"The text layer is {language} ({confidence:.0%} certain).")
    if settings.filter_spam:
        words = _WORD.findall(text.lower())
        share = sum(word in _SPAM_WORDS for word in words) / max(len(words), 1)
        if share > settings.filter_max_spam_share:
            return Verdict(Reason.FILTERED_SPAM, f"{share:.1%} of the words are those of download pages.")
    return None


@cache
def _detector() -> Any:
    """All languages have to be known to tell one from the others: about 100 MB, loaded once and when first asked."""
    from lingua import LanguageDetectorBuilder

    return LanguageDetectorBuilder.from_all_languages().build()


def _language_of(text: str) -> tuple[str | None, float]:
    """The likeliest language as ISO 639-1 code, with how likely it is; None where no language stands out."""
    values = _detector().compute_language_confidence_values(text)[:2]
    if not values or not values[0].value or (len(values) > 1 and values[0].value == values[1].value):
        return None, 0.0
    return str(values[0].language.iso_code_639_1.name).lower(), float(values[0].value)


def _check_languages(codes: Sequence[str]) -> None:
    from lingua import Language

    known = sorted(language.iso_code_639_1.name.lower() for language in Language.all())
    unknown = [code for code in codes if code not in known]
    if unknown:
        raise ConfigurationError(
            f"Documents cannot be filtered by the language {', '.join(unknown)}.", remedy=f"Known: {' '.join(known)}."
        )


@dataclass(slots=True)
class _Originals:
    """Which document the bytes belong to; all others with the same are duplicates.

    What was read before is in the status rows; among new documents the one that is opened first is the original.
    """

    workspace: Workspace
    _of: dict[str, tuple[str, str]] | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def judge(self, opened: OpenDocument) -> Verdict | None:
        async with self._lock:
            if self._of is None:
                self._of = await asyncio.to_thread(self._read)
        document = opened.document
        document_id, url = self._of.setdefault(opened.content_id, (document.document_id, document.url))
        if document_id == document.document_id:
            return None
        return Verdict(Reason.FILTERED_DUPLICATE, f"The same bytes are {shown_url(url)}")

    def _read(self) -> dict[str, tuple[str, str]]:
        """The documents that were read, without those whose source is gone or has changed."""
        found: dict[str, tuple[str, str]] = {}
        passed_by = {*standings_of(self.workspace).by_document(), *self.workspace.pruned()}
        for key in self.workspace.group_keys():
            for row in self.workspace.read_status(key) or ():
                if row.content_id and row.status in _WITH_TEXT and (row.group, row.document_id) not in passed_by:
                    found.setdefault(row.content_id, (row.document_id, row.url))
        return found
