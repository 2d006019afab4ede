"""Which words a model is asked with, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from pdfocr_core.engines.model import Profile
from pdfocr_core.errors import ConfigurationError

__all__ = ["PromptChoice", "choose_prompt"]

# Functions that return the instruction a model was trained on, by the name that a profile gives as `prompt.source`.
_PUBLISHED = {"olmocr": ("olmocr.prompts", "build_no_anchoring_v4_yaml_prompt")}


@dataclass(frozen=True, slots=True)
class PromptChoice:
    """A prompt and its origin.

    Attributes:
        text: None when the model gets the picture alone.
        origin: `user`, `published` (the words it was trained on, from an installed package), `task` (its own short
            task token), `own` (our words) or `none`.
    """

    text: str | None
    origin: str


def choose_prompt(profile: Profile, prompt_file: Path | str | None = None) -> PromptChoice:
    """The user's text, else the published instruction where its package is installed, else the profile's.

    Raises:
        ConfigurationError: the user's file cannot be read, is empty, or the model takes no text.
    """
    if prompt_file is not None:
        return PromptChoice(_from_file(Path(prompt_file), profile), "user")
    published = _published(profile.prompt.source) if profile.prompt.source else None
    if published:
        return PromptChoice(published, "published")
    if profile.prompt.text is None:
        return PromptChoice(None, "none")
    return PromptChoice(profile.prompt.text, profile.prompt.wording)


def _from_file(path: Path, profile: Profile) -> str:
    if "text" not in profile.message.order:
        raise ConfigurationError(
            f"The model {profile.name} takes the page's picture without any text.",
            remedy="Leave prompt_file out, or write a profile with another message.order.",
        )
    try:
        text = path.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The prompt file {path} cannot be read: {error}.", remedy="Name a text file in UTF-8."
        ) from error
    if not text:
        raise ConfigurationError(
            f"The prompt file {path} is empty.", remedy="Write the prompt into it, or leave it out."
        )
    return text


def _published(source: str) -> str | None:
    module, name = _PUBLISHED[source]
    try:
        text = getattr(import_module(module), name)()
    except (ImportError, AttributeError):
        return None
    return text if isinstance(text, str) else None
