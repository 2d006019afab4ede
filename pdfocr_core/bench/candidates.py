"""What is judged: Markdown that someone has written into a folder, or the pages of a workspace."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pdfocr_core.bench.data import BenchData
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.outputs.periods import ReadingTime
from pdfocr_core.records import PageRecord, PageStatus
from pdfocr_core.workspace import Workspace

__all__ = ["Candidate", "MarkdownFolder", "Spent", "WorkspacePages", "missing_pages"]

_NAME = re.compile(r"(?P<stem>.*)_pg(?P<page>\d+)_repeat\d+\.md", re.DOTALL)


@dataclass(slots=True)
class Spent:
    """What reading the judged pages took.

    Attributes:
        failed: pages that could not be read; their text is empty.
    """

    pages: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    reading_seconds: float = 0.0
    models: dict[str, int] = field(default_factory=dict)


class Candidate(Protocol):
    """Texts by page.

    Attributes:
        name: what it is called in tables.
        spent: what it took; None where nobody wrote that down.
    """

    name: str
    spent: Spent | None

    def texts(self, pdf: str, page: int) -> list[str]:
        """Every reading of the page; none where it was not read."""


def missing_pages(candidate: Candidate, data: BenchData) -> list[str]:
    """Pages with tests that the candidate has not read."""
    return [
        f"{pdf}, page {page}" for pdf, pages in data.pages().items() for page in pages if not candidate.texts(pdf, page)
    ]


class MarkdownFolder:
    """`<path of the PDF>/<stem>_pg<page>_repeat<n>.md`, as olmOCR's converters write them."""

    spent: Spent | None = None

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ConfigurationError(f"There is no folder {folder}.", remedy="Name a folder of Markdown files.")
        self.name = folder.name or str(folder)
        self._files: dict[tuple[str, int], list[Path]] = {}
        for path in sorted(folder.rglob("*.md")):
            found = _NAME.fullmatch(path.relative_to(folder).as_posix())
            if found and path.is_file():
                self._files.setdefault((found["stem"], int(found["page"])), []).append(path)
        if not self._files:
            raise ConfigurationError(
                f"{folder} holds no reading.",
                remedy="Files are named <stem of the PDF>_pg<page>_repeat<n>.md; a workspace is given as --workspace.",
            )

    def texts(self, pdf: str, page: int) -> list[str]:
        """Every file of that page."""
        files = self._files.get((pdf.removesuffix(".pdf"), page), ())
        return [path.read_text(encoding="utf-8", errors="replace") for path in files]


class WorkspacePages:
    """A workspace's pages, found by the bytes of the PDFs, wherever those lay when they were read."""

    def __init__(self, workspace: Workspace, data: BenchData, name: str = "") -> None:
        self.name = name or workspace.url.rstrip("/").rpartition("/")[2]
        spent = Spent()
        self.spent: Spent | None = spent
        content = {pdf: _content_id(path) for pdf, path in data.pdfs.items()}
        wanted = set(content.values())
        self._content = content
        self._texts: dict[tuple[str, int], str] = {}
        time = ReadingTime()
        for key in workspace.group_keys():
            for record in _records(workspace, key):
                place = (record.content_id, record.page)
                if record.content_id in wanted and place not in self._texts:
                    self._texts[place] = "" if record.status is PageStatus.BLANK else record.text
                    _add(spent, record)
                    if record.started_at and record.finished_at:
                        time.add([(record.started_at, record.finished_at)])
        spent.reading_seconds = round(time.seconds, 3)
        spent.seconds = round(spent.seconds, 3)

    def texts(self, pdf: str, page: int) -> list[str]:
        """The page's text, if the document was read."""
        text = self._texts.get((self._content[pdf], page))
        return [] if text is None else [text]


def _records(workspace: Workspace, key: str) -> list[PageRecord]:
    try:
        return [record for record, _line in workspace.read_page_lines(key) if isinstance(record, PageRecord)]
    except FileNotFoundError:
        return []  # not read yet


def _add(spent: Spent, record: PageRecord) -> None:
    model = record.model or "none"
    spent.pages += 1
    spent.failed += record.status is PageStatus.FAILED
    spent.models[model] = spent.models.get(model, 0) + 1
    spent.tokens_in += record.prompt_tokens
    spent.tokens_out += record.completion_tokens
    spent.seconds += sum(attempt.seconds for attempt in record.attempts)


def _content_id(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
