"""The steps by name, and running them.

A step takes the page as it stands and the picture the answer was given for, and returns the page as it stands then. It
reads nothing else, so that running the steps again over stored answers costs no model call. Whenever a step's result
changes for some input, `POSTPROCESS_VERSION` is raised: it is part of every engine's identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pdfocr_core.engines.boxes import Picture
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.engines.postprocess import (
    blocks,
    doctags,
    figures,
    front_matter,
    grounding,
    html_blocks,
    layout_json,
    plain,
    thinking,
    trimming,
)

__all__ = ["POSTPROCESS_VERSION", "STEPS", "run_steps"]

POSTPROCESS_VERSION = 1

Step = Callable[[ParsedPage, Picture], ParsedPage]

STEPS: Mapping[str, Step] = MappingProxyType(
    {
        "strip": plain.strip,
        "code_fence": plain.code_fence,
        "special_tokens": plain.special_tokens,
        "front_matter": front_matter.front_matter,
        "think": thinking.think,
        "answer": thinking.answer,
        "doctags": doctags.doctags,
        "grounding": grounding.grounding,
        "det_blocks": grounding.det_blocks,
        "labelled_boxes": grounding.labelled_boxes,
        "layout_json": layout_json.layout_json,
        "html_blocks": html_blocks.html_blocks,
        "hpd_blocks": blocks.hpd_blocks,
        "drop_figure_images": figures.drop_figure_images,
        "figure_boxes": figures.figure_boxes,
        "trim_repeats_ovis": trimming.trim_repeats_ovis,
        "trim_repeats_hunyuan": trimming.trim_repeats_hunyuan,
        "trim_repeats_abot": trimming.trim_repeats_abot,
    }
)


def run_steps(names: Sequence[str], raw: str, picture: Picture) -> ParsedPage:
    """The page that an answer means.

    Raises:
        PageError: the answer does not have the form that the profile says.
    """
    page = ParsedPage(raw)
    for name in names:
        page = STEPS[name](page, picture)
    return page
