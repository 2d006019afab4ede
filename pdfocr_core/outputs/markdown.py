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
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from pdfocr_core.documents import ARCHIVE_SEPARATOR
from pdfocr_core.store import is_url

__all__ = ["document_markdown", "markdown_path", "parse_results"]

_SCHEMES = frozenset({"file", "s3", "gs", "az", "memory", "http", "https"})
_LONGEST_NAME = 240  # bytes; file systems allow 255, the store's temporary names need some


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


def document_markdown(record: dict[str, Any]) -> str:
    """The Markdown of one Dolma document: its pages, a blank line between them."""
    text = record["text"]
    pages = [text[start:end].strip("\n") for start, end, _page in record["attributes"]["pdf_page_numbers"]]
    return "\n\n".join(page for page in pages if page) + "\n"


def parse_results(lines: bytes) -> Iterator[dict[str, Any]]:
    """The Dolma documents of a results file, one at a time."""
    return (json.loads(line) for line in io.BytesIO(lines) if line != b"\n")
