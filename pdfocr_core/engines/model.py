"""The form of a model profile: what the YAML files in `profiles/` may say, and what each key means.

A profile is data. Values are checked when it is loaded, so that a mistake is named with its file and key, long before
a server has loaded weights for minutes.
"""

from __future__ import annotations

import json
import math
import shlex
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pdfocr_core.engines.boxes import BoxSpace
from pdfocr_core.engines.postprocess.steps import STEPS

__all__ = ["ImagePolicy", "Licence", "MessageLayout", "Profile", "Prompt", "Sampling", "Serve"]

# Tokens of the instruction and the chat template that come on top of the picture's.
PROMPT_ALLOWANCE = 256
_DEFAULT_SIDE_PX = 2048
_A4 = math.sqrt(2)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Licence(_Part):
    """Under which terms the weights may be used."""

    id: str = Field(description="SPDX identifier, or a name where there is none.")
    restricted: bool = Field(description="Needs the user's explicit acceptance: not open, or not known to be.")
    note: str = ""


class Serve(_Part):
    """How `vllm serve` is started for the model."""

    args: list[str] = Field(default_factory=list, description="A list, or one string as typed in a shell.")
    optional: list[str] = Field(default_factory=list, description="Arguments worth trying; never used by themselves.")
    env: dict[str, str] = Field(default_factory=dict)
    min_vllm: str | None = None
    max_vllm: str | None = Field(None, description="The last version known to work.")
    image_tag: str | None = Field(None, description="A container image that is known to serve it.")
    version_gated: str | None = Field(
        None, description="Why a current stock vLLM may refuse the arguments or the model."
    )
    max_in_flight: int | None = Field(None, ge=1, description="More pages at once than this exhaust its memory.")

    @field_validator("args", "optional", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return shlex.split(value) if isinstance(value, str) else value

    def value_of(self, flag: str) -> str | None:
        """What stands behind a flag in `args`; None where the flag does not stand."""
        if flag not in self.args:
            return None
        following = self.args[self.args.index(flag) + 1 :]
        return following[0] if following else None

    @property
    def trust_remote_code(self) -> bool:
        """Whether code from the model's repository runs in the server."""
        return "--trust-remote-code" in self.args


class ImagePolicy(_Part):
    """What picture of a page the model wants."""

    format: Literal["jpeg", "png"] = "png"
    longest_side_px: int | None = Field(None, ge=64, le=16384)
    max_pixels: int | None = Field(None, ge=4096, description="Larger pictures are scaled down, here or in the server.")
    rgb_only: bool = Field(True, description="Whether grey pictures must be sent as RGB.")
    jpeg_quality: int = Field(95, ge=50, le=100)

    @property
    def side_px(self) -> int:
        """The longest side to draw a page with: within both limits for a page of A4's proportions."""
        side = self.longest_side_px or _DEFAULT_SIDE_PX
        return side if self.max_pixels is None else min(side, int(math.sqrt(self.max_pixels * _A4)))


class MessageLayout(_Part):
    """How the request's messages are laid out."""

    system: str | None = Field(None, description="An empty text is sent as an empty message.")
    order: tuple[Literal["text", "image"], ...] = ("image", "text")
    text_prefix: str = Field("", description="Model tokens that must stand before the prompt's text.")

    @field_validator("order")
    @classmethod
    def _one_image(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value.count("image") != 1 or value.count("text") > 1:
            raise ValueError("must hold image once and text at most once")
        return value


class Prompt(_Part):
    """What the model is asked."""

    text: str | None = Field(None, description="None: the model gets the picture alone.")
    wording: Literal["task", "own"] = Field(
        "task", description="`task`: the model's own short task token; `own`: our words for what it was trained on."
    )
    source: Literal["olmocr"] | None = Field(
        None, description="A published function that is preferred where importable."
    )
    see: str = Field("", description="Where the words the model was trained on are published.")


class Sampling(_Part):
    """How tokens are drawn."""

    temperature: float = Field(0.0, ge=0, le=2)
    temperatures: tuple[float, ...] | None = Field(None, description="One for each attempt; None: made from the first.")
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int = Field(8192, ge=1)
    extra_body: dict[str, Any] = Field(default_factory=dict, description="Merged into the request as it is.")


class Profile(_Part):
    """One model: how it is served, asked and understood."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    extends: str | None = Field(None, description="A profile whose values stand where this one says nothing.")
    variant: bool = Field(False, description="Found by its own name only, never by its model's.")
    model: str = Field(min_length=1, description="Hub id or path of the weights.")
    aliases: tuple[str, ...] = ()
    tier: Literal[1, 2, 3] = Field(3, description="1: proven on a stock server; 2: works, with a pin; 3: with caveats.")
    size: str = ""
    revision: str | None = None
    licence: Licence
    serve: Serve = Serve()
    image: ImagePolicy = ImagePolicy()
    message: MessageLayout = MessageLayout()
    prompt: Prompt = Prompt()
    sampling: Sampling = Sampling()
    output_format: Literal["markdown", "front_matter", "doctags", "layout_json", "html_blocks", "blocks"] = "markdown"
    post: tuple[str, ...] = ("strip",)
    box_space: BoxSpace = BoxSpace.THOUSANDTHS
    worst_image_tokens: int | None = Field(None, ge=1, description="Tokens of the largest picture.")
    failures: tuple[str, ...] = Field((), description="What is known to go wrong.")
    languages: str = ""

    @property
    def max_model_len(self) -> int | None:
        """The context that the server is started with."""
        value = self.serve.value_of("--max-model-len")
        return int(value) if value else None

    @field_validator("post")
    @classmethod
    def _known_steps(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [step for step in value if step not in STEPS]
        if unknown:
            raise ValueError(f"unknown step {unknown[0]!r}; there are {', '.join(sorted(STEPS))}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        has_prompt = self.prompt.text is not None or self.prompt.source is not None
        if ("text" in self.message.order) != has_prompt:
            raise ValueError("prompt.text and message.order disagree on whether there is a text")
        limit = self.serve.value_of("--max-model-len")
        if limit is not None and not limit.isdigit():
            raise ValueError(f"serve.args: --max-model-len {limit!r} is not a number")
        needed = self.sampling.max_tokens + (self.worst_image_tokens or 0) + PROMPT_ALLOWANCE
        if limit is not None and needed > int(limit):
            raise ValueError(
                f"the largest picture, the prompt and sampling.max_tokens take {needed} tokens, more than --max-model-len "
                f"{limit}: the server would refuse every page"
            )
        for flag in ("--limit-mm-per-prompt", "--mm-processor-kwargs", "--default-chat-template-kwargs"):
            value = self.serve.value_of(flag)
            if value is not None and not _is_object(value):
                raise ValueError(f"serve.args: {flag} takes a JSON object, not {value!r}")
        return self


def _is_object(value: str) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except ValueError:
        return False
