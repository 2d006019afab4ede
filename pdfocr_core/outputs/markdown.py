"""Markdown files that mirror the sources.

Paths never collide and never leave `markdown/`: a path is an injective function of the document's URL, and URLs are
unique within a collection.

    file inside the workspace's parent folder   docs/a.pdf            → docs/a.pdf.md
    any other local file                        /data/a.pdf           → file/data/a.pdf.md
    object                                      s3://bucket/x/a.pdf   → s3/bucket/x/a.pdf.md
    archive member                              docs/b.tar.gz::c.pdf  → docs/b.tar.gz::/c.pdf.md
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from pdfocr_core.documents import ARCHIVE_SEPARATOR
from pdfocr_core.outputs.tables_html import to_html, to_pipes
from pdfocr_core.settings import MarkdownSettings, PageBreaks, Tables
from pdfocr_core.store import is_url

__all__ = ["document_markdown", "markdown_path", "markdown_pieces", "parse_results"]

_SCHEMES = frozenset({"file", "s3", "gs", "az", "memory", "http", "https"})
_LONGEST_NAME = 240  # bytes; file systems allow 255, the store's temporary names need some
_AS_READ = MarkdownSettings()
# Soft hyphens, spaces of no width, byte order marks, controls; not the joiners, which some scripts are written with.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def markdown_path(url: str, workspace_url: str) -> str:
    """The path under `markdown/` for the document at `url`.

    Args:
        url: the document's URL (see `Document.url`).
        workspace_url: the workspace's root; local documents beside it get short paths.
    """
    outer, separator, member = url.partition(ARCHIVE_SEPARATOR)
    top, segments = _outer_segments(outer, workspace_url)
    if separator:
        segments[-1] += ARCHIVE_SEPARATOR
        segments += member.split("/")
    segments[-1] += ".md"
    path = "/".join(_safe(segment) for segment in segments)
    if top is not None:
        return f"{top}/{path}"
    # A folder of the user's that is named like one of our top folders must not run into it.
    return _escape(path[0]) + path[1:] if path.partition("/")[0] in _SCHEMES else path


def _outer_segments(outer: str, workspace_url: str) -> tuple[str | None, list[str]]:
    """The top folder that says what kind of source it is, unless it stands beside the workspace; and the rest."""
    if is_url(outer):
        scheme, _, rest = outer.partition("://")
        return scheme, rest.split("/")
    path = PurePosixPath(outer)
    if not is_url(workspace_url):
        parent = PurePosixPath(workspace_url).parent
        if path != parent and path.is_relative_to(parent):
            return None, list(path.relative_to(parent).parts)
    return "file", list(path.parts[1:])


def _safe(segment: str) -> str:
    """One path segment that any file system and store takes; different segments stay different."""
    text = re.sub(r"%(?=[0-9A-Fa-f]{2})", "%25", segment)
    text = re.sub(r"[\x00-\x1f\x7f\\\ud800-\udfff]", lambda match: _escape(match.group()), text)
    if text.strip(".") == "":
        text = "%2E" * len(text) or "%00"
    encoded = text.encode()
    if len(encoded) <= _LONGEST_NAME:
        return text
    suffix = ".md" if segment.endswith(".md") else ""
    digest = hashlib.sha256(segment.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return encoded[: _LONGEST_NAME - 20].decode(errors="ignore") + f"~{digest}{suffix}"


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))


def document_markdown(
    record: dict[str, Any],
    settings: MarkdownSettings = _AS_READ,
    edit: Callable[[int, str], str] | None = None,
) -> str:
    """The Markdown of one Dolma document; see `markdown_pieces`."""
    return "".join(markdown_pieces(record, settings, edit))


def markdown_pieces(
    record: dict[str, Any],
    settings: MarkdownSettings = _AS_READ,
    edit: Callable[[int, str], str] | None = None,
) -> Iterator[str]:
    """The Markdown of one Dolma document, page by page: a long document's is not in memory once more.

    Args:
        record: the document.
        settings: what it looks like; pages with a blank line between them, and nothing else, unless they say so.
        edit: changes the text of a page, given its number, before anything else.
    """
    if settings.markdown_front_matter:
        yield _front_matter(record)
    text = record["text"]
    between = "\n\n---\n\n" if settings.markdown_page_breaks is PageBreaks.RULE else "\n\n"
    several = False
    for start, end, number in record["attributes"]["pdf_page_numbers"]:
        page = text[start:end].strip("\n")
        page = _page(edit(number, page).strip("\n") if edit else page, settings)
        if settings.markdown_page_breaks is PageBreaks.COMMENT:
            page = f"<!-- page {number} -->\n\n{page}".rstrip("\n")
        if page:
            yield between + page if several else page
            several = True
    yield "\n"


def _page(text: str, settings: MarkdownSettings) -> str:
    if settings.markdown_normalize:
        text = _normalized(text)
    match settings.markdown_tables:
        case Tables.PIPES:
            return to_pipes(text)
        case Tables.HTML:
            return to_html(text)
        case Tables.AS_READ:
            return text


def _normalized(text: str) -> str:
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    # Two spaces at the end of a line are a line break of Markdown; any others are nothing.
    return re.sub(r"(?<! ) $|\t+$| {3,}$", "", _INVISIBLE.sub("", text), flags=re.MULTILINE)


def _front_matter(record: dict[str, Any]) -> str:
    import yaml

    metadata = record["metadata"]
    facts = {
        "source": metadata["Source-File"],
        "document_id": record["id"],
        "content_id": metadata.get("content-id"),
        "pages": metadata["pdf-total-pages"],
        "failed_pages": metadata.get("failed-pages", []),
        "fallback_pages": metadata.get("fallback-pages", []),
        "model": metadata.get("model"),
        "engine_id": metadata.get("engine-id"),
        "created": record["created"],
        "producer": metadata.get("olmocr-version"),
    }
    lines = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, default_flow_style=None, width=10_000)
    return f"---\n{lines}---\n\n"


def parse_results(lines: bytes) -> Iterator[dict[str, Any]]:
    """The Dolma documents of a results file, one at a time."""
    return (json.loads(line) for line in io.BytesIO(lines) if line != b"\n")
