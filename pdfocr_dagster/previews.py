"""A page of a group beside its text, for the Dagster UI: small enough to be stored with the event."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from pdfocr_core.flow.group import GroupResult
from pdfocr_core.outputs.pictures import PagePictures
from pdfocr_core.settings import ObserveSettings, ReadSettings, StorageSettings
from pdfocr_core.workspace import Workspace
from pdfocr_dagster.environment import settings_from

__all__ = ["Thumbnails", "thumbnails"]

_LONGEST_SIDE = 320  # pixels; about 10 KB as JPEG
_MOST_BYTES = 40_000
_MAX_DOCUMENT_BYTES = 16 * 1024**2
_TEXT = 700


class Thumbnails:
    """Draws them; a page that cannot be drawn is left out."""

    def __init__(self, pictures: PagePictures, workspace: Workspace) -> None:
        self._pictures, self._workspace = pictures, workspace

    def of(self, result: GroupResult) -> dg.MarkdownMetadataValue | None:
        """The group's preview page as Markdown; None when there is no page or no picture."""
        page = result.preview
        if page is None or result.reused:
            return None
        try:
            documents = self._workspace.read_manifest(result.key).documents
        except FileNotFoundError:
            return None
        document = next((one for one in documents if one.document_id == page.document_id), None)
        if document is None:
            return None
        drawn = self._pictures.draw(document, page.page, longest_side=_LONGEST_SIDE)
        if not drawn.data_url or len(drawn.data_url) > _MOST_BYTES:
            return None
        return dg.MetadataValue.md(
            f"| page {page.page} | text |\n|---|---|\n| ![page]({drawn.data_url}) | {_cell(page.text)} |"
        )


@contextmanager
def thumbnails(read: ReadSettings, storage: StorageSettings, workspace: Workspace) -> Iterator[Thumbnails | None]:
    """What draws thumbnails inside this block; None when they are switched off."""
    if not settings_from(ObserveSettings, {}).thumbnails:
        yield None
        return
    with PagePictures(read.render, storage, passwords=read.passwords, max_bytes=_MAX_DOCUMENT_BYTES) as pictures:
        yield Thumbnails(pictures, workspace)


_SPECIAL = str.maketrans({sign: f"&#{ord(sign)};" for sign in "\\`*_{}[]<>()#+-.!|~$&:@/\"'"})


def _cell(text: str) -> str:
    """Text of a document in a cell of a table: no sign of it means anything to Markdown."""
    lines = text[:_TEXT].splitlines()
    return "<br>".join(line.translate(_SPECIAL) for line in lines if line.strip())
