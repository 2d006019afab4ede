"""Finding a model's profile: bundled ones, the user's own, by short name, hub id, alias or local directory."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import ValidationError

from pdfocr_core.engines.model import Profile
from pdfocr_core.errors import ConfigurationError

__all__ = ["Profile", "all_profiles", "check_licence", "load_profile"]

# Known models that do not turn a page into its text over the chat interface.
_NOT_READERS = {
    "tiiuae/falcon-ocr": "is served by its vendor's own server with a route of its own, not by a chat completion",
    "datalab-to/lift": "fills in a schema from several pages; it does not transcribe them",
    "liquidai/lfm2.5-vl-1.6b-extract": "extracts named fields; it does not transcribe pages",
}
_MAX_DEPTH = 8

# One file as read: where it stands, for messages, and what it says.
_Raw = tuple[str, dict[str, Any]]


def load_profile(name_or_model: str, directories: Sequence[Path | str] = ()) -> Profile:
    """The profile that a name means.

    A short name is looked up first, then hub ids and aliases, then the last part of a path or URL, so that a local copy
    of a known model is recognised by its directory's name; such a profile carries the path as its model.

    Args:
        name_or_model: short name, alias, hub id, local directory or `s3://` prefix.
        directories: folders with profiles of the user's own; they come before the bundled ones.

    Raises:
        ConfigurationError: nothing is known by that name, or a profile file is wrong.
    """
    raws = _raw_profiles(directories)
    wanted = name_or_model.strip().rstrip("/")
    key = wanted.casefold()
    if key in raws:
        return _build(key, raws)
    by_word = {word: name for name in raws for word in _words(name, raws)}
    if key in by_word:
        profile = _build(by_word[key], raws)
        # Another copy of the weights (an alias with an owner) has revisions of its own.
        same = "/" not in wanted or profile.model.casefold() == key
        return profile if same else profile.model_copy(update={"model": wanted, "revision": None})
    if key in _NOT_READERS:
        raise ConfigurationError(
            f"The model {wanted} {_NOT_READERS[key]}.", remedy="`pdfocr models` lists those that do."
        )
    copied = _copied(key, by_word)
    if copied is not None:
        return _build(copied, raws).model_copy(update={"model": wanted, "revision": None})
    raise _unknown(wanted, [*raws, *by_word])


def all_profiles(directories: Sequence[Path | str] = ()) -> list[Profile]:
    """All profiles, the user's own included, by tier and name."""
    raws = _raw_profiles(directories)
    return sorted((_build(name, raws) for name in raws), key=lambda profile: (profile.tier, profile.name))


def check_licence(profile: Profile, accepted: bool) -> None:
    """Make sure that a licence with conditions was accepted.

    Raises:
        ConfigurationError: it was not.
    """
    if profile.licence.restricted and not accepted:
        note = f" ({profile.licence.note})" if profile.licence.note else ""
        raise ConfigurationError(
            f"The licence of {profile.model} restricts its use: {profile.licence.id}{note}.",
            remedy="Read it at the model's page; if your use is allowed, set accept_license (--accept-license).",
        )


def _raw_profiles(directories: Sequence[Path | str]) -> dict[str, _Raw]:
    raws = dict(_bundled())
    for directory in directories:
        folder = Path(directory).expanduser()
        if not folder.is_dir():
            raise ConfigurationError(f"There is no folder of profiles {folder}.", remedy="Check profiles_dir.")
        raws.update(_read(folder))
    return raws


@cache
def _bundled() -> Mapping[str, _Raw]:
    return dict(_read(files("pdfocr_core.engines") / "profiles"))


def _read(folder: Traversable | Path) -> Iterator[tuple[str, _Raw]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith((".yaml", ".yml")) and entry.is_file():
            try:
                data = yaml.load(entry.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a safe loader
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"The profile {entry} is not valid YAML: {error}.") from error
            if not isinstance(data, dict) or not isinstance(data.get("name"), str):
                raise ConfigurationError(f"The profile {entry} must be a mapping with the key `name`.")
            yield data["name"].casefold(), (str(entry), data)


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """See `yaml.SafeLoader`."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                mark = node.value[number][0].start_mark
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", mark)
        return super().construct_mapping(node, deep=deep)


def _words(name: str, raws: Mapping[str, _Raw]) -> list[str]:
    """What else a profile is found by: its model and its aliases."""
    data = _merged(name, raws)
    if data.get("variant"):
        return []
    aliases = data.get("aliases")
    words = [data.get("model"), *(aliases if isinstance(aliases, list) else [])]
    return [str(word).casefold() for word in words if word]


def _copied(key: str, by_word: Mapping[str, str]) -> str | None:
    """The profile of the model that a path or URL holds a copy of, by the name of one of its last directories."""
    for part in reversed(PurePosixPath(key.replace("\\", "/")).parts[-3:]):
        # The hub's cache writes owner and name into one directory, with the snapshot below it.
        hub_id = part.removeprefix("models--").replace("--", "/")
        for word, name in by_word.items():
            if "/" in word and hub_id in (word, word.rpartition("/")[2]):
                return name
    return None


def _merged(name: str, raws: Mapping[str, _Raw], depth: int = 0) -> dict[str, Any]:
    """What a profile says together with what it extends."""
    where, data = raws[name]
    base = data.get("extends")
    if base is None:
        return data
    if str(base).casefold() not in raws:
        raise ConfigurationError(f"The profile {where} extends {base!r}, which does not exist.")
    if depth == _MAX_DEPTH:
        raise ConfigurationError(f"The profile {where} extends itself, or through too many others.")
    below = _merged(str(base).casefold(), raws, depth + 1)
    # What names and pins the other model does not name and pin this one.
    own = {"aliases", "variant"} | ({"revision"} if "model" in data else set())
    return _overlay({key: value for key, value in below.items() if key not in own}, data)


def _overlay(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _build(name: str, raws: Mapping[str, _Raw]) -> Profile:
    try:
        return Profile.model_validate(_merged(name, raws))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}" for problem in error.errors()
        )
        raise ConfigurationError(f"The profile {raws[name][0]} is wrong: {problems}.") from error


def _unknown(wanted: str, known: Sequence[str]) -> ConfigurationError:
    close = difflib.get_close_matches(wanted.casefold(), known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    return ConfigurationError(
        f"There is no profile for the model {wanted}.{hint}",
        remedy=(
            "`pdfocr models` lists what is known. For a model of your own, put a file such as mine.yaml into a folder, name "
            "the folder as profiles_dir (PDFOCR_PROFILES_DIR), and write into it `name: mine`, `extends: olmocr-2` (or the "
            "profile closest to yours) and `model: <hub id or path>`, then whatever differs."
        ),
    )
