"""The same pages in a second workspace, read by another engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pdfocr_core.outputs.compare import agreement
from pdfocr_core.outputs.html_compare import difference
from pdfocr_core.records import PageRecord
from pdfocr_core.viewer.catalogue import Catalogue
from pdfocr_core.viewer.pages import GroupCache
from pdfocr_core.workspace import Workspace

__all__ = ["Counterpart"]


class Counterpart:
    """Finds the other reading of a page. Use as a context manager."""

    def __init__(self, workspace: Workspace, file: Path) -> None:
        self.url = workspace.url
        self.catalogue = Catalogue(workspace, file)
        self._groups = GroupCache(workspace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.catalogue.__exit__(kind, error, trace)

    def of(self, row: Mapping[str, Any], page: PageRecord) -> dict[str, Any]:
        """The other record with agreement and differences; only `problem` when there is none."""
        other = self.catalogue.same(row)
        if other is None:
            return {"problem": "The other workspace does not have this document."}
        record = self._groups.group(other["group"]).page(other["document_id"], page.page)
        if record is None:
            return {"problem": "The other workspace has no record of this page."}
        left, right = difference(page.text, record.text)
        return {
            "record": record.model_dump(mode="json"),
            "agreement": agreement(page.text, record.text),
            "left": left,
            "right": right,
        }
