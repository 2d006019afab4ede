"""Write a tiny vision-language model for tests with a real vLLM: configuration and tokenizer, no weights.

    python tools/make_tiny_vlm.py FOLDER

Loaded with `--load-format dummy` its weights are random and so is its text; loading, image processing, batching,
structured output and metrics are the real ones. It has PaddleOCR-VL's architecture, which needs no torchvision, and a
tokenizer with one token per byte.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SPECIAL = ["<s>", "</s>", "<pad>", "<|IMAGE_PLACEHOLDER|>", "<|IMAGE_START|>", "<|IMAGE_END|>", "<|video_pad|>"]
BOS, EOS, PAD, IMAGE, IMAGE_START, IMAGE_END, VIDEO = range(len(SPECIAL))
CONTEXT = 8192
PATCH, MERGE = 14, 2

CHAT_TEMPLATE = """\
{{ bos_token }}
{%- for message in messages %}
{{- message.role }}: {% if message.content is string %}{{ message.content }}{% else %}
{%- for part in message.content %}
{%- if part.type == 'image' %}<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>{% else %}{{ part.text }}{% endif %}
{%- endfor %}
{%- endif %}
{% endfor %}assistant: """


def byte_letters() -> list[str]:
    """A printable letter for every byte, as byte-level tokenizers have it: itself where it is one, else from 256 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def tokenizer() -> dict[str, Any]:
    """One token per byte after the special ones; without merges, so nothing has to be trained."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    added = [
        {"id": number, "content": word, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for number, word in enumerate(SPECIAL)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {word: number for number, word in enumerate([*SPECIAL, *byte_letters()])},
            "merges": [],
        },
    }


def text_config() -> dict[str, Any]:
    """Two layers of the language half."""
    heads, head_dim = 2, 64
    return {
        "model_type": "paddleocr_vl_text",
        "vocab_size": len(SPECIAL) + 256,
        "hidden_size": heads * head_dim,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": head_dim,
        "max_position_embeddings": CONTEXT,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        # The three sections (time, height, width) share half of a head's dimensions.
        "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0, "mrope_section": [8, 12, 12]},
    }


def vision_config() -> dict[str, Any]:
    """Two layers of the half that sees."""
    return {
        "model_type": "paddleocr_vl_vision",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 4 * PATCH,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
    }


def model_config() -> dict[str, Any]:
    """The whole model."""
    return {
        "architectures": ["PaddleOCRVLForConditionalGeneration"],
        "model_type": "paddleocr_vl",
        "image_token_id": IMAGE,
        "video_token_id": VIDEO,
        "vision_start_token_id": IMAGE_START,
        "vision_end_token_id": IMAGE_END,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "text_config": text_config(),
        "vision_config": vision_config(),
    }


def image_processor() -> dict[str, Any]:
    """Small pictures: at most 256 tokens a page."""
    token_pixels = (PATCH * MERGE) ** 2
    return {
        "image_processor_type": "PaddleOCRVLImageProcessor",
        "processor_class": "PaddleOCRVLProcessor",
        "do_convert_rgb": True,
        "do_resize": True,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "resample": 3,
        "min_pixels": 4 * token_pixels,
        "max_pixels": 256 * token_pixels,
        "patch_size": PATCH,
        "temporal_patch_size": 1,
        "merge_size": MERGE,
    }


def write_model(folder: Path) -> None:
    """Write all files of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    files = {
        "config.json": model_config(),
        "generation_config.json": ends,
        "preprocessor_config.json": image_processor(),
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": SPECIAL[BOS],
            "eos_token": SPECIAL[EOS],
            "pad_token": SPECIAL[PAD],
            "model_max_length": CONTEXT,
            "extra_special_tokens": {"image_token": SPECIAL[IMAGE]},
            "chat_template": CHAT_TEMPLATE,
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_tiny_vlm.py FOLDER")
    write_model(Path(sys.argv[1]))
