"""What may stand as a page's text, and what may not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfocr_core.engines.judge import echoes, judge, says_no_text
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.engines.repetition import find_loop, repeats
from pdfocr_core.errors import Reason

WORDS = "keeper lantern harbour tide signal winter vessel captain rope storm chart anchor bell gull mast".split()  # noqa: SIM905


def prose(length: int, seed: int = 1) -> str:
    draw = random.Random(seed)
    text = ""
    while len(text) < length:
        text += " ".join(draw.choice(WORDS) for _ in range(draw.randint(4, 12))).capitalize() + ". "
    return text[:length]


def verdict(
    text: str, finish_reason: str | None = "stop", *, flags: tuple[str, ...] = (), blank: bool = False
) -> Reason | None:
    return judge(text, ParsedPage(text, flags=flags), finish_reason, blank=blank)


LOOPS = {
    "sentence": "The keeper wrote it down in the log. ",
    "word": "very ",
    "letter": "a",
    "exclamation marks": "!",
    "chinese": "的问题",
    "paragraph": prose(600, seed=7) + "\n\n",
    "loop in a loop": "la la la la la la la la la and on, ",
    "latex": r"\quad \text{and} \quad ",
    "list item": "- Number of the item\n",
}


@pytest.mark.parametrize("unit", LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_at_the_end_is_seen(unit: str) -> None:
    assert verdict(prose(1500) + unit * (8000 // len(unit))) is Reason.REPETITION


@pytest.mark.parametrize("unit", LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_that_is_cut_anywhere_is_seen(unit: str) -> None:
    text = prose(1500) + unit * (8000 // len(unit))
    for cut in (1, 3, 7, 11):
        assert verdict(text[:-cut], "length") is Reason.REPETITION


def test_a_loop_that_is_closed_properly_is_seen() -> None:
    loop = "It was late and the lamp was lit. " * 200
    for ending in ("</td></tr></table>", '"}]', "\n```", "<|/det|>"):
        assert verdict(prose(500) + loop + ending) is Reason.REPETITION


def test_a_loop_of_table_rows_that_fills_the_answer_is_seen() -> None:
    assert verdict("<table>" + "<tr><td>Captain</td><td>Vessel</td></tr>" * 300 + "</table>") is Reason.REPETITION


HONEST = {
    "prose": prose(9000),
    "table of zeros": "| a | b | c |\n|---|---|---|\n" + "| 0 | 0 | 0 |\n" * 60,
    "html of zeros": "<table>"
    "<tr>" + "<td>0</td>" * 6 + "</tr>" * 1 + ("<tr>" + "<td>0</td>" * 6 + "</tr>") * 40 + "</table>",
    "empty rows": "| Name | Date |\n|---|---|\n" + "|      |      |\n" * 120,
    "table rules": "|---|---|---|---|" * 40,
    "leaders": "\n".join(f"{word.title()} {'.' * 90} {page}" for page, word in enumerate(WORDS)),
    "spaced leaders": "\n".join(f"{word.title()} {'. ' * 60} {page}" for page, word in enumerate(WORDS)),
    "form lines": "Name " + "_" * 900,
    "dashes": "Text\n" + "-" * 800,
    "not available": prose(600) + "<table>" + ("<tr>" + "<td>N/A</td>" * 6 + "</tr>") * 25 + "</table>",
    "ditto": prose(600) + "\n".join("do." for _ in range(50)),
    "refrain": "\n\n".join(prose(300, seed=verse) + "\nHeave ho, heave ho!" for verse in range(8)),
    "coupons": "Cut here. " + 3 * (prose(260, seed=3) + "\n\n"),
    "numbered rows": "\n".join(f"| {row} | January {row}, 1881 | {row * 7 % 13} |" for row in range(1, 60)),
    "index": "\n".join(f"{word}, {page}, {page + 3}, {page + 9}" for page, word in enumerate(WORDS * 6)),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_an_honest_page_is_not_taken_for_a_loop(text: str) -> None:
    assert verdict(text) is None


@given(st.text(max_size=3000))
def test_any_text_can_be_judged(text: str) -> None:
    loop = find_loop(text)
    assert loop is None or text[-loop.length :][loop.period :] == text[-loop.length : -loop.period]
    repeats(text)
    repeats(text, cut=True)


@given(st.text(alphabet="abcdefgh ", min_size=3, max_size=60), st.integers(0, 50))
def test_a_long_loop_of_any_unit_is_found(unit: str, cut: int) -> None:
    text = prose(300) + unit * (6000 // len(unit))
    loop = find_loop(text[: len(text) - cut])
    assert loop is not None
    assert loop.length >= 3900
    assert len(unit) % loop.period == 0


def test_an_answer_at_its_token_limit_is_not_taken() -> None:
    assert verdict(prose(4000), "length") is Reason.LENGTH
    assert verdict("", "length") is Reason.LENGTH
    assert verdict(prose(500) + "." * 6000, "length") is Reason.REPETITION


def test_an_empty_answer_is_right_for_a_blank_page_alone() -> None:
    assert verdict("") is Reason.EMPTY_ANSWER
    assert verdict("", blank=True) is None


def test_an_echo_and_a_filtered_answer_are_not_taken() -> None:
    assert verdict("Transcribe the page.", flags=("prompt_echo",)) is Reason.PROMPT_ECHO
    assert verdict("Some text.", "content_filter") is Reason.REFUSAL


def test_where_a_loop_was_trimmed_the_rest_is_judged() -> None:
    raw = prose(2500) + "on and on, " * 500
    assert judge(raw, ParsedPage(prose(2500), flags=("repeats_trimmed",)), "stop", blank=False) is None


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, I cannot transcribe the text in this image.",
        "I am unable to read the document because it is too blurry.",
        "Sorry, I'm not able to process this page.",
        "I apologize, but I am unable to view the image.",
        "As an AI language model, I do not have eyes.",
        "I cannot help with identifying people in this picture.",
    ],
)
def test_a_refusal_is_seen(text: str) -> None:
    assert verdict(text) is Reason.REFUSAL


@pytest.mark.parametrize(
    "text",
    [
        "Dear John, I'm sorry, but I can't come on Sunday.",
        "I am sorry to hear of your loss.\n\nYours, Anna",
        "I cannot tell you how glad we were.",
        "Sorry, we are closed.",
        "I'm sorry, I cannot read the document. " + prose(2000),
    ],
)
def test_a_letter_is_not_a_refusal(text: str) -> None:
    assert verdict(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "There is no text in this image.",
        "The image does not contain any readable text.",
        "This page is blank.",
        "[No text]",
        "No text found.",
        "The image contains no text or characters. It is a graphical element.",
        "[Non-Text]",
    ],
)
def test_the_statement_that_there_is_no_text_is_known(text: str) -> None:
    assert says_no_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "This page intentionally left blank",
        "There is no text in this image. " + prose(400),
        "No text messages while driving",
        "There is no content without form.",
        "The image of the city",
        "",
    ],
)
def test_a_pages_own_words_are_not_that_statement(text: str) -> None:
    assert not says_no_text(text)


def test_echoes() -> None:
    prompt = "Convert this page to Markdown in reading order.\nWrite tables as HTML and formulas as LaTeX, and leave out figures."
    assert echoes(prompt, prompt)
    assert echoes("Sure!\n\n" + prompt.replace("\n", " ") + "\n\n# Title", prompt)
    assert echoes("Free OCR.", "Free OCR.")
    assert not echoes("# Title\n\nWords.", prompt)
    assert not echoes(prose(1500) + prompt, prompt)
    assert not echoes("OCR:", "OCR:")
    assert not echoes("Free OCR. for everybody", "Free OCR.")
    assert not echoes("Text", None)
