"""Documents whose page records hold lines with their places: what hOCR and searchable PDFs are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pdfocr_core.errors import ConfigurationError, remedy_for
from pdfocr_core.outputs.markdown import markdown_path
from pdfocr_core.records import PageRecord, PageStatus, StatusRow
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.workspace import Workspace

__all__ = ["Failure", "Folder", "Written", "documents_with_pages", "new_folder"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that was not written."""

    url: str
    reason: str
    detail: str

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.url}: {self.reason}.", self.detail, remedy_for(self.reason)) if part)


@dataclass(slots=True)
class Written:
    """What an export has written.

    Attributes:
        documents: files that were written.
        pages: pages with lines in them.
        own_text: pages left as they are, for they have sound text of their own.
        without_lines: pages with text, or that failed, of which no lines are known; blank pages do not count.
        bare_documents: documents without any lines; no file is written for them.
        failures: documents that should have been written and could not.
    """

    documents: int = 0
    pages: int = 0
    own_text: int = 0
    without_lines: int = 0
    bare_documents: int = 0
    failures: list[Failure] = field(default_factory=list)

    def count(self, pages: list[PageRecord]) -> list[PageRecord]:
        """Take note of a document's pages; returns those with lines."""
        lined = [page for page in pages if page.lines]
        self.without_lines += sum(not page.lines and page.status is not PageStatus.BLANK for page in pages)
        self.bare_documents += not lined
        return lined

    def check(self) -> None:
        """Refuse an export of nothing.

        Raises:
            ConfigurationError: no document has lines.
        """
        if not self.documents and not self.failures:
            raise ConfigurationError(
                f"No page of this workspace has lines with places ({self.without_lines} pages without).",
                code="no_lines",
                remedy="Read it again with `pdfocr run --keep-lines --reread` and the CPU engine, or for pages with a "
                "text layer with --text-layer prefer.",
            )


def documents_with_pages(workspace: Workspace) -> Iterator[tuple[StatusRow, list[PageRecord]]]:
    """Every document that is current, with its pages in order; one group is in memory at a time."""
    standings = standings_of(workspace).by_document()
    superseded = {place for place, standing in standings.items() if standing is Standing.SUPERSEDED}
    for key in workspace.group_keys():
        rows = {
            row.document_id: row for row in workspace.read_status(key) or () if (key, row.document_id) not in superseded
        }
        if not rows:
            continue
        pages: dict[str, dict[int, PageRecord]] = {}
        with contextlib.suppress(FileNotFoundError):
            for record, _line in workspace.read_page_lines(key):
                if isinstance(record, PageRecord) and record.document_id in rows:
                    # Of a page only what stands where matters here.
                    bare = record.model_copy(update={"text": "", "raw": None, "attempts": []})
                    pages.setdefault(record.document_id, {})[record.page] = bare
        for identity, of_document in pages.items():
            yield rows[identity], [of_document[number] for number in sorted(of_document)]


class Folder:
    """A new folder that files of documents are written to, each whole or not at all.

    Args:
        root: of the folder.
        workspace: documents are named as its Markdown files are.
        suffix: of the files.
    """

    def __init__(self, root: Path, workspace: Workspace, suffix: str) -> None:
        self._root, self._workspace_url, self._suffix = root, workspace.url, suffix
        self._names: set[str] = set()

    def write(self, row: StatusRow, data: bytes) -> None:
        """Write one document's file."""
        name = markdown_path(row.url, self._workspace_url).removesuffix(".md")
        name = name if name.lower().endswith(self._suffix) else name + self._suffix
        if name in self._names:
            name = f"{name.removesuffix(self._suffix)}~{row.document_id[:16]}{self._suffix}"
        self._names.add(name)
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".part-{row.document_id[:16]}")
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def new_folder(root: Path) -> None:
    """Make a folder that nothing can be lost in.

    Raises:
        ConfigurationError: it is there already and holds something; it may be where the sources are.
    """
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise ConfigurationError(f"{root} holds files already.", remedy="Name a folder that is new or empty.")
