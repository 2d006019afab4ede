"""A coverage-guided fuzzer for what parses a model's answers: `make fuzz`, or for longer

    python -m tests.fuzz.answers doctags -max_total_time=600

Whatever a model says is parsed or refused with a `PageError`, in good time, with boxes that lie on the picture. A crash
leaves its input in the current folder; give the file's name as an argument to play it again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["pdfocr_core.engines"]):
    from pdfocr_core.engines.boxes import Picture
    from pdfocr_core.engines.postprocess import steps
    from pdfocr_core.engines.profile import load_profile
    from pdfocr_core.errors import PageError

# Where each form is in use: the profile's own steps are what an answer goes through.
PROFILES = {
    "front_matter": "olmocr-2",
    "doctags": "smoldocling",
    "layout_json": "dots-ocr-layout",
    "grounding": "deepseek-ocr-grounded",
}
_HEADER = (
    "---\nprimary_language: en\nis_rotation_valid: True\nrotation_correction: 90\nis_table: False\nis_diagram: False\n"
)
_TAGS = """<doctag><section_header_level_1><loc_10><loc_20><loc_30><loc_40>Title</section_header_level_1><unordered_list>
<list_item>One</list_item></unordered_list><otsl><ched>a<lcel><nl><fcel>1<ucel><nl></otsl><code><_Python_>x = 1</code>
<formula>x^2</formula></doctag>"""
SEEDS = {
    "front_matter": f"{_HEADER}---\nWords.",
    "doctags": _TAGS,
    "layout_json": '[{"bbox": [1, 2, 30, 40], "category": "Table", "text": "<table><tr><td>1</td></tr></table>"}]',
    "grounding": "<|ref|>title<|/ref|><|det|>[[10, 20, 300, 400]]<|/det|>\n# Title\n",
}
TOKENS = {
    "front_matter": [
        "---\\x0a",
        "primary_language: ",
        "is_rotation_valid: ",
        "rotation_correction: ",
        "null",
        "'",
        "#",
    ],
    "doctags": [
        "<loc_",
        "<otsl>",
        "</otsl>",
        "<fcel>",
        "<lcel>",
        "<nl>",
        "<list_item>",
        "</list_item>",
        "<_C++_>",
        "<code>",
    ],
    "layout_json": ['\\"bbox\\"', '\\"category\\"', '\\"text\\"', "Table", "```json", "\\\\u0000", "1e999"],
    "grounding": ["<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>", "[[", "]]"],
}


def check(form: str, data: bytes) -> None:
    """Parse one answer."""
    profile = load_profile(PROFILES[form])
    try:
        page = steps.run_steps(profile.post, data.decode("utf-8", "replace"), Picture(1000, 1400, profile.box_space))
    except PageError:
        return
    assert page.rotation_correction in {0, 90, 180, 270}
    for box in page.boxes:
        assert 0 <= box.x0 <= box.x1 <= 1
        assert 0 <= box.y0 <= box.y1 <= 1


def main(arguments: list[str]) -> None:
    """Fuzz one form; everything after its name is libFuzzer's."""
    form, options = arguments[1], arguments[2:]
    folder = Path(".fuzz") / form
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seed").write_text(SEEDS[form])
    words = Path(".fuzz") / f"{form}.dict"
    words.write_text("".join(f'"{token}"\n' for token in TOKENS[form]))
    defaults = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", f"-dict={words}", str(folder)]
    atheris.Setup([arguments[0], *defaults, *options], lambda data: check(form, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
