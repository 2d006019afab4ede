"""Every bundled profile: a sound request, a budget that fits, and answers in the form of its model understood."""

from __future__ import annotations

import base64
import json

import pytest

from pdfocr_core.engines.engine import build_engine
from pdfocr_core.engines.model import Profile
from pdfocr_core.engines.profile import all_profiles, load_profile

HEADER = "primary_language: en\nis_rotation_valid: true\nrotation_correction: 0\nis_table: false\nis_diagram: false"
WORDS = "The lighthouse keeper wrote it down."
# An answer of each form, as the model gives it; all say WORDS.
ANSWERS = {
    "markdown": WORDS,
    "front_matter": f"---\n{HEADER}\n---\n{WORDS}",
    "doctags": f"<doctag><text><loc_57><loc_60><loc_443><loc_74>{WORDS}</text></doctag>",
    "layout_json": json.dumps([{"bbox": [100, 100, 900, 200], "category": "Text", "text": WORDS}]),
    "html_blocks": f'<div data-label="Text" data-bbox="100 100 900 200"><p>{WORDS}</p></div>',
    "hpd_blocks": f"<BLOCK> text [100, 100, 900, 200] <CHILD> {WORDS}",
    "det_blocks": f"<|det|>text [100, 100, 900, 200]<|/det|>{WORDS}<｜end▁of▁sentence｜>",
}
ALL = all_profiles()
# Every model of the field that a chat server can read pages with.
MODELS = """
lightonai/LightOnOCR-1B-1025 lightonai/LightOnOCR-2-1B lightonai/LightOnOCR-3-0.8B lightonai/LightOnOCR-3-1B
lightonai/LightOnOCR-3-4B nanonets/Nanonets-OCR-s nanonets/Nanonets-OCR2-3B rednote-hilab/dots.ocr rednote-hilab/dots.mocr
tencent/HunyuanOCR zai-org/GLM-OCR numind/NuExtract3 numind/NuMarkdown-8B-Thinking baidu/Unlimited-OCR baidu/Qianfan-OCR
PaddlePaddle/PaddleOCR-VL PaddlePaddle/PaddleOCR-VL-1.5 PaddlePaddle/PaddleOCR-VL-1.6 PaddlePaddle/HPD-Parsing
deepseek-ai/DeepSeek-OCR deepseek-ai/DeepSeek-OCR-2 allenai/olmOCR-2-7B-1025-FP8 reducto/RolmOCR datalab-to/surya-ocr-2
ATH-MaaS/OvisOCR2 FireRedTeam/FireRed-OCR acvlab/ABot-OCR jinaai/jina-ocr-v1 ibm-granite/granite-docling-258M
ds4sd/SmolDocling-256M-preview Qwen/Qwen3.5-9B pdfocr-cpu
""".split()  # noqa: SIM905 - reads better than a list


def by_name(profile: Profile) -> str:
    return profile.name


def answer_for(profile: Profile) -> str:
    step = next((step for step in profile.post if step in ANSWERS), profile.output_format)
    return ANSWERS[step]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_found_by_its_hub_id(model: str) -> None:
    assert load_profile(model).model == model


@pytest.mark.parametrize("profile", ALL, ids=by_name)
def test_the_request_is_laid_out_as_the_profile_says(profile: Profile) -> None:
    engine = build_engine(profile)
    picture = base64.b64encode(bytes(range(256)))
    format_ = engine.image_format
    sent = json.loads(engine.request(picture, format_, temperature=engine.temperatures[0], served_model="served"))
    system = [message for message in sent["messages"] if message["role"] == "system"]
    assert [message["content"] for message in system] == (
        [] if profile.message.system is None else [profile.message.system]
    )
    content = sent["messages"][-1]["content"]
    kinds = {"text": "text", "image_url": "image"}
    assert tuple(kinds[part["type"]] for part in content) == profile.message.order
    for part in content:
        if part["type"] == "text":
            assert part["text"] == profile.message.text_prefix + (engine.prompt.text or "")
            assert part["text"].strip()
        else:
            assert part["image_url"]["url"] == f"data:image/{format_};base64,{picture.decode()}"
    assert sent["max_tokens"] == profile.sampling.max_tokens
    assert {name: sent[name] for name in profile.sampling.extra_body} == profile.sampling.extra_body


@pytest.mark.parametrize("profile", ALL, ids=by_name)
def test_an_answer_in_the_models_form_is_understood(profile: Profile) -> None:
    page = build_engine(profile).parse(answer_for(profile), width=1000, height=1400)
    assert page.text == WORDS
    if "bbox" in answer_for(profile) or "loc_" in answer_for(profile):
        (box,) = page.boxes
        assert 0 <= box.x0 < box.x1 <= 1
        assert 0 <= box.y0 < box.y1 <= 1


@pytest.mark.parametrize("profile", [profile for profile in ALL if profile.serve.args], ids=by_name)
def test_the_server_gets_what_every_model_needs(profile: Profile) -> None:
    args = profile.serve.args
    assert profile.max_model_len, "a native context of 100,000 tokens and more does not fit into a card's memory"
    assert json.loads(profile.serve.value_of("--limit-mm-per-prompt") or "{}")["image"] == 1
    assert not {"--host", "--port", "--api-key", "--model", "--revision"} & set(args), "these are the run's to give"
    assert "--reasoning-parser" not in args, "it would move the answer out of the message's content"
    if "--logits_processors" in args:
        assert args.index("--logits_processors") == len(args) - 2, "a flag that takes a list goes last"


def test_only_models_that_share_prefixes_cache_them() -> None:
    caching = {profile.name for profile in ALL if "--enable-prefix-caching" in profile.serve.args}
    assert caching == {"hpd-parsing", "surya-ocr2"}


def test_traps_of_single_models() -> None:
    assert load_profile("olmocr-2").message.order == ("text", "image")
    assert load_profile("smoldocling").message.order == ("image", "text")
    assert load_profile("lighton-ocr2").message.order == ("image",)
    assert load_profile("hunyuan-ocr").message.system == ""
    assert load_profile("dots-mocr").message.text_prefix == "<|img|><|imgpad|><|endofimg|>"
    assert load_profile("dots-mocr").serve.value_of("--chat-template-content-format") == "string"
    for name in ("lighton-ocr3-0.8b", "lighton-ocr3-4b", "ovis-ocr2", "qwen3.5-9b", "nuextract3"):
        assert load_profile(name).sampling.extra_body["chat_template_kwargs"]["enable_thinking"] is False
    assert "chat_template_kwargs" not in load_profile("lighton-ocr3-1b").sampling.extra_body
    for name in ("deepseek-ocr", "deepseek-ocr2", "unlimited-ocr"):
        profile = load_profile(name)
        assert profile.sampling.extra_body["skip_special_tokens"] is False
        assert profile.image.rgb_only
