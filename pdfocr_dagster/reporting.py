"""The collection report as assets and jobs write it: with prices, and with pages drawn from the sources."""

from pdfocr_core.outputs.pictures import PagePictures
from pdfocr_core.outputs.report import Books, Report, books_of_report, write_report
from pdfocr_core.settings import ObserveSettings, ReadSettings, ServerSettings, StorageSettings
from pdfocr_core.workspace import Workspace
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.retry_hint import engine_options
from pdfocr_dagster.status import prices_of

__all__ = ["make_report", "reported_books"]


def make_report(workspace: Workspace, server: ServerSettings, read: ReadSettings, sources: StorageSettings) -> Report:
    """Write it; see `pdfocr_core.outputs.report.write_report`."""
    pages = settings_from(ObserveSettings, {}).report_pages
    with PagePictures(read.render, sources, passwords=read.passwords) as pictures:
        return write_report(
            workspace, prices_of(server), pictures=pictures, pages=pages, retry_options=engine_options(server)
        )


def reported_books(workspace: Workspace, server: ServerSettings) -> Books | None:
    """What the report says of a finished collection; None when it has to be written again.

    Only for the caller who knows that no group was read since it was written.
    """
    return books_of_report(workspace, prices_of(server), settings_from(ObserveSettings, {}).report_pages)
