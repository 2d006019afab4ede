"""Adopting what olmOCR has read: its results become ours, and what it lost is listed as not done.

A group is written whole before the index names it, and the index is appended to once, so an import that dies is repeated
from the start and then writes the same files again. What the index holds already is passed by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

from pdfocr_core.documents import ARCHIVE_SEPARATOR, Document, PageGroup
from pdfocr_core.errors import ConfigurationError, Reason, StoreUnavailable
from pdfocr_core.marks import Mark, MarkKind
from pdfocr_core.migration.olmocr import OlmocrItem, OlmocrResult, OlmocrWorkspace, ResultHead
from pdfocr_core.migration.records import document_record, dolma_line, page_records
from pdfocr_core.migration.sources import Sources, Standpoint
from pdfocr_core.outputs.assemble import assemble, write_markdown
from pdfocr_core.records import DocumentRecord, PageRecord, StatusRow
from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.counting import PageCounter, count_pages
from pdfocr_core.sources.grouping import group_documents
from pdfocr_core.sources.index import index_rows
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.standing import Standing, standings_of
from pdfocr_core.workspace import Workspace, line_of

__all__ = ["ImportedGroup", "OlmocrImport", "adopt"]

_ABSENT = "olmocr:"


class ImportedGroup(NamedTuple):
    """A work item of olmOCR that has become a group of ours."""

    key: str
    item: str
    rows: list[StatusRow]


@dataclass(slots=True)
class OlmocrImport:
    """What an import found. Lists hold our names of documents.

    Attributes:
        items: work items of olmOCR.
        known: documents that were in the workspace before.
        imported: documents whose results were taken over.
        groups: the keys of the groups that they are in.
        lost: documents of finished items without a result: olmOCR discarded them and said nothing.
        unfinished: documents of items that olmOCR had not finished.
        changed: documents that were written again after olmOCR had read them.
        left: of these, those that `keep_changed` would take and that an earlier import has left for the next run.
        mixed: members of archives that olmOCR confuses with each other.
        absent: imported documents whose source is not there any more.
        missing: documents without a result whose source is not there either.
        damaged: lines of results that cannot be read or do not add up.
        to_read: groups of documents that the next run reads.
    """

    items: int = 0
    known: int = 0
    pages: int = 0
    imported: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    damaged: int = 0
    to_read: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Plan:
    """One work item, sorted: documents with the source of their result, and documents that are left to be read."""

    item: OlmocrItem
    taken: list[tuple[Document, str]]
    not_done: list[Document]


def adopt(
    workspace: Workspace,
    olmocr: OlmocrWorkspace,
    sources: Sources,
    settings: IndexSettings,
    *,
    counter: PageCounter | None = None,
    on_group: Callable[[ImportedGroup], None] | None = None,
    markdown: bool = True,
    keep_changed: bool = False,
    allow_absent: bool = False,
    write: bool = True,
) -> OlmocrImport:
    """Take an olmOCR workspace over into ours; doing it twice changes nothing the second time.

    Args:
        workspace: ours.
        olmocr: theirs; only read.
        sources: looks at the documents themselves.
        settings: the size of the groups that are left to read.
        counter: counts the pages of local files.
        on_group: told of each imported group once it is written, before the index names it.
        markdown: write Markdown files too.
        keep_changed: take results over even where the source was written after them, as after copying the sources.
        allow_absent: go on where none of the sources is there.
        write: off to see what would be done.

    Raises:
        ConfigurationError: theirs is no olmOCR workspace, or no source is where it says.
        StoreUnavailable: the index was appended to meanwhile.
    """
    items = list(olmocr.items())
    report = OlmocrImport(items=len(items))
    known = Known()
    known.refresh(workspace)
    looked = sources.look(path for item in items for path in _outer_paths(item))
    if looked and not allow_absent and all(point.absent for point in looked.values()):
        raise ConfigurationError(
            f"None of the {len(looked)} sources of {olmocr.url} is there; the first is {next(iter(looked))}.",
            code="source_not_found",
            remedy="Name the folder that olmOCR was run in with --base; or adopt the results alone with --allow-absent.",
        )
    sorter = _Sorter(workspace, known, sources, looked, report, keep_changed=keep_changed)
    plans = [sorter.sort(item) for item in items]
    imported = [(plan, PageGroup(tuple(document for document, _source in plan.taken))) for plan in plans if plan.taken]
    not_done = [document for plan in plans for document in plan.not_done]
    to_read = group_documents(count_pages(not_done, counter), settings.pages_per_group)
    report.to_read = [group.key for group in to_read]
    for plan, group in imported:
        report.groups.append(group.key)
        if not write:
            continue
        rows = _write(workspace, plan, group, olmocr.results(plan.item.key), markdown=markdown)
        if on_group is not None:
            on_group(ImportedGroup(group.key, plan.item.key, rows))
    if write:
        for group in to_read:
            workspace.write_manifest(group)
        groups = [*(group for _plan, group in imported), *to_read]
        if groups and not workspace.append_index(index_rows(groups), known.next_batch):
            raise StoreUnavailable(f"{workspace.url}: another program has appended to the index meanwhile.")
        _mark_absent(workspace, looked)
    return report


def _outer_paths(item: OlmocrItem) -> Iterable[str]:
    return [*item.paths, *(_outer(item, result) for result in item.results)]


def _outer(item: OlmocrItem, result: ResultHead) -> str:
    """The path of the file or archive that a result is of."""
    return result.source if result.source in item.paths else result.source.split(ARCHIVE_SEPARATOR, 1)[0]


class _Sorter:
    """Decides for each document of an item: take its result over, leave it to be read, or pass it by."""

    def __init__(
        self,
        workspace: Workspace,
        known: Known,
        sources: Sources,
        looked: dict[str, Standpoint],
        report: OlmocrImport,
        *,
        keep_changed: bool,
    ) -> None:
        self._known, self._sources, self._looked, self._report = known, sources, looked, report
        self._keep_changed = keep_changed
        self._pending = _pending(workspace) if keep_changed else set()
        self._urls = {row.url for row in workspace.read_index()} if any(p.absent for p in looked.values()) else set()
        self._seen: set[str] = set()

    def sort(self, item: OlmocrItem) -> _Plan:
        """One work item; every document is taken once, in whichever item comes first."""
        self._report.damaged += item.damaged
        results: dict[str, dict[str, ResultHead]] = {}
        for result in item.results:
            of_outer = results.setdefault(self._sources.url_of(_outer(item, result)), {})
            of_outer[self._sources.url_of(result.source)] = result
        plan = _Plan(item, [], [])
        for url in dict.fromkeys(self._sources.url_of(path) for path in _outer_paths(item)):
            point = self._looked[url]
            if point.documents is None:
                self._sort_absent(plan, url, results.get(url, {}))
                continue
            for document in point.documents.values():
                self._sort_document(plan, document, point, results.get(url, {}).get(document.url))
        return plan

    def _sort_document(self, plan: _Plan, document: Document, point: Standpoint, result: ResultHead | None) -> None:
        if document.document_id in self._seen:
            return
        self._seen.add(document.document_id)
        modified = point.modified
        stale = result is not None and modified is not None and modified > result.read_before
        if self._known.holds_document(document):
            self._report.known += 1
            if stale and document.document_id in self._pending:
                self._report.left.append(document.url)
            return
        if result is not None and document.url in point.mixed:
            why = self._report.mixed
        elif stale and not self._keep_changed:
            why = self._report.changed
        elif result is not None:
            self._take(plan, replace(document, pages=result.pages, problem=None, detail=""), result)
            return
        else:
            why = self._report.lost if plan.item.done else self._report.unfinished
        why.append(document.url)
        plan.not_done.append(document)

    def _sort_absent(self, plan: _Plan, url: str, results: dict[str, ResultHead]) -> None:
        """Results whose source is not there are kept; where there are none either, that is all there is to say."""
        for name, result in results.items():
            document = Document(name, f"{_ABSENT}{result.id}", pages=result.pages)
            if self._is_new(document):
                self._take(plan, document, result)
                self._report.absent.append(name)
        if not results:
            detail = "Named in olmOCR's index, and not there."
            document = Document(url, "missing", problem=Reason.SOURCE_MISSING.value, detail=detail)
            if self._is_new(document):
                plan.not_done.append(document)
                self._report.missing.append(url)

    def _is_new(self, document: Document) -> bool:
        if document.url in self._seen:
            return False
        self._seen.add(document.url)
        if document.url in self._urls:
            self._report.known += 1
            return False
        return True

    def _take(self, plan: _Plan, document: Document, result: ResultHead) -> None:
        plan.taken.append((document, result.source))
        self._report.imported.append(document.url)
        self._report.pages += result.pages


def _pending(workspace: Workspace) -> set[str]:
    """Documents of the index that nothing has read yet."""
    ended = {stored.name.rpartition("/")[2].removesuffix(".jsonl") for stored in workspace.store.list("status")}
    return {row.document_id for row in workspace.read_index() if row.group not in ended}


def _write(
    workspace: Workspace, plan: _Plan, group: PageGroup, results: dict[str, OlmocrResult], *, markdown: bool
) -> list[StatusRow]:
    """All files of one imported group."""
    taken = [(document, results[source]) for document, source in plan.taken]
    records: list[DocumentRecord | PageRecord] = []
    for document, result in taken:
        records += [document_record(document, result), *page_records(document, result)]
    rows = assemble(group.key, records, max_page_error_rate=None, model="").rows
    lines = [line_of(record) for record in records]
    workspace.write_manifest(group)
    workspace.commit_pages(group.key, lines, sum(map(len, lines)))
    workspace.write_results(group.key, b"".join(dolma_line(*one) for one in taken))
    workspace.write_status(group.key, rows)
    if markdown:
        write_markdown(workspace, group.key)
    return rows


def _mark_absent(workspace: Workspace, looked: dict[str, Standpoint]) -> None:
    """Say of imported documents whose source is not there that they are gone."""
    absent = {url for url, point in looked.items() if point.absent}
    if not absent:
        return
    standings = standings_of(workspace).by_document()
    at = datetime.now(UTC).isoformat(timespec="seconds")
    marks = [
        Mark(MarkKind.GONE, at, row.group, row.document_id, row.url, row.version)
        for row in workspace.read_index()
        if row.version.startswith(_ABSENT)
        and row.url.split(ARCHIVE_SEPARATOR, 1)[0] in absent
        and standings.get((row.group, row.document_id), Standing.CURRENT) is Standing.CURRENT
    ]
    if marks:
        workspace.marks.append(marks, workspace.next_batch())
