"""hOCR files and searchable PDFs as the command writes them, with what is told about them."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from pdfocr_core.outputs.with_lines import Written
from pdfocr_core.store import StoreOpener
from pdfocr_core.workspace import Workspace

__all__ = ["export_hocr", "export_searchable_pdfs"]

_SHOWN_FAILURES = 20


def export_hocr(workspace: Workspace, folder: Path, console: Console) -> bool:
    """Write hOCR files; whether every document with lines has one.

    Raises:
        PdfocrError: there is nothing to write, or no place for it.
    """
    from pdfocr_core.outputs.hocr import write_hocr

    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("Writing hOCR", total=None)
        written = write_hocr(workspace, folder, lambda done: progress.update(task, completed=done))
    return _tell(written, "hOCR files", folder, console)


def export_searchable_pdfs(
    workspace: Workspace, folder: Path, opener: StoreOpener, passwords: Sequence[str], console: Console
) -> bool:
    """Write searchable PDFs; whether every document with lines has one.

    Raises:
        PdfocrError: there is nothing to write, no place for it, or a store does not answer.
    """
    from pdfocr_core.outputs.searchable import write_searchable_pdfs

    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("Writing PDFs", total=None)
        written = write_searchable_pdfs(
            workspace,
            folder,
            passwords=passwords,
            opener=opener,
            on_document=lambda done: progress.update(task, completed=done),
        )
    return _tell(written, "searchable PDFs", folder, console)


def _tell(written: Written, what: str, folder: Path, console: Console) -> bool:
    facts = [
        f"{written.pages:,} pages with lines",
        f"{written.own_text:,} left as they are, with text of their own" if written.own_text else "",
        f"{written.without_lines:,} without lines" if written.without_lines else "",
        f"{written.bare_documents:,} documents passed by, without any lines" if written.bare_documents else "",
    ]
    words = f"{written.documents:,} {what} in {folder}: {'; '.join(fact for fact in facts if fact)}"
    console.print(words, highlight=False, markup=False, soft_wrap=True)
    for failure in written.failures[:_SHOWN_FAILURES]:
        console.print(f"pdfocr: not written: {failure}", style="red", highlight=False, markup=False, soft_wrap=True)
    if len(written.failures) > _SHOWN_FAILURES:
        left = len(written.failures) - _SHOWN_FAILURES
        console.print(f"pdfocr: … and {left:,} more documents were not written", style="red", highlight=False)
    return not written.failures
