"""Defaults from `PDFOCR_*` environment variables, read when a run starts; at import only the sensors' interval is."""

from collections.abc import Mapping
from typing import Any, TypeGuard, TypeVar, get_origin

import dagster as dg
from pydantic import BaseModel, ValidationError

from pdfocr_core.errors import ConfigurationError

Settings = TypeVar("Settings", bound=BaseModel)


def variable(name: str) -> str | None:
    """The value of `PDFOCR_<NAME>`; None when it is unset or empty."""
    return dg.EnvVar(f"PDFOCR_{name.upper()}").get_value() or None


def _is_settings(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def settings_from(model: type[Settings], given: Mapping[str, Any], *, prefix: str = "") -> Settings:
    """Build settings: what is given, else the field's environment variable, else the default.

    Lists in variables have one item a line. With a `prefix`, the variables are `PDFOCR_<PREFIX><FIELD>`. Fields of
    settings inside settings have variables of their own names.

    Raises:
        ConfigurationError: a value is out of its bounds; the message names field and variable.
    """
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        value = given.get(name)
        if value is None:
            text = variable(prefix + name)
            value = text.splitlines() if text is not None and get_origin(field.annotation) is tuple else text
            if text is None and _is_settings(field.annotation):
                value = settings_from(field.annotation, {}, prefix=prefix)
        if value is not None:
            values[name] = value
    try:
        return model(**values)
    except ValidationError as error:
        problems = "; ".join(
            _told(problem["loc"], problem["msg"].removeprefix("Value error, "), prefix)
            for problem in error.errors(include_input=False)
        )
        raise ConfigurationError(
            f"These settings cannot be used: {problems}.",
            remedy="Correct them where they are set: as an option, in the run's configuration or as a variable.",
        ) from None


def _told(place: tuple[int | str, ...], words: str, prefix: str) -> str:
    """What is wrong with one field; a rule about several has no place."""
    if not place:
        return words
    return f"{'.'.join(map(str, place))} (PDFOCR_{f'{prefix}{place[0]}'.upper()}): {words}"
