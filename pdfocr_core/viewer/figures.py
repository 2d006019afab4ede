"""Figures that a run has cut out of a page, as they lie in the workspace beside the Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pdfocr_core.outputs.figures import figure_folder, figures_in
from pdfocr_core.outputs.markdown import markdown_path
from pdfocr_core.records import PageRecord
from pdfocr_core.workspace import Workspace

__all__ = ["figure_name", "figures_view"]


def figure_name(workspace: Workspace, row: Mapping[str, Any], page: int, number: int) -> str:
    """The name of a figure's file in the workspace, whether or not it is there."""
    return f"markdown/{figure_folder(markdown_path(row['url'], workspace.url))}/p{page}-{number}.png"


def figures_view(
    workspace: Workspace, row: Mapping[str, Any], page: PageRecord, address: Callable[[int], str]
) -> list[dict[str, Any]]:
    """The regions of a page that are figures, each with the address of its file where one was written."""
    boxes = figures_in(page)
    if not boxes:
        return []
    prefix = f"markdown/{figure_folder(markdown_path(row['url'], workspace.url))}"
    there = {stored.name.rpartition("/")[2] for stored in workspace.store.list(prefix)}
    return [
        {**box.model_dump(mode="json"), "src": address(number) if f"p{page.page}-{number}.png" in there else None}
        for number, box in enumerate(boxes, start=1)
    ]
