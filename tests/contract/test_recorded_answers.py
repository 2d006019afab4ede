"""Every profile by name: an answer in the manner of its model becomes the page that it means, whole and from the record."""

from __future__ import annotations

import pytest

from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.profile import all_profiles, load_profile
from tests.contract.recorded_answers import RECORDED


def test_every_profile_has_a_recorded_answer() -> None:
    assert sorted(RECORDED) == sorted(profile.name for profile in all_profiles())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_the_answer_becomes_the_page(name: str) -> None:
    recorded = RECORDED[name]
    page = build_engine(load_profile(name)).parse(recorded.raw, width=1008, height=1400)
    assert page.text == recorded.text
    assert tuple(box.label for box in page.boxes) == recorded.boxes
    assert page.flags == recorded.flags
    assert all(0 <= box.x0 < box.x1 <= 1 and 0 <= box.y0 < box.y1 <= 1 for box in page.boxes)
