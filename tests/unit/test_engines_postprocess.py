"""Each form that models answer in, on answers written after their manner."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pdfocr_core.engines.boxes import BoxSpace, Picture, box_of
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.engines.postprocess.front_matter import FRONT_MATTER_REGEX
from pdfocr_core.engines.postprocess.steps import STEPS, run_steps
from pdfocr_core.errors import PageError, Reason

A4 = Picture(1000, 1400)


def run(step: str, raw: str, picture: Picture = A4) -> ParsedPage:
    return run_steps([step], raw, picture)


def fails(step: str, raw: str) -> str:
    with pytest.raises(PageError) as error:
        run(step, raw)
    assert error.value.reason is Reason.BAD_FRONT_MATTER
    return error.value.detail


def corners(page: ParsedPage) -> list[tuple[str, float, float, float, float]]:
    return [(box.label, box.x0, box.y0, box.x1, box.y1) for box in page.boxes]


# Front matter.

KEYS = ("primary_language", "is_rotation_valid", "rotation_correction", "is_table", "is_diagram")
VALUES = ("en", "true", "0", "false", "false")


def headed(*values: str, keys: tuple[str, ...] = KEYS, body: str = "The text.") -> str:
    lines = [f"{key}: {value}" for key, value in zip(keys, values, strict=True)]
    return "\n".join(["---", *lines, "---", body])


def test_front_matter_is_split_from_the_text() -> None:
    page = run("front_matter", headed("de", "False", "270", "True", "False", body="# Kopf\n\nText\n"))
    assert page == ParsedPage(
        "# Kopf\n\nText",
        language="de",
        is_rotation_valid=False,
        rotation_correction=270,
        is_table=True,
        is_diagram=False,
    )


def test_norwegian_is_a_language() -> None:
    for value in ("no", "'no'", '"no"'):
        assert run("front_matter", headed(value, *VALUES[1:])).language == "no"


@pytest.mark.parametrize("value", ["null", "~", "", "None", '""'])
def test_a_page_may_have_no_language(value: str) -> None:
    assert run("front_matter", headed(value, *VALUES[1:])).language is None


def test_a_page_without_text_is_empty() -> None:
    for ending in ("", "\n", "\n\n  \n"):
        assert run("front_matter", headed(*VALUES, body="").rstrip("\n") + ending).text == ""


def test_a_rule_in_the_text_is_not_the_end_of_the_header() -> None:
    assert run("front_matter", headed(*VALUES, body="Above\n\n---\n\nBelow")).text == "Above\n\n---\n\nBelow"


def test_windows_line_ends_comments_and_blank_lines_do_no_harm() -> None:
    raw = headed("en # English", *VALUES[1:]).replace("is_table", "\n# kinds\nis_table").replace("\n", "\r\n")
    assert run("front_matter", raw).language == "en"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("The text alone.", "no front matter"),
        ("", "no front matter"),
        ("Sure, here it is:\n" + headed(*VALUES), "no front matter"),
        ("---\nprimary_language: en\nno end", "no front matter"),
        (headed(*VALUES[:4], keys=KEYS[:4]), "without is_diagram"),
        (headed(*VALUES, "x", keys=(*KEYS, "mood")), "with foreign mood"),
        (headed(*VALUES, "true", keys=(*KEYS, "is_table")), "is_table stands twice"),
        (headed("en", "maybe", *VALUES[2:]), "is_rotation_valid is 'maybe'"),
        (headed("en", "true", "45", *VALUES[3:]), "rotation_correction is '45'"),
        (headed("en", "true", "-90", *VALUES[3:]), "rotation_correction is '-90'"),
        (headed("12", *VALUES[1:]), "primary_language is '12'"),
        (headed("[en, de]", *VALUES[1:]), "primary_language is"),
        ("---\n- en\n- true\n---\ntext", "not a `key: value` line"),
    ],
)
def test_a_foreign_header_is_refused(raw: str, said: str) -> None:
    assert said in fails("front_matter", raw)


@given(
    language=st.sampled_from(["en", "de", "zh", "no", "null", "pt-BR", "'on'", '"y"']),
    valid=st.sampled_from(["true", "false", "True", "False", "yes", "no"]),
    turn=st.sampled_from(["0", "90", "180", "270"]),
    table=st.booleans(),
    order=st.permutations(range(5)),
    body=st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=200),
)
def test_front_matter_means_what_yaml_means_but_for_norwegian(
    language: str, valid: str, turn: str, table: bool, order: list[int], body: str
) -> None:
    values = (language, valid, turn, str(table), "False")
    raw = headed(*(values[at] for at in order), keys=tuple(KEYS[at] for at in order), body=body)
    page = run("front_matter", raw)
    meant = yaml.safe_load(raw.split("\n---\n")[0].removeprefix("---\n"))
    assert page.language == ("no" if language == "no" else meant["primary_language"])
    assert (page.is_rotation_valid, page.rotation_correction) == (
        meant["is_rotation_valid"],
        meant["rotation_correction"],
    )
    assert (page.is_table, page.text) == (table, body.strip())


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for step in STEPS:
        try:
            page = run(step, text)
        except PageError:
            continue
        assert isinstance(page.text, str)


@given(st.from_regex(FRONT_MATTER_REGEX, fullmatch=True))
def test_what_the_grammar_allows_is_accepted(raw: str) -> None:
    assert run("front_matter", raw).rotation_correction in {0, 90, 180, 270}


# Thoughts.


def test_the_answer_is_what_stands_between_its_tags() -> None:
    raw = "<think>A table? No, <answer> is for later.</think>\n<answer>\n# Title\n\nText.\n</answer>"
    assert run("answer", raw) == ParsedPage("# Title\n\nText.")


def test_an_answer_cut_short_keeps_what_it_has() -> None:
    assert run("answer", "<think>Hm.</think><answer># Title\n\nTe").text == "# Title\n\nTe"


def test_without_answer_tags_what_follows_the_thoughts_counts_and_is_flagged() -> None:
    assert run("answer", "<think>Hm.</think>\nText.") == ParsedPage("Text.", flags=("no_answer_tag",))
    assert run("answer", "Text.") == ParsedPage("Text.", flags=("no_answer_tag",))


@pytest.mark.parametrize("step", ["answer", "think"])
def test_thoughts_without_an_end_are_no_answer(step: str) -> None:
    assert "<think>" in fails(step, "<think>First the header, then the")


def test_thoughts_are_dropped_also_when_the_template_opened_them() -> None:
    assert run("think", "The page is upright.</think>\n\nText.").text == "Text."
    assert run("think", "Plain text.").text == "Plain text."


# Plain text.


def test_one_fence_around_the_whole_answer_is_unwrapped() -> None:
    assert run("code_fence", "```markdown\n# Title\n\nText.\n```\n").text == "# Title\n\nText."
    for kept in ("# Code\n\n```python\nx = 1\n```", "```\na\n```\n\nText\n\n```\nb\n```"):
        assert run("code_fence", kept).text == kept


def test_tokens_of_begin_and_end_are_dropped() -> None:
    raw = "<｜begin▁of▁sentence｜>Text.<|im_end|><｜end▁of▁sentence｜>\n"
    assert run("special_tokens", raw).text == "Text."
    assert run("special_tokens", "<|ref|>a<|/ref|>").text == "<|ref|>a<|/ref|>"


# DocTags.

PAGE = """<doctag><page_header><loc_44><loc_20><loc_200><loc_30>Annals of the Society</page_header>
<section_header_level_1><loc_50><loc_50><loc_450><loc_65>Of Tides</section_header_level_1>
<text><loc_50><loc_70><loc_450><loc_120>When a < b, the tide
turns.</text>
<unordered_list><list_item><loc_60><loc_130><loc_400><loc_140>· spring tides</list_item>
<list_item><loc_60><loc_140><loc_400><loc_150>neap tides</list_item></unordered_list>
<ordered_list><list_item>Measure.</list_item><list_item>2. Note.</list_item></ordered_list>
<otsl><loc_50><loc_200><loc_450><loc_300><caption><loc_50><loc_190><loc_300><loc_198>Table 1. Heights</caption>
<ched>Port<ched>Height & hour<lcel><nl><fcel>Dover<fcel>6.7<fcel>11<nl><ucel><fcel>6.1<ecel><nl></otsl>
<formula><loc_100><loc_310><loc_300><loc_330>h = a \\cos t</formula>
<code><loc_1><loc_1><loc_9><loc_9><_Python_>print(1)
print(2)</code>
<picture><loc_50><loc_340><loc_450><loc_480><line_chart><caption>Fig. 2. The harbour</caption></picture>
<page_footer><loc_240><loc_485><loc_260><loc_495>17</page_footer></doctag><end_of_utterance>"""


TABLE = """<table>
<tr><th>Port</th><th colspan="2">Height &amp; hour</th></tr>
<tr><td rowspan="2">Dover</td><td>6.7</td><td>11</td></tr>
<tr><td>6.1</td><td></td></tr>
</table>"""


def test_doctags_become_markdown() -> None:
    page = run("doctags", PAGE, Picture(1000, 1400, BoxSpace.FIVE_HUNDREDTHS))
    assert page.text.split("\n\n") == [
        "Annals of the Society",
        "## Of Tides",
        "When a < b, the tide turns.",
        "- spring tides\n- neap tides",
        "1. Measure.\n2. Note.",
        "Table 1. Heights",
        TABLE,
        "$$\nh = a \\cos t\n$$",
        "```python\nprint(1)\nprint(2)\n```",
        "Fig. 2. The harbour",
        "17",
    ]
    assert corners(page)[:2] == [
        ("page_header", 0.088, 0.04, 0.4, 0.06),
        ("section_header_level_1", 0.1, 0.1, 0.9, 0.13),
    ]
    assert "picture" in {box.label for box in page.boxes}


def test_doctags_that_break_off_keep_what_there_is() -> None:
    assert run("doctags", "<doctag><text><loc_1><loc_1><loc_9><loc_9>All the wor").text == "All the wor"
    cut = run("doctags", "<doctag><otsl><fcel>a<fcel>b<nl><fcel>c").text
    assert cut == "<table>\n<tr><td>a</td><td>b</td></tr>\n<tr><td>c</td></tr>\n</table>"


def test_nested_lists_are_indented() -> None:
    raw = "<unordered_list><list_item>a</list_item><unordered_list><list_item>b</list_item></unordered_list></unordered_list>"
    assert run("doctags", raw).text == "- a\n  - b"


def test_a_loop_of_opening_tags_does_no_harm() -> None:
    assert run("doctags", "<unordered_list><list_item>" * 5000 + "a").text.strip() == "a"
    assert run("doctags", "<group>" * 5000 + "<text>a</text>").text == "a"


def test_text_without_doctags_is_refused() -> None:
    assert "no DocTags" in fails("doctags", "!!!!!!!!!!!!")
    assert run("doctags", "<doctag></doctag>").text == ""


# Marked regions.


def test_grounding_marks_are_removed_and_kept_as_boxes() -> None:
    raw = (
        "<|ref|>title<|/ref|><|det|>[[100, 50, 899, 99]]<|/det|>\n# A Title\n\n"
        "<|ref|>text<|/ref|><|det|>[[100, 120, 899, 300], [100, 320, 899, 340]]<|/det|>\nFirst words.\n\n"
        "<|ref|>image<|/ref|><|det|>[[100, 400, 899, 700]]<|/det|>\n"
        "<|ref|>table<|/ref|><|det|>[[0, 800, 999, 999]]<|/det|>\n<table><tr><td>1</td></tr></table>"
    )
    page = run("grounding", raw, Picture(1000, 1400, BoxSpace.THOUSANDTHS_INCLUSIVE))
    assert page.text == "# A Title\n\nFirst words.\n\n<table><tr><td>1</td></tr></table>"
    assert [box.label for box in page.boxes] == ["title", "text", "text", "image", "table"]
    assert corners(page)[-1] == ("table", 0.0, 0.8008, 1.0, 1.0)


def test_lines_in_the_marks_are_text() -> None:
    raw = "<|ref|>Dear Sir,<|/ref|><|det|>[[1, 2, 300, 40]]<|/det|>\n<|ref|>thank you.<|/ref|><|det|>[[1, 50, 300, 90]]<|/det|>"
    page = run("grounding", raw)
    assert page.text == "Dear Sir,\nthank you."
    assert {box.label for box in page.boxes} == {"text"}


def test_markup_that_survives_is_an_error() -> None:
    for step in ("grounding", "det_blocks"):
        assert "<|quad|>" in fails(step, "Text <|quad|> more")


def test_plain_text_passes_the_grounding_step() -> None:
    assert run("grounding", "if a <| b |> c, then\n\nDone.").text == "if a <| b |> c, then\n\nDone."


def test_det_blocks_lose_their_headers_and_what_is_said_of_images() -> None:
    raw = (
        "<|det|>title [100, 50, 900, 100]<|/det|># A Title\n"
        "<|det|>image [100, 400, 900, 700]<|/det|>A harbour with ships.\n"
        "text [100, 720, 900, 760]<|/det|>Words <|ref|>of the page<|/ref|>.\n"
        "<|det|>page_number [480, 970, 520, 990]\n7\n<PAGE>\nNext."
    )
    page = run("det_blocks", raw)
    assert page.text == "# A Title\n\nWords of the page.\n\n7\n\nNext."
    assert corners(page)[0] == ("title", 0.1, 0.05, 0.9, 0.1)
    assert [box.label for box in page.boxes] == ["title", "image", "text", "page_number"]


def test_a_bracketed_reference_is_not_a_header() -> None:
    assert run("det_blocks", "As shown in [1, 2] and text [3].").text == "As shown in [1, 2] and text [3]."


def test_labelled_boxes_are_taken_from_before_their_text() -> None:
    raw = (
        "![title](100,50,900,100) # A Title\n\n![text](100,120,900,300) Words that go on\n![text+](100,40,900,90) here."
    )
    page = run("labelled_boxes", raw)
    assert page.text == "# A Title\n\nWords that go on\nhere."
    assert corners(page)[1] == ("text", 0.1, 0.12, 0.9, 0.3)
    assert run("labelled_boxes", "![a harbour](harbour.png)").text == "![a harbour](harbour.png)"


# Layout lists.


def test_a_layout_list_becomes_markdown_in_its_order() -> None:
    regions = [
        {"bbox": [100, 50, 900, 100], "category": "Title", "text": "A Title"},
        {"bbox": [100, 120, 900, 300], "category": "Text", "text": "Words."},
        {"bbox": [100, 310, 900, 340], "category": "Section-header", "text": "## Two"},
        {"bbox": [100, 350, 900, 400], "category": "Formula", "text": "a^2"},
        {"bbox": [100, 410, 900, 600], "category": "Picture"},
        {"bbox": [100, 610, 900, 700], "category": "Table", "text": "<table><tr><td>1</td></tr></table>"},
        {"bbox": [100, 1300, 900, 1350], "category": "Page-footer", "text": "7"},
    ]
    page = run("layout_json", json.dumps(regions), Picture(1000, 1400, BoxSpace.PIXELS))
    assert page.text.split("\n\n") == [
        "# A Title",
        "Words.",
        "## Two",
        "$$\na^2\n$$",
        "<table><tr><td>1</td></tr></table>",
        "7",
    ]
    assert len(page.boxes) == 7
    assert corners(page)[0] == ("Title", 0.1, 0.03571, 0.9, 0.07143)


def test_pixels_of_the_resized_picture_are_mapped_back() -> None:
    # 1,000 by 1,400 is brought to multiples of 28: 1,008 by 1,400.
    picture = Picture(1000, 1400, BoxSpace.RESIZED_PIXELS)
    box = box_of("text", [504, 700, 1008, 1400], picture)
    assert box is not None
    assert (box.x0, box.y0, box.x1, box.y1) == (0.5, 0.5, 1.0, 1.0)
    across, down = Picture(6000, 8000, BoxSpace.RESIZED_PIXELS, max_pixels=1_003_520).extent
    assert across * down <= 1_003_520
    assert across % 28 == down % 28 == 0
    across, down = Picture(20, 30, BoxSpace.RESIZED_PIXELS).extent
    assert across * down >= 3136


@pytest.mark.parametrize("raw", ["No text.", '[{"bbox": [1, 2', "[1, 2, 3]", '[{"mood": "calm"}]', "", "{"])
def test_what_is_no_layout_list_is_refused(raw: str) -> None:
    assert "not a layout list" in fails("layout_json", raw)


def test_an_empty_layout_list_is_an_empty_page() -> None:
    assert run("layout_json", "[]") == ParsedPage("")


# HTML blocks.

HTML = """<div data-bbox="100 40 900 60" data-label="Page-Header"><p>Annals</p></div>
<div data-bbox="100 80 900 120" data-label="Section-Header"><h2>Of <i>Tides</i></h2></div>
<div data-bbox="100 130 900 300" data-label="Text"><p>When <math>a &lt; b</math>, the <b>tide</b>
turns<sup>1</sup>.</p></div>
<div data-bbox="100 310 900 390" data-label="List-Group"><ul><li>spring<ul><li>high</li></ul></li><li>neap</li></ul></div>
<div data-bbox="100 400 900 500" data-label="Table"><table border="1"><tbody><tr><th colspan="2">A &amp; B</th></tr>
<tr><td>1</td><td>2<br>3</td></tr></tbody></table></div>
<div data-bbox="100 510 900 700" data-label="Figure"><img alt="A harbour"/><p>A harbour with ships.</p></div>
<div data-bbox="100 710 900 760" data-label="Equation-Block"><math display="block">h = a \\cos t</math></div>
<div data-bbox="100 770 900 800" data-label="Form"><p><input type="checkbox" checked/>paid <input type="checkbox"/>due</p></div>
<div data-bbox="100 810 900 900" data-label="Code-Block"><pre>x = 1
  y = 2</pre></div>"""


def test_html_blocks_become_markdown() -> None:
    page = run("html_blocks", HTML)
    assert page.text.split("\n\n") == [
        "Annals",
        "## Of *Tides*",
        "When $a < b$, the **tide** turns<sup>1</sup>.",
        "- spring\n  - high\n- neap",
        '<table><tbody><tr><th colspan="2">A &amp; B</th></tr>\n<tr><td>1</td><td>2<br>3</td></tr>\n</tbody></table>',
        "$$h = a \\cos t$$",
        "[x] paid [ ] due",
        "```\nx = 1\n  y = 2\n```",
    ]
    assert [box.label for box in page.boxes][:3] == ["page-header", "section-header", "text"]
    assert corners(page)[0] == ("page-header", 0.1, 0.04, 0.9, 0.06)


def test_a_section_header_without_a_heading_gets_one() -> None:
    assert run("html_blocks", '<div data-label="Section-Header" data-bbox="1 1 9 9">Two</div>').text == "## Two"


def test_text_without_html_is_refused() -> None:
    assert "no HTML block" in fails("html_blocks", "Just words, 1 < 2.")
    assert run("html_blocks", "").text == ""


# HPD blocks.


def test_hpd_blocks_become_markdown() -> None:
    raw = (
        "<BLOCK> title [100, 50, 900, 100] <CHILD> A Title "
        "<BLOCK> list [100, 110, 900, 300] <BLOCK> text [100, 120, 900, 150] <FORK><CHILD> Words. "
        "<BLOCK> chart [100, 310, 900, 500] <CHILD> <table><tr><td>made up</td></tr></table>"
        "<BLOCK> formula [100, 510, 900, 550] <CHILD> \\[\na^2 \\tag{3}"
        "<BLOCK> table [100, 560, 900, 700] <CHILD> <table><tr><td>1</td></tr>"
        "<BLOCK> text [100, 710, 900, 720] <CHILD> [Non-Text]"
        "<BLOCK> text [100, 730, 900, 740] <CHILD> The image is too blurry to recognize any text content."
    )
    page = run("hpd_blocks", raw)
    assert page.text.split("\n\n") == [
        "# A Title",
        "Words.",
        "\\[\na^2\n\\]",
        "<table><tr><td>1</td></tr></table>",
    ]
    assert [box.label for box in page.boxes] == ["title", "list", "text", "chart", "formula", "table", "text", "text"]
    assert corners(page)[0] == ("title", 0.1, 0.05, 0.9, 0.1)


def test_text_without_blocks_is_refused() -> None:
    assert "no <BLOCK>" in fails("hpd_blocks", "Words alone.")


# Figures.


def test_ovis_figures_are_dropped_and_kept_as_boxes() -> None:
    raw = 'Before.\n\n<img src="images/bbox_100_200_900_600.jpg">\n\nAfter. <img src="logo.png">'
    page = run("drop_figure_images", raw)
    assert page.text == 'Before.\n\nAfter. <img src="logo.png">'
    assert corners(page) == [("figure", 0.1, 0.2, 0.9, 0.6)]


def test_olmocr_figures_stay_and_become_boxes() -> None:
    raw = "Text.\n\n![A harbour with ships](page_100_140_800_700.png)"
    page = run("figure_boxes", raw, Picture(1000, 1400, BoxSpace.PIXELS))
    assert page.text == raw
    assert corners(page) == [("figure", 0.1, 0.1, 0.9, 0.6)]


# Boxes.


@given(
    st.lists(st.floats(-2000, 4000), min_size=4, max_size=4),
    st.sampled_from(list(BoxSpace)),
    st.integers(1, 9000),
    st.integers(1, 9000),
)
def test_a_box_lies_on_the_picture_or_is_none(values: list[float], space: BoxSpace, width: int, height: int) -> None:
    box = box_of("text", values, Picture(width, height, space))
    assert box is None or (0 <= box.x0 < box.x1 <= 1 and 0 <= box.y0 < box.y1 <= 1)


def test_boxes_without_four_numbers_are_none() -> None:
    assert box_of("text", [1, 2, 3], A4) is None
    assert box_of("text", [1, 2, 1, 2], A4) is None


# Loops at the end.

LOOP = "and the sea was calm, "


@pytest.mark.parametrize(
    ("step", "text_length", "rounds", "trimmed"),
    [
        ("trim_repeats_ovis", 8000, 6, True),
        ("trim_repeats_ovis", 8000, 3, False),
        ("trim_repeats_ovis", 7000, 40, False),
        ("trim_repeats_hunyuan", 2000, 12, True),
        ("trim_repeats_hunyuan", 2000, 8, False),
        ("trim_repeats_hunyuan", 1000, 12, False),
        ("trim_repeats_abot", 8000, 12, True),
        ("trim_repeats_abot", 8000, 8, False),
        ("trim_repeats_abot", 2000, 12, False),
    ],
)
def test_each_model_has_its_own_threshold(step: str, text_length: int, rounds: int, trimmed: bool) -> None:
    words = " ".join(str(number * number) for number in range(text_length))[: text_length - rounds * len(LOOP)]
    page = run(step, f"{words} So {LOOP * rounds}")
    assert (page.flags == ("repeats_trimmed",)) == trimmed
    assert page.text.count(LOOP.strip()) == (1 if trimmed else rounds)
