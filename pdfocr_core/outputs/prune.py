"""Removing the results of documents that are superseded or gone.

The marks that say so are written first, then the files are rewritten, each group's status rows last. So a pruning that dies
loses nothing that was to stay, and the next one finds what it left behind.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

import zstandard

from pdfocr_core.errors import StoreUnavailable
from pdfocr_core.marks import Mark, MarkKind
from pdfocr_core.outputs.figures import figure_folder, without_figures
from pdfocr_core.outputs.markdown import document_markdown, markdown_path
from pdfocr_core.records import DocumentStatus
from pdfocr_core.settings import MarkdownSettings, PageBreaks, Tables
from pdfocr_core.sources.standing import Standing, Standings, standings_of
from pdfocr_core.workspace import IndexRow, Workspace

__all__ = ["Pruned", "PrunedDocument", "prune"]

_TRIES = 5
_WITH_TEXT = (DocumentStatus.OK, DocumentStatus.PARTIAL)


class PrunedDocument(NamedTuple):
    """One document whose results are removed; `why` is `superseded`, `gone`, or `left_over` from a pruning that died."""

    group: str
    document_id: str
    url: str
    why: str


@dataclass(slots=True)
class Pruned:
    """What was removed, or would be.

    Attributes:
        held: superseded documents that stay because their new version has not been read, or not well.
        groups: how many groups they are in.
        bytes: what is freed, by kind of file.
    """

    documents: list[PrunedDocument] = field(default_factory=list)
    held: int = 0
    groups: int = 0
    bytes: dict[str, int] = field(default_factory=dict)

    def number(self, why: str) -> int:
        """How many documents are removed for this reason."""
        return sum(document.why == why for document in self.documents)


def prune(workspace: Workspace, *, remove: bool) -> Pruned:
    """Find the results of superseded and gone documents and, with `remove`, take them away.

    No run may be writing to the workspace meanwhile.

    Raises:
        StoreUnavailable: the index was appended to all the time.
    """
    for _try in range(_TRIES):
        next_batch = workspace.next_batch()
        standings = standings_of(workspace)
        pruned = Pruned()
        pruned.documents, pruned.held = _removable(workspace, standings)
        chosen = _places(pruned.documents)
        marks = [_mark(row) for row in standings.rows if _place(row) in chosen]
        if not remove or not marks or workspace.marks.append(marks, next_batch):
            break
    else:
        raise StoreUnavailable(f"{workspace.url}: the index changes all the time.")
    pruned.documents += _left_over(workspace, _places(pruned.documents))
    by_group: dict[str, dict[str, str]] = {}
    for document in pruned.documents:
        by_group.setdefault(document.group, {})[document.document_id] = document.url
    pruned.groups = len(by_group)
    for key, urls in by_group.items():
        freed = {"markdown": _drop_markdown(workspace, key, urls, standings, remove=remove)}
        freed |= _drop_documents(workspace, key, urls, remove=remove)
        for kind, size in freed.items():
            pruned.bytes[kind] = pruned.bytes.get(kind, 0) + size
    return pruned


def _removable(workspace: Workspace, standings: Standings) -> tuple[list[PrunedDocument], int]:
    """Documents with results that may go, and how many have to wait for their new version."""

    @cache
    def statuses(group: str) -> dict[str, DocumentStatus]:
        return {row.document_id: row.status for row in workspace.read_status(group) or ()}

    pruned = workspace.pruned()
    found, held = [], 0
    for row, standing in standings.rows.items():
        if row.document_id not in statuses(row.group):
            continue
        if standing is Standing.SUPERSEDED:
            new = standings.current[row.url]
            of_no_use = new in standings.rows or _place(new) in pruned  # gone by now
            if not of_no_use and statuses(new.group).get(new.document_id) not in _WITH_TEXT:
                held += 1
                continue
        found.append(PrunedDocument(row.group, row.document_id, row.url, standing.value))
    return found, held


def _left_over(workspace: Workspace, taken: set[tuple[str, str]]) -> Iterator[PrunedDocument]:
    """Documents that were marked before, and whose results are still there."""
    pruned = workspace.pruned() - taken
    groups = {group for group, _id in pruned}
    marks = (mark for name in workspace.marks.names() for mark in workspace.marks.of(name))
    urls = {(mark.group, mark.document_id): mark.url for mark in marks if mark.kind is MarkKind.PRUNED}
    for group in sorted(groups):
        for row in workspace.read_status(group) or ():
            if (group, row.document_id) in pruned:
                yield PrunedDocument(group, row.document_id, urls[group, row.document_id], "left_over")


def _drop_markdown(workspace: Workspace, key: str, urls: dict[str, str], standings: Standings, *, remove: bool) -> int:
    """Remove the Markdown files that are these documents' own: the file of a new version at the same path stays."""
    freed = 0
    for document_id, record in _results(workspace, key).items():
        if document_id not in urls:
            continue
        name = f"markdown/{markdown_path(record['metadata']['Source-File'], workspace.url)}"
        try:
            data = workspace.store.read(name)
        except FileNotFoundError:
            continue
        new = standings.current.get(urls[document_id])
        if new is not None and _place(new) != (key, document_id):
            newer = _results(workspace, new.group).get(new.document_id)
            if not _is_of(data, record) or (newer is not None and _is_of(data, newer)):
                continue
        freed += len(data)
        figures = list(workspace.store.list(figure_folder(name)))
        freed += sum(figure.size for figure in figures)
        if remove:
            # The file that points at them goes first.
            for one in (name, *(figure.name for figure in figures)):
                workspace.store.delete(one)
    return freed


def _drop_documents(workspace: Workspace, key: str, document_ids: Collection[str], *, remove: bool) -> dict[str, int]:
    """Take documents out of a finished group's files; what stays of them is not touched by a byte.

    The status rows go last, so while there are any, there may be more to take out. Returns what is freed.
    """
    store, freed = workspace.store, {}
    nothing_left = all(row.document_id in document_ids for row in workspace.read_status(key) or ())
    for kind, name, field_name in (
        ("results", f"results/output_{key}.jsonl", "id"),
        ("pages", f"pages/{key}.jsonl.zst", "document_id"),
        ("status", f"status/{key}.jsonl", "document_id"),
    ):
        try:
            old = store.read(name)
        except FileNotFoundError:
            continue
        new = b"" if nothing_left else _without(old, field_name, document_ids, packed=kind == "pages")
        freed[kind] = len(old) - len(new)
        if remove and nothing_left:
            store.delete(name)
        elif remove and new is not old:
            store.write(name, new)
    return freed


def _without(data: bytes, field_name: str, values: Collection[str], *, packed: bool) -> bytes:
    """JSON Lines without those that have one of the values; the very same object when there are none."""
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(data) if packed else data
    lines = [line for line in plain.split(b"\n") if line]
    kept = [line + b"\n" for line in lines if json.loads(line)[field_name] not in values]
    if len(kept) == len(lines):
        return data
    return zstandard.ZstdCompressor(level=3).compress(b"".join(kept)) if packed else b"".join(kept)


def _results(workspace: Workspace, key: str) -> dict[str, dict[str, Any]]:
    try:
        lines = workspace.read_results(key).split(b"\n")
    except FileNotFoundError:
        return {}
    records = (json.loads(line) for line in lines if line)
    return {record["id"]: record for record in records}


def _is_of(data: bytes, record: dict[str, Any]) -> bool:
    """Whether a Markdown file was made from this document, whatever settings it was made with."""
    found = without_figures(data.decode(errors="replace"))
    for breaks, tables, front_matter, normalize in itertools.product(PageBreaks, Tables, (False, True), (False, True)):
        settings = MarkdownSettings(
            markdown_page_breaks=breaks,
            markdown_tables=tables,
            markdown_front_matter=front_matter,
            markdown_normalize=normalize,
        )
        made = document_markdown(record, settings).encode("utf-8", "replace").decode()
        if found == without_figures(made):
            return True
    return False


def _mark(row: IndexRow) -> Mark:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Mark(MarkKind.PRUNED, at, row.group, row.document_id, row.url, row.version)


def _place(row: IndexRow) -> tuple[str, str]:
    return row.group, row.document_id


def _places(documents: list[PrunedDocument]) -> set[tuple[str, str]]:
    return {(document.group, document.document_id) for document in documents}
