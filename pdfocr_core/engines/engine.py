"""An engine: a model together with everything else that shapes the text it gives, under one identity."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from pdfocr_core.engines.boxes import Picture
from pdfocr_core.engines.judge import echoes, says_no_text
from pdfocr_core.engines.model import ImagePolicy, Profile, Sampling
from pdfocr_core.engines.page import PROMPT_ECHO, SAYS_NO_TEXT, ParsedPage
from pdfocr_core.engines.postprocess.front_matter import FRONT_MATTER_REGEX
from pdfocr_core.engines.postprocess.steps import POSTPROCESS_VERSION, run_steps
from pdfocr_core.engines.prompts import PromptChoice, choose_prompt
from pdfocr_core.engines.request import body_around
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.settings import TEMPERATURES

__all__ = ["Engine", "ParsedPage", "build_engine"]

logger = logging.getLogger(__name__)

_Part = TypeVar("_Part", ImagePolicy, Sampling)


@dataclass(frozen=True)
class Engine:
    """See the module's head; made by `build_engine`.

    Attributes:
        profile: the model's profile as loaded.
        model: hub id or path of the weights.
        revision: of the weights; None where it is not pinned.
        prompt: the words and their origin.
        image: the picture the model gets.
        sampling: how its tokens are drawn.
        text_layer: what a PDF's own text is used for: `off`, `fallback` or `prefer`.
        structured: whether the server is asked to hold the answer to its form. It rules out what would be rejected and
            changes no answer that is accepted, so it is not part of the identity and may be given up in a run.
        keep_margins: whether page numbers, running heads and stamps stay in the text where pdfocr itself brings lines into
            order: that of text layers and of the CPU engine.
        delivery: fields of the request that say how the answer comes and not what it says: whole or as a stream.
    """

    profile: Profile
    model: str
    revision: str | None
    prompt: PromptChoice
    image: ImagePolicy
    sampling: Sampling
    text_layer: str
    structured: bool = False
    keep_margins: bool = False
    delivery: Mapping[str, Any] = field(default_factory=dict)
    _around: dict[tuple[str, str, float], tuple[bytes, bytes]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def engine_id(self) -> str:
        """16 hex digits over everything that shapes the text; the same engine has the same everywhere."""
        canonical = json.dumps(self._shape(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @cached_property
    def temperatures(self) -> tuple[float, ...]:
        """One for each attempt: the profile's, or its first one and then what of the general ladder lies above it."""
        if self.sampling.temperatures is not None:
            return self.sampling.temperatures
        first = self.sampling.temperature
        return (first, *(step for step in TEMPERATURES[1:] if step >= first))

    @property
    def deterministic(self) -> bool:
        """Whether the same request brings the same answer, so that asking again is of no use."""
        return not any(self.temperatures)

    @property
    def longest_side_px(self) -> int:
        """The longest side of the pictures it gets."""
        return self.image.side_px

    @property
    def image_format(self) -> str:
        """`jpeg` or `png`."""
        return self.image.format

    @property
    def allow_grey(self) -> bool:
        """Whether grey pictures may be sent as such."""
        return not self.image.rgb_only

    def without_structure(self) -> Self:
        """The same engine for a server that does not know structured output."""
        return replace(self, structured=False, _around={})

    def delivered(self, delivery: Mapping[str, Any]) -> Self:
        """The same engine, its answers delivered otherwise."""
        return replace(self, delivery=delivery, _around={})

    def request(self, image_b64: bytes, image_format: str, *, temperature: float, served_model: str) -> bytes:
        """The finished JSON body for one page.

        Args:
            image_b64: the picture in base64.
            image_format: `jpeg` or `png`.
            temperature: of this attempt.
            served_model: the model's name at the server.
        """
        key = (served_model, image_format, temperature)
        around = self._around.get(key)
        if around is None:
            around = self._around[key] = body_around(
                served_model=served_model,
                layout=self.profile.message,
                prompt=self.prompt.text,
                image_format=image_format,
                parameters=self._parameters(temperature),
            )
        return b"".join((around[0], image_b64, around[1]))

    def parse(self, raw: str, *, width: int, height: int) -> ParsedPage:
        """What an answer means.

        Args:
            raw: the answer as it came.
            width: of the picture that was sent, in pixels.
            height: of the same.

        Raises:
            PageError: the answer does not have the form that the profile says.
        """
        picture = Picture(width, height, self.profile.box_space, self.image.max_pixels)
        page = run_steps(self.profile.post, raw, picture)
        if says_no_text(page.text):
            return page.but(text="").flagged(SAYS_NO_TEXT)
        return page.flagged(PROMPT_ECHO) if echoes(page.text, self.prompt.text) else page

    def describe(self) -> dict[str, Any]:
        """All that there is to know about the engine, for logs, metadata and reports."""
        return {
            "engine_id": self.engine_id,
            "profile": self.profile.name,
            "licence": self.profile.licence.id,
            "prompt_origin": self.prompt.origin,
            "structured": self.structured,
            **self._shape(),
        }

    def _shape(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "revision": self.revision,
            "prompt": self.prompt.text,
            "image": self.image.model_dump(mode="json"),
            "message": self.profile.message.model_dump(mode="json"),
            "sampling": {**self.sampling.model_dump(mode="json"), "temperatures": list(self.temperatures)},
            "post": list(self.profile.post),
            "box_space": self.profile.box_space.value,
            "postprocess_version": POSTPROCESS_VERSION,
            "text_layer": self.text_layer,
            # Left out where it is off, so that what other models read before there was this setting stays theirs.
            **({"keep_margins": True} if self.keep_margins else {}),
        }

    def _parameters(self, temperature: float) -> dict[str, Any]:
        parameters: dict[str, Any] = {"temperature": temperature, "max_tokens": self.sampling.max_tokens}
        parameters |= self.delivery
        if self.sampling.top_p is not None:
            parameters["top_p"] = self.sampling.top_p
        parameters |= self.sampling.extra_body
        if self.structured:
            parameters["structured_outputs"] = {"regex": FRONT_MATTER_REGEX}
        return parameters


def build_engine(
    profile: Profile,
    *,
    model: str | None = None,
    revision: str | None = None,
    prompt_file: Path | str | None = None,
    text_layer: str = "fallback",
    keep_margins: bool = False,
    structured: bool = False,
    longest_side_px: int | None = None,
    image_format: str | None = None,
    jpeg_quality: int | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    temperatures: tuple[float, ...] | None = None,
) -> Engine:
    """The engine of a profile and of what the user wants otherwise; None leaves the profile's value.

    Args:
        profile: of the model.
        model: another copy of the weights, for example a local directory.
        revision: of the weights.
        prompt_file: a text file with the user's own prompt.
        text_layer: see `Engine`.
        keep_margins: see `Engine`.
        structured: hold the answer to its form, where the profile's form can be (front matter) and the server knows how.
        longest_side_px: of the pictures.
        image_format: `jpeg` or `png`.
        jpeg_quality: 50 to 100.
        max_tokens: of one answer.
        temperature: of the first attempt.
        temperatures: of all attempts.

    Raises:
        ConfigurationError: a value is out of bounds, or the prompt file cannot be used.
    """
    image = _override(profile.image, longest_side_px=longest_side_px, format=image_format, jpeg_quality=jpeg_quality)
    # A first temperature of the user's own makes a ladder of its own.
    sampling = profile.sampling if temperature is None else profile.sampling.model_copy(update={"temperatures": None})
    sampling = _override(sampling, max_tokens=max_tokens, temperature=temperature, temperatures=temperatures)
    if "keep_margins" in sampling.extra_body:  # the profile says so where the server knows this field
        sampling = _override(sampling, extra_body={**sampling.extra_body, "keep_margins": keep_margins})
    chosen = model or profile.model
    prompt = choose_prompt(profile, prompt_file)
    if prompt.origin == "own":
        logger.info("%s is asked in our own words; those it was trained on: %s", profile.name, profile.prompt.see)
    return Engine(
        profile=profile,
        model=chosen,
        revision=revision or (profile.revision if chosen == profile.model else None),
        prompt=prompt,
        image=image,
        sampling=sampling,
        text_layer=text_layer,
        keep_margins=keep_margins,
        structured=structured and profile.output_format == "front_matter",
    )


def _override(part: _Part, **values: Any) -> _Part:
    given = {name: value for name, value in values.items() if value is not None}
    if not given:
        return part
    try:
        return type(part).model_validate({**part.model_dump(), **given})
    except ValidationError as error:
        problem = error.errors()[0]
        raise ConfigurationError(
            f"The setting {problem['loc'][0]}={problem['input']!r} cannot be: {problem['msg']}."
        ) from error
