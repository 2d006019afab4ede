"""The collection report as assets and jobs write it: with prices, and with pages drawn from the sources."""

from pdfocr_core.outputs.pictures import PagePictures
from pdfocr_core.outputs.report import Report, write_report
from pdfocr_core.settings import ObserveSettings, ReadSettings, ServerSettings, StorageSettings
from pdfocr_core.workspace import Workspace
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.status import prices_of

__all__ = ["make_report"]


def make_report(workspace: Workspace, server: ServerSettings, read: ReadSettings, sources: StorageSettings) -> Report:
    """Write it; see `pdfocr_core.outputs.report.write_report`."""
    pages = settings_from(ObserveSettings, {}).report_pages
    with PagePictures(read.render, sources, passwords=read.passwords) as pictures:
        return write_report(workspace, prices_of(server), pictures=pictures, pages=pages)
