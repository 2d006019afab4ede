"""Documents that are left out before a model sees them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.profile import load_profile
from pdfocr_core.errors import ConfigurationError, Reason, is_filtered
from pdfocr_core.flow.connection import Connection
from pdfocr_core.flow.filters import judge_text
from pdfocr_core.flow.group import Stages
from pdfocr_core.flow.scheduler import read_groups
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.serving.answers import Answer
from pdfocr_core.settings import FilterSettings, IndexSettings, ReadSettings, RenderSettings
from pdfocr_core.sources.fetch import Fetcher
from pdfocr_core.sources.index import update_index
from pdfocr_core.telemetry import Telemetry
from pdfocr_core.workspace import Workspace, open_workspace
from tests.documents import write_pdf

ENGLISH = (
    "The committee met on Tuesday and agreed that the report should be published before the end of the month. " * 4
)
GERMAN = "Der Ausschuss tagte am Dienstag und beschloss, dass der Bericht noch vor Monatsende erscheinen soll. " * 4
SPAM = ENGLISH + "Download the free ebook as pdf or epub now. "


@pytest.mark.parametrize(
    ("text", "settings", "reason"),
    [
        (ENGLISH, {"filter_languages": ["en"]}, None),
        (GERMAN, {"filter_languages": ["en"]}, Reason.FILTERED_LANGUAGE),
        (GERMAN, {"filter_languages": ["en,DE"]}, None),
        (GERMAN, {"filter_languages": ["en"], "filter_min_confidence": 1.0, "filter_min_characters": 100_000}, None),
        (GERMAN[:199], {"filter_languages": ["en"]}, None),  # too short to be judged
        (GERMAN[:150] + "1234567890" * 20, {"filter_languages": ["en"]}, None),  # hardly any letters: a bad OCR
        (SPAM, {"filter_languages": ["en"]}, None),
        (SPAM, {"filter_spam": True}, Reason.FILTERED_SPAM),
        (SPAM, {"filter_spam": True, "filter_max_spam_share": 0.5}, None),
        (ENGLISH, {"filter_spam": True}, None),
        ("", {"filter_languages": ["en"], "filter_spam": True}, None),
    ],
)
def test_text_is_judged_by_the_rules_of_olmocr(text: str, settings: dict[str, object], reason: Reason | None) -> None:
    verdict = judge_text(text, FilterSettings(**settings))
    assert (None if verdict is None else verdict.reason) is reason


def test_settings_of_filters_are_checked() -> None:
    assert FilterSettings(filter_languages="de, EN").filter_languages == ("de", "en")
    with pytest.raises(ValueError, match="two letters"):
        FilterSettings(filter_languages=["english"])
    with pytest.raises(ValueError, match="nothing would be left"):
        FilterSettings(filter_min_pages=3, filter_max_pages=2)
    assert ReadSettings().selection_id == ""
    one, other = (ReadSettings(filters=FilterSettings(filter_min_pages=pages)).selection_id for pages in (1, 2))
    assert one
    assert one != other
    assert all(is_filtered(reason.value) == reason.name.startswith("FILTERED_") for reason in Reason)


class Reader:
    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, _body: bytes) -> Answer:
        self.asked += 1
        head = (
            "primary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False"
        )
        return Answer(f"---\n{head}\n---\nPlain words.", "stop", 1, 1, 0.1, "m")


class Place:
    """A workspace with one group, read again and again with other settings."""

    def __init__(self, folder: Path) -> None:
        self.workspace: Workspace = open_workspace(str(folder / "workspace"))
        update_index(self.workspace, [str(folder / "sources")], IndexSettings(count_pages=False))
        (key,) = self.workspace.group_keys()
        self.group = self.workspace.read_manifest(key)

    def read(
        self,
        *,
        retry: tuple[str, ...] = (),
        page_range: str | None = None,
        text_layer: str = "off",
        **filters: object,
    ) -> int:
        """Read the group and say how many answers were asked for."""
        reader = Reader()
        settings = ReadSettings(
            retry=retry, page_range=page_range, filters=FilterSettings(**filters), text_layer=text_layer
        )

        async def connect() -> Connection:
            return Connection(reader, "m", in_flight=2)

        async def run() -> None:
            with RenderPool(RenderSettings(workers=1)) as pool:
                results = read_groups(
                    [self.group.key],
                    workspace=self.workspace,
                    stages=Stages(),
                    engine=build_engine(load_profile("olmocr"), text_layer=text_layer),
                    settings=settings,
                    pool=pool,
                    fetcher=Fetcher(),
                    connect=connect,
                    telemetry=Telemetry(),
                )
                async for result in results:
                    assert result.error is None

        asyncio.run(run())
        return reader.asked

    def outcome(self) -> dict[str, tuple[str, str | None, int]]:
        rows = self.workspace.read_status(self.group.key) or []
        return {Path(row.url).stem: (row.status.value, row.reason, row.pages) for row in rows}


def write_text(path: Path, text: str) -> None:
    canvas = Canvas(str(path), invariant=1)
    writing = canvas.beginText(40, 780)
    writing.textLines([text[start : start + 90] for start in range(0, len(text), 90)])
    canvas.drawText(writing)
    canvas.showPage()
    canvas.save()


def write_sources(folder: Path) -> None:
    folder.mkdir()
    for name, text in (("english", ENGLISH), ("german", GERMAN)):
        write_text(folder / f"{name}.pdf", text)
    (folder / "twin.pdf").write_bytes((folder / "english.pdf").read_bytes())
    write_pdf(folder / "blank.pdf", ["", ""])
    write_pdf(folder / "long.pdf", [f"page {number}" for number in range(5)])
    form = Canvas(str(folder / "form.pdf"), invariant=1)
    form.drawString(40, 700, "Name:")
    form.acroForm.textfield(name="name", x=90, y=690, width=200, height=20)
    form.showPage()
    form.save()
    box = Canvas(str(folder / "tick.pdf"), invariant=1)
    box.drawString(40, 700, "Agree:")
    box.acroForm.checkbox(name="agree", x=90, y=690)
    box.showPage()
    box.save()


def test_each_filter_leaves_out_what_it_names_and_no_more(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources")
    place = Place(tmp_path)
    asked = place.read(
        filter_languages=["en"],
        filter_forms=True,
        filter_duplicates=True,
        filter_blank=True,
        filter_max_pages=4,
    )
    outcome = place.outcome()
    originals = {outcome.pop("english"), outcome.pop("twin")}
    assert originals == {("ok", None, 1), ("filtered", "filtered_duplicate", 0)}
    assert outcome == {
        "german": ("filtered", "filtered_language", 0),
        "blank": ("filtered", "filtered_blank", 2),
        "long": ("filtered", "filtered_pages", 0),
        "form": ("filtered", "filtered_form", 0),
        "tick": ("ok", None, 1),  # a form without text fields, as olmOCR has it
    }
    assert asked == 2
    assert len(list((tmp_path / "workspace" / "markdown").rglob("*.md"))) == 2

    # With the same filters nothing is done again; with others only what was left out is read.
    assert place.read(
        filter_languages=["en"], filter_forms=True, filter_duplicates=True, filter_blank=True, filter_max_pages=4
    ) == 0  # fmt: skip
    assert place.read(filter_languages=["en", "de"]) == 1 + 1 + 5  # german, form, long; the twin's page is copied
    assert {status for status, _reason, _pages in place.outcome().values()} == {"ok"}


def test_a_scrambled_text_layer_is_not_taken_for_a_foreign_language(tmp_path: Path) -> None:
    shifted = str.maketrans("abcdefghijklmnopqrstuvwxyz", "zabcdefghijklmnopqrstuvwxy")
    (tmp_path / "sources").mkdir()
    for name, text in (("scrambled", ENGLISH.translate(shifted)), ("german", GERMAN)):
        write_text(tmp_path / "sources" / f"{name}.pdf", text)
    assert judge_text(ENGLISH.translate(shifted), FilterSettings(filter_languages=["en"])) is not None
    place = Place(tmp_path)
    place.read(filter_languages=["en"])
    assert {name: status for name, (status, _reason, _pages) in place.outcome().items()} == {
        "scrambled": "ok",
        "german": "filtered",
    }


def test_a_retry_reconsiders_the_reasons_that_it_names(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources")
    place = Place(tmp_path)
    place.read(filter_languages=["en"], filter_forms=True, filter_max_pages=4, page_range="1")
    assert place.read(retry=("filtered_form",)) == 1
    outcome = place.outcome()
    assert outcome["form"] == ("ok", None, 1)
    assert outcome["german"][1] == "filtered_language"
    assert outcome["long"][1] == "filtered_pages"
    assert outcome["blank"] == ("ok", None, 1)  # of two pages, as asked for the first time
    place.read(retry=("filtered_pages",), text_layer="fallback")  # under another engine
    outcome = place.outcome()
    assert outcome["german"][1] == "filtered_language"
    assert outcome["long"] == ("ok", None, 1)


def test_only_the_pages_of_the_range_are_read_and_widening_it_reads_only_the_others(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    write_pdf(tmp_path / "sources" / "long.pdf", [f"page {number}" for number in range(9)])
    write_pdf(tmp_path / "sources" / "short.pdf", ["only page"])
    place = Place(tmp_path)
    assert place.read(page_range="2-3,7-") == 5
    assert place.outcome() == {"long": ("ok", None, 5), "short": ("filtered", "filtered_page_range", 0)}
    records = place.workspace.read_pages(place.group.key) or []
    assert [getattr(record, "page", None) for record in records if record.record == "page"] == [2, 3, 7, 8, 9]
    assert [(record.source_pages, record.page_range) for record in records if record.record == "document"] == [
        (9, "2-3,7-"),
        (None, "2-3,7-"),
    ]
    assert place.read() == 4 + 1
    assert place.outcome() == {"long": ("ok", None, 9), "short": ("ok", None, 1)}
    assert place.read(page_range="1") == 0
    assert place.outcome()["long"] == ("ok", None, 1)


def test_a_language_that_cannot_be_told_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    write_pdf(tmp_path / "sources" / "a.pdf", ["a"])
    with pytest.raises(ConfigurationError, match="qq"):
        Place(tmp_path).read(filter_languages=["qq"])


def test_a_document_that_was_read_before_stays_the_original(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources")
    place = Place(tmp_path)
    place.read()
    first = next(one.url for one in place.group.documents if Path(one.url).stem in ("english", "twin"))
    place.read(filter_duplicates=True)
    kept = [Path(url).stem for url in (first,)]
    outcome = place.outcome()
    assert [name for name in ("english", "twin") if outcome[name][0] == "ok"] == kept
