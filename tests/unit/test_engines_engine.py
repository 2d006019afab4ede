"""Engines: their identity, their requests, their prompts."""

from __future__ import annotations

import base64
import json
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfocr_core.engines.engine import Engine, build_engine
from pdfocr_core.engines.profile import load_profile
from pdfocr_core.engines.prompts import choose_prompt
from pdfocr_core.errors import ConfigurationError, PageError, Reason

PICTURE = base64.b64encode(b"\xff\xd8 a picture")
GOOD = (
    "---\nprimary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\nis_diagram: False\n"
    "---\nHello, page."
)


def engine(name: str, **values: object) -> Engine:
    return build_engine(load_profile(name), **values)  # type: ignore[arg-type]


def body(subject: Engine, temperature: float = 0.1) -> dict[str, object]:
    parsed: dict[str, object] = json.loads(
        subject.request(PICTURE, "png", temperature=temperature, served_model="served")
    )
    return parsed


def test_the_identity_is_the_same_for_the_same_engine_and_hexadecimal() -> None:
    one, other = engine("olmocr-2"), engine("olmocr-2")
    assert one.engine_id == other.engine_id
    assert len(one.engine_id) == 16
    int(one.engine_id, 16)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "somebody/else"},
        {"revision": "abc"},
        {"longest_side_px": 1024},
        {"image_format": "jpeg"},
        {"max_tokens": 4000},
        {"temperature": 0.3},
        {"temperatures": (0.1, 0.5)},
        {"text_layer": "prefer"},
        {"keep_margins": True},
    ],
)
def test_whatever_shapes_the_text_changes_the_identity(change: dict[str, object]) -> None:
    assert engine("olmocr-2", **change).engine_id != engine("olmocr-2").engine_id


def test_the_prompt_changes_the_identity(tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Write down what you see.")
    assert engine("olmocr-2", prompt_file=file).engine_id != engine("olmocr-2").engine_id


def test_structured_output_can_be_given_up_without_becoming_another_engine() -> None:
    held = engine("olmocr-2", structured=True)
    assert "regex" in str(body(held)["structured_outputs"])
    free = held.without_structure()
    assert "structured_outputs" not in body(free)
    assert free.engine_id == held.engine_id


def test_structured_output_is_not_asked_of_models_with_another_form() -> None:
    assert "structured_outputs" not in body(engine("glm-ocr", structured=True))


def test_a_request_is_json_with_the_picture_in_it() -> None:
    sent = body(engine("olmocr-2"), temperature=0.5)
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("served", 0.5, 8000)
    (message,) = sent["messages"]  # type: ignore[misc]
    assert [part["type"] for part in message["content"]] == ["text", "image_url"]
    assert message["content"][1]["image_url"]["url"] == "data:image/png;base64," + PICTURE.decode()


def test_each_temperature_format_and_name_has_its_own_request() -> None:
    subject = engine("olmocr-2")
    first = json.loads(subject.request(b"QQ==", "png", temperature=0.1, served_model="a"))
    second = json.loads(subject.request(b"Qg==", "jpeg", temperature=0.8, served_model="b"))
    assert (first["temperature"], first["model"]) == (0.1, "a")
    assert (second["temperature"], second["model"]) == (0.8, "b")
    assert second["messages"][0]["content"][1]["image_url"]["url"] == "data:image/jpeg;base64,Qg=="


@given(st.text(min_size=1).filter(lambda text: text.strip() != ""))
def test_any_prompt_survives_the_request(text: str) -> None:
    profile = load_profile("olmocr-2")
    asked = profile.model_copy(update={"prompt": profile.prompt.model_copy(update={"text": text})})
    text_part = json.loads(build_engine(asked).request(PICTURE, "png", temperature=0.1, served_model="m"))
    assert text_part["messages"][0]["content"][0]["text"] == text


def test_a_ladder_begins_at_the_models_own_temperature() -> None:
    assert engine("olmocr-2").temperatures == (0.1, 0.1, 0.2, 0.3, 0.5, 0.8, 0.9, 1.0)
    assert engine("glm-ocr").temperatures[:3] == (0.01, 0.1, 0.2)
    assert engine("lighton-ocr2").temperatures == (0.2, 0.2, 0.3, 0.5, 0.8, 0.9, 1.0)
    assert engine("olmocr-2", temperatures=(0.4,)).temperatures == (0.4,)


def test_only_an_engine_without_randomness_is_deterministic() -> None:
    assert engine("pdfocr-cpu").deterministic
    assert not engine("olmocr-2").deterministic
    assert not engine("paddleocr-vl").deterministic


def test_a_local_copy_does_not_take_the_hubs_revision() -> None:
    assert engine("olmocr-2").revision
    assert engine("olmocr-2", model="/models/mine").revision is None


def test_pictures_follow_the_profile() -> None:
    cpu = engine("pdfocr-cpu")
    assert (cpu.longest_side_px, cpu.image_format, cpu.allow_grey) == (1288, "jpeg", True)
    paddle = engine("paddleocr-vl-1.6")
    assert paddle.longest_side_px * (paddle.longest_side_px / 2**0.5) <= 1_003_520
    assert not paddle.allow_grey


def test_a_setting_out_of_bounds_is_named() -> None:
    with pytest.raises(ConfigurationError, match="longest_side_px=5"):
        engine("olmocr-2", longest_side_px=5)
    with pytest.raises(ConfigurationError, match="format='gif'"):
        engine("olmocr-2", image_format="gif")


def test_the_description_names_what_matters() -> None:
    described = engine("dots-ocr").describe()
    assert described["model"] == "rednote-hilab/dots.ocr"
    assert described["prompt_origin"] == "task"
    json.dumps(described)


def test_the_users_prompt_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("  Lies die Seite. \n", encoding="utf-8")
    choice = choose_prompt(load_profile("olmocr-2"), file)
    assert (choice.text, choice.origin) == ("Lies die Seite.", "user")


def test_the_published_prompt_comes_before_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    package, prompts = types.ModuleType("olmocr"), types.ModuleType("olmocr.prompts")
    prompts.build_no_anchoring_v4_yaml_prompt = lambda: "As published."  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "olmocr", package)
    monkeypatch.setitem(sys.modules, "olmocr.prompts", prompts)
    choice = choose_prompt(load_profile("olmocr-2"))
    assert (choice.text, choice.origin) == ("As published.", "published")


def test_our_words_stand_in_where_the_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "olmocr", None)
    choice = choose_prompt(load_profile("olmocr-2"))
    assert choice.origin == "own"
    assert "rotation_correction" in (choice.text or "")


def test_a_prompt_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        choose_prompt(load_profile("olmocr-2"), tmp_path / "absent.txt")
    empty = tmp_path / "empty.txt"
    empty.touch()
    with pytest.raises(ConfigurationError, match="is empty"):
        choose_prompt(load_profile("olmocr-2"), empty)
    with pytest.raises(ConfigurationError, match="without any text"):
        choose_prompt(load_profile("lighton-ocr2"), empty)


def test_an_answer_is_parsed_by_the_profiles_steps() -> None:
    page = engine("olmocr-2").parse(GOOD, width=1000, height=1288)
    assert (page.text, page.language) == ("Hello, page.", "en")
    with pytest.raises(PageError) as error:
        engine("olmocr-2").parse("Hello, page.", width=1000, height=1288)
    assert error.value.reason is Reason.BAD_FRONT_MATTER


def test_the_statement_that_there_is_no_text_is_no_text() -> None:
    page = engine("glm-ocr").parse("The image does not contain any visible text.", width=10, height=10)
    assert (page.text, page.flags) == ("", ("says_no_text",))


def test_an_answer_that_gives_back_the_prompt_is_flagged() -> None:
    subject = engine("hunyuan-ocr")
    assert "prompt_echo" in subject.parse(f"{subject.prompt.text}", width=10, height=10).flags
    assert "prompt_echo" not in subject.parse("An essay on prompts.", width=10, height=10).flags
