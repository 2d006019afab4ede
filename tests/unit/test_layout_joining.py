from __future__ import annotations

import pytest

from pdfocr_core.layout.joining import join_lines, part_at_marks, words_of
from pdfocr_core.layout.model import Line


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("an exam-", "ple of it", "an example of it"),
        ("Über-", "raschung", "Überraschung"),
        ("пере-", "нос", "перенос"),
        ("the well-", "Known name", "the well-Known name"),
        ("from 1998-", "2002 on", "from 1998-2002 on"),
        ("the AF-", "toxin", "the AF-toxin"),
        ("state-of-the-", "art", "state-of-the-art"),
        ("end-to-", "end", "end-to-end"),
        ("low-concen-", "tration", "low-concentration"),
        ("a pause -", "and on", "a pause - and on"),
        ("left open (", "see below", "left open ( see below"),
        ("plain", "words", "plain words"),
        ("", "alone", "alone"),
        ("日本", "語の文", "日本語の文"),
        ("日本", "Tokyo", "日本 Tokyo"),
    ],
)
def test_line_ends(first: str, second: str, joined: str) -> None:
    assert join_lines(first, second) == joined


@pytest.mark.parametrize("mark", ["\ufffe", "\x02"])
def test_marks_that_stand_for_hyphens_obey_the_same_rules(mark: str) -> None:
    assert join_lines(f"exam{mark}", "ple") == "example"
    assert join_lines(f"Addison{mark}", "Wesley") == "Addison-Wesley"
    assert join_lines(f"ADSP{mark}", "21161N") == "ADSP-21161N"


def test_a_soft_hyphen_never_stays() -> None:
    assert join_lines("co\u00ad", "operate") == "cooperate"
    assert join_lines("ADSP\u00ad", "21161N") == "ADSP21161N"


def test_what_a_page_writes_elsewhere_decides() -> None:
    compound = words_of(["a self-made man"])
    assert join_lines("self-", "made", compound) == "self-made"
    parts = words_of(["a low level", "of low-intensity light"])
    assert join_lines("low-", "level", parts) == "low-level"
    whole = words_of(["lowlevel", "low level", "low-intensity"])
    assert join_lines("low-", "level", whole) == "lowlevel"


def test_two_words_of_the_page_keep_their_hyphen() -> None:
    known = words_of(["a high tower", "the resolution of the council", "information in a formation"])
    assert join_lines("high-", "resolution", known) == "high-resolution"
    assert join_lines("in-", "formation", known) == "information"
    assert join_lines("self-", "esteem") == "self-esteem"
    assert join_lines("self-", "ish") == "selfish"


def test_words_broken_at_line_ends_are_no_evidence() -> None:
    known = words_of(["the inter-", "national bank, the national bank", "inter-related"])
    assert "inter" not in known
    assert join_lines("inter-", "national", known) == "international"


def test_a_line_with_a_mark_and_a_box_of_two_lines_is_parted() -> None:
    parts = part_at_marks(Line("so we cal\ufffeculate it", 10, 100, 90, 122), 10, frozenset())
    assert [part.text for part in parts] == ["so we cal\ufffe", "culate it"]
    assert [(part.y0, part.y1) for part in parts] == [(100, 111), (111, 122)]


def test_a_line_with_a_mark_and_a_box_of_one_line_stays_one() -> None:
    (line,) = part_at_marks(Line("we cal\ufffeculate by Addison\ufffeWesley", 10, 100, 90, 110), 10, frozenset())
    assert line.text == "we calculate by Addison-Wesley"
