"""The viewer as plain files: opened from disk or put on any web server, with no server of ours and no network.

    index.html, assets/…           the page
    data/documents.js              totals and the list
    data/<document>/document.js    one document and its pages in short
    data/<document>/<page>.js      one page's record
    data/<document>/<page>.jpg     its picture
    data/<document>/<page>-1.png   its figures, where a run has cut them out

Data are scripts that hand over JSON, since browsers let a page from disk run files beside it but not read them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.records import PageRecord
from pdfocr_core.scratch import scratch_folder
from pdfocr_core.store import StoreOpener, open_store
from pdfocr_core.viewer.catalogue import Catalogue, Query
from pdfocr_core.viewer.counterpart import Counterpart
from pdfocr_core.viewer.figures import figure_name, figures_view
from pdfocr_core.viewer.guarding import EXPORT_POLICY
from pdfocr_core.viewer.pages import GroupCache, document_view, page_view
from pdfocr_core.viewer.pictures import NoPicture, Pictures
from pdfocr_core.viewer.serve import assets
from pdfocr_core.workspace import Workspace

__all__ = ["export"]

_AT_ONCE = 8
_LIST = 200


def export(
    workspace: Workspace,
    target: Path,
    *,
    compare: Workspace | None = None,
    most: int = 1000,
    pictures: bool = True,
    longest_side: int = 1200,
    passwords: Sequence[str] = (),
    opener: StoreOpener = open_store,
    on_document: Callable[[int, int], None] = lambda _done, _total: None,
) -> int:
    """Write the viewer over the first `most` documents into `target`; returns how many that are.

    Args:
        workspace: what to show.
        target: a folder that is new, empty, or an earlier export, which is replaced.
        compare: another workspace, whose pages are put beside those of the first.
        most: documents at most, in the order of the index.
        pictures: whether the pages are drawn too.
        longest_side: of the pictures, in pixels.
        passwords: tried on encrypted PDFs.
        opener: reaches the stores that the sources are in.
        on_document: told how many documents are done, and of how many.

    Raises:
        ConfigurationError: `target` holds something else.
    """
    _make_room(target)
    shutil.copytree(assets(), target / "assets", ignore=shutil.ignore_patterns("index.html"))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        catalogue = stack.enter_context(Catalogue(workspace, folder / "catalogue.sqlite"))
        catalogue.refresh()
        rows = list(_rows(catalogue, most))
        totals = catalogue.totals()
        if len(rows) < totals["documents"]:
            totals["note"] = f"This export holds the first {len(rows)} of {totals['documents']} documents."
        painter = stack.enter_context(
            Pictures(workspace, folder, longest_side=longest_side, workers=0, passwords=passwords, opener=opener)
        )
        other = stack.enter_context(Counterpart(compare, folder / "other.sqlite")) if compare else None
        if other is not None:
            other.catalogue.refresh()
        writer = _Writer(workspace, target / "data", painter if pictures else None, other)
        asyncio.run(writer.write_all(rows, on_document))
    about = {"workspace": workspace.url, "complete": True, "problem": "", "compare": compare.url if compare else None}
    _deliver(target / "data", "documents", {"workspace": {**about, **totals}, "documents": rows})
    # Last, so that there is no page before all that it shows is there.
    (target / "index.html").write_text(_page(), encoding="utf-8")
    return len(rows)


def _make_room(target: Path) -> None:
    try:
        found = sorted(path.name for path in target.iterdir())
    except FileNotFoundError:
        found = []
    except NotADirectoryError:
        found = [target.name]
    if set(found) - {"index.html", "assets", "data"} or (found and not (target / "data").is_dir()):
        raise ConfigurationError(
            f"{target} holds other things than an export of the viewer.", remedy="Name a folder that is new or empty."
        )
    (target / "index.html").unlink(missing_ok=True)
    for name in ("assets", "data"):
        shutil.rmtree(target / name, ignore_errors=True)
    (target / "data").mkdir(parents=True)


def _rows(catalogue: Catalogue, most: int) -> Iterator[dict[str, Any]]:
    for offset in range(0, most, _LIST):
        _total, rows = catalogue.find(Query(offset=offset, limit=min(_LIST, most - offset)))
        yield from rows
        if len(rows) < _LIST:
            return


class _Writer:
    def __init__(self, workspace: Workspace, data: Path, painter: Pictures | None, other: Counterpart | None) -> None:
        self._workspace, self._groups = workspace, GroupCache(workspace)
        self._data = data
        self._painter = painter
        self._other = other

    async def write_all(self, rows: Sequence[dict[str, Any]], on_document: Callable[[int, int], None]) -> None:
        for done, row in enumerate(rows, start=1):
            await self._write(row)
            on_document(done, len(rows))

    async def _write(self, row: dict[str, Any]) -> None:
        identity = row["document_id"]
        group = self._groups.group(row["group"])
        (self._data / identity).mkdir()
        _deliver(self._data, f"{identity}/document", document_view(row, group))
        pages = iter(group.of(identity))
        while some := list(itertools.islice(pages, _AT_ONCE * (os.cpu_count() or 1))):
            await self._write_pages(row, some)

    async def _write_pages(self, row: dict[str, Any], pages: list[PageRecord]) -> None:
        identity = row["document_id"]
        drawn: Sequence[bytes | NoPicture] = [NoPicture("", "The export was made without pictures.")] * len(pages)
        if self._painter is not None:
            turned = [(page.page, page.rotation_applied) for page in pages]
            drawn = await self._painter.draw_some(row["group"], identity, turned)
        for page, picture in zip(pages, drawn, strict=True):
            name = f"{identity}/{page.page}"
            other = self._other.of(row, page) if self._other else None
            figures = self._write_figures(row, page)
            if isinstance(picture, NoPicture):
                view = page_view(page, None, f"{picture} {picture.remedy}".strip(), other, figures)
            else:
                (self._data / f"{name}.jpg").write_bytes(picture)
                view = page_view(page, f"data/{name}.jpg", "", other, figures)
            _deliver(self._data, name, view)

    def _write_figures(self, row: dict[str, Any], page: PageRecord) -> list[dict[str, Any]]:
        place = f"{row['document_id']}/{page.page}"
        figures = figures_view(self._workspace, row, page, lambda number: f"data/{place}-{number}.png")
        for number, figure in enumerate(figures, start=1):
            if figure["src"]:
                data = self._workspace.store.read(figure_name(self._workspace, row, page.page, number))
                (self._data / f"{place}-{number}.png").write_bytes(data)
        return figures


def _deliver(data: Path, name: str, value: dict[str, Any]) -> None:
    (data / f"{name}.js").write_text(f"pdfocr.deliver({json.dumps(name)}, {json.dumps(value)});\n", encoding="ascii")


def _page() -> str:
    page = (assets() / "index.html").read_text(encoding="utf-8")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{EXPORT_POLICY}">'
    page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}')
    return page.replace('name="pdfocr-mode" content="server"', 'name="pdfocr-mode" content="export"')
