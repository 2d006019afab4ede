"""An answer in the manner of each profile's model, and what has to come of it: text, kinds of boxes, flags."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["RECORDED", "Recorded"]


@dataclass(frozen=True)
class Recorded:
    """One answer and the page that it means."""

    raw: str
    text: str
    boxes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


PAGE = "# Of Tides\n\nWhen $a < b$, the tide turns.\n\n| Port | Height |\n|---|---|\n| Dover | 6.7 |"
HTML_PAGE = "# Of Tides\n\nWhen \\(a < b\\), it turns.\n\n<table><tr><td>Dover</td><td>6.7</td></tr></table>"
# What most models give: Markdown, with a line end too many.
PLAIN = Recorded(f"{PAGE}\n", PAGE)
PLAIN_HTML = Recorded(f"\n{HTML_PAGE}\n\n", HTML_PAGE)
FENCED = Recorded(f"```markdown\n{PAGE}\n```", PAGE)
LINES = Recorded(
    "OF TIDES\nWhen a is less than b\nthe tide turns.\n", "OF TIDES\nWhen a is less than b\nthe tide turns."
)

HEADER = "primary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False"

GROUNDED = Recorded(
    "<|ref|>title<|/ref|><|det|>[[100, 50, 899, 99]]<|/det|>\n# Of Tides\n\n"
    "<|ref|>text<|/ref|><|det|>[[100, 120, 899, 300]]<|/det|>\nIt turns at six.\n\n"
    "<|ref|>image<|/ref|><|det|>[[100, 400, 899, 700]]<|/det|>\n<｜end▁of▁sentence｜>",
    "# Of Tides\n\nIt turns at six.",
    ("title", "text", "image"),
)
FREE = Recorded("Of Tides\n\nIt turns at six.<｜end▁of▁sentence｜>", "Of Tides\n\nIt turns at six.")

LAYOUT = Recorded(
    "```json\n"
    + json.dumps(
        [
            {"bbox": [112, 56, 896, 112], "category": "Title", "text": "# Of Tides"},
            {"bbox": [112, 140, 896, 420], "category": "Text", "text": "It turns at six."},
            {"bbox": [112, 448, 896, 840], "category": "Picture"},
            {"bbox": [112, 868, 896, 980], "category": "Formula", "text": "$$h = a$$"},
        ]
    )
    + "\n```",
    "# Of Tides\n\nIt turns at six.\n\n$$h = a$$",
    ("Title", "Text", "Picture", "Formula"),
)

DOCTAGS = Recorded(
    "<doctag><section_header_level_1><loc_50><loc_50><loc_450><loc_65>Of Tides</section_header_level_1>\n"
    "<text><loc_50><loc_70><loc_450><loc_120>It turns at six.</text>\n"
    "<otsl><loc_50><loc_200><loc_450><loc_300><ched>Port<ched>Height<nl><fcel>Dover<fcel>6.7<nl></otsl>"
    "</doctag><end_of_utterance>",
    "## Of Tides\n\nIt turns at six.\n\n<table>\n<tr><th>Port</th><th>Height</th></tr>\n<tr><td>Dover</td><td>6.7</td></tr>\n"
    "</table>",
    ("section_header_level_1", "text", "otsl"),
)

THOUGHT = "<think>\nA heading and a table of ports; the column is ruled.\n</think>\n\n"

_LOOP = "The tide turns at six and again at noon. "
_LONG = "".join(f"Line {number} of the tide tables of Dover.\n" for number in range(220))

RECORDED = {
    "abot-ocr": FENCED,
    "deepseek-ocr": FREE,
    "deepseek-ocr-grounded": GROUNDED,
    "deepseek-ocr2": GROUNDED,
    "dots-mocr": PLAIN,
    "dots-mocr-layout": LAYOUT,
    "dots-ocr": PLAIN,
    "dots-ocr-layout": LAYOUT,
    "firered-ocr": FENCED,
    "glm-ocr": PLAIN_HTML,
    "granite-docling": DOCTAGS,
    "hpd-parsing": Recorded(
        "<BLOCK> title [100, 50, 900, 100] <CHILD> Of Tides <BLOCK> text [100, 120, 900, 150] <FORK><CHILD> It turns."
        "<BLOCK> table [100, 560, 900, 700] <CHILD> <table><tr><td>6.7</td></tr></table>",
        "# Of Tides\n\nIt turns.\n\n<table><tr><td>6.7</td></tr></table>",
        ("title", "text", "table"),
    ),
    # A loop at the end of a long answer, cut down to one round.
    "hunyuan-ocr": Recorded(_LONG + _LOOP * 12, _LONG + _LOOP.strip(), flags=("repeats_trimmed",)),
    "jina-ocr": FREE,
    "lighton-ocr1": PLAIN,
    "lighton-ocr2": PLAIN_HTML,
    "lighton-ocr3-0.8b": PLAIN_HTML,
    "lighton-ocr3-1b": PLAIN_HTML,
    "lighton-ocr3-4b": PLAIN_HTML,
    "lighton-ocr3-grounding": Recorded(
        "![title](100,50,900,100) # Of Tides\n\n![text](100,120,900,300) It turns\n![text+](100,40,900,90) at six.",
        "# Of Tides\n\nIt turns\nat six.",
        ("title", "text", "text"),
    ),
    "nanonets-ocr-s": Recorded(
        "☐ due ☑ paid\n\n<page_number>7</page_number>\n", "☐ due ☑ paid\n\n<page_number>7</page_number>"
    ),
    "nanonets-ocr2": Recorded("<header>Annals</header>\n\nIt turns.\n", "<header>Annals</header>\n\nIt turns."),
    "nuextract3": Recorded(f"{THOUGHT}```markdown\n{PAGE}\n```\n", PAGE),
    "numarkdown": Recorded(f"{THOUGHT}<answer>\n{PAGE}\n</answer>", PAGE),
    "olmocr-2": Recorded(
        f"---\n{HEADER}\n---\nIt turns at six.\n\n![The harbour](page_100_140_800_700.png)\n",
        "It turns at six.\n\n![The harbour](page_100_140_800_700.png)",
        ("figure",),
    ),
    "ovis-ocr2": Recorded(
        f'{PAGE}\n\n<img src="images/bbox_100_200_900_600.jpg" alt="">\n\nAfter.', f"{PAGE}\n\nAfter.", ("figure",)
    ),
    "paddleocr-vl": LINES,
    "paddleocr-vl-1.5": LINES,
    "paddleocr-vl-1.6": LINES,
    "pdfocr-cpu": Recorded(f"---\n{HEADER}\n---\n{PAGE}", PAGE),
    "qianfan-ocr": Recorded(THOUGHT + PAGE, PAGE),
    "qwen3.5-9b": Recorded(f"A plain page.\n</think>\n\n```\n{PAGE}\n```", PAGE),
    "rolm-ocr": LINES,
    "smoldocling": DOCTAGS,
    "surya-ocr2": Recorded(
        '<div data-bbox="100 80 900 120" data-label="Section-Header"><h2>Of <i>Tides</i></h2></div>\n'
        '<div data-bbox="100 130 900 300" data-label="Text"><p>When <math>a &lt; b</math>, it turns.</p></div>',
        "## Of *Tides*\n\nWhen $a < b$, it turns.",
        ("section-header", "text"),
    ),
    "unlimited-ocr": Recorded(
        "<|det|>title [100, 50, 900, 100]<|/det|># Of Tides\n<|det|>image [100, 400, 900, 700]<|/det|>A harbour.\n"
        "<|det|>text [100, 720, 900, 760]<|/det|>It turns.<｜end▁of▁sentence｜>",
        "# Of Tides\n\nIt turns.",
        ("title", "image", "text"),
    ),
}
