"""Finding, reading and refusing model profiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdfocr_core.engines.profile import all_profiles, check_licence, load_profile
from pdfocr_core.errors import ConfigurationError

MINE = """
name: mine
model: me/mine
licence: {id: MIT, restricted: false}
message: {order: [image]}
"""


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "name",
    ["olmocr-2", "OLMOCR-2", "allenai/olmOCR-2-7B-1025-FP8", "allenai/olmocr-2-7b-1025-fp8", "olmocr"],
)
def test_a_profile_is_found_by_name_hub_id_and_alias(name: str) -> None:
    profile = load_profile(name)
    assert (profile.name, profile.model) == ("olmocr-2", "allenai/olmOCR-2-7B-1025-FP8")
    assert profile.revision


def test_another_copy_of_the_weights_is_asked_for_under_its_own_name() -> None:
    profile = load_profile("allenai/olmOCR-2-7B-1025")
    assert (profile.name, profile.model, profile.revision) == ("olmocr-2", "allenai/olmOCR-2-7B-1025", None)


@pytest.mark.parametrize(
    "path",
    [
        "/models/olmOCR-2-7B-1025-FP8",
        "./olmOCR-2-7B-1025-FP8/",
        "s3://bucket/weights/olmOCR-2-7B-1025-FP8",
        "/cache/models--allenai--olmOCR-2-7B-1025-FP8/snapshots/40bd7202494b8264ee17ada08b401b5aab7a9ce1",
    ],
)
def test_a_local_copy_is_known_by_its_directory(path: str) -> None:
    profile = load_profile(path)
    assert (profile.name, profile.model, profile.revision) == ("olmocr-2", path.rstrip("/"), None)


def test_a_variant_is_found_by_its_name_only() -> None:
    assert load_profile("rednote-hilab/dots.ocr").name == "dots-ocr"
    assert load_profile("dots-ocr-layout").output_format == "layout_json"


def test_an_unknown_model_is_answered_with_close_names_and_the_way_to_a_profile() -> None:
    with pytest.raises(ConfigurationError) as error:
        load_profile("olmocr2-7b")
    assert "Did you mean" in str(error.value)
    assert "extends:" in error.value.remedy


def test_a_model_that_does_not_read_pages_says_why() -> None:
    with pytest.raises(ConfigurationError, match="extracts named fields"):
        load_profile("LiquidAI/LFM2.5-VL-1.6B-Extract")


def test_the_users_profiles_come_first_and_may_extend(tmp_path: Path) -> None:
    written(tmp_path, "name: mine\nextends: olmocr-2\nmodel: ./fine-tuned\nsampling: {max_tokens: 6000}\n")
    mine, original = load_profile("mine", [tmp_path]), load_profile("olmocr-2")
    assert (mine.model, mine.revision, mine.sampling.max_tokens) == ("./fine-tuned", None, 6000)
    assert (mine.prompt, mine.sampling.extra_body) == (original.prompt, original.sampling.extra_body)
    written(tmp_path, MINE.replace("name: mine", "name: glm-ocr"), "glm.yaml")
    assert load_profile("glm-ocr", [tmp_path]).model == "me/mine"
    assert {"mine", "olmocr-2"} <= {profile.name for profile in all_profiles([tmp_path])}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (MINE + "colour: red\n", "colour"),
        (MINE + "image: {longest: 5}\n", r"image\.longest"),
        (MINE + "image: {format: gif}\n", r"image\.format"),
        (MINE + "post: [strip, conjure]\n", "conjure"),
        (MINE + "prompt: {text: Read.}\n", "message.order"),
        (MINE + "model: me/again\n", "stands twice"),
        (MINE + "serve: {args: --max-model-len 4096}\n", "refuse every page"),
        (MINE + "serve: {args: --limit-mm-per-prompt image=1}\n", "JSON object"),
        (MINE.replace("[image]", "[image, image]"), "image once"),
        (MINE + "image: [\n", "not valid YAML"),
        ("model: me/mine\n", "key `name`"),
        ("- a list\n", "must be a mapping"),
        (MINE + "extends: nobody\n", "does not exist"),
        (MINE + "extends: mine\n", "extends itself"),
    ],
)
def test_a_wrong_file_is_named_with_the_key(tmp_path: Path, text: str, named: str) -> None:
    written(tmp_path, text)
    with pytest.raises(ConfigurationError, match=named) as error:
        load_profile("mine", [tmp_path])
    assert "mine.yaml" in str(error.value)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no folder of profiles"):
        load_profile("mine", [tmp_path / "absent"])


def test_a_restricted_licence_must_be_accepted() -> None:
    hunyuan = load_profile("hunyuan-ocr")
    with pytest.raises(ConfigurationError, match="European Union"):
        check_licence(hunyuan, accepted=False)
    check_licence(hunyuan, accepted=True)
    check_licence(load_profile("glm-ocr"), accepted=False)
