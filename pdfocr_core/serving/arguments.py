"""Command-line arguments from several sources made into one list, later sources overriding earlier ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from pdfocr_core.errors import ConfigurationError

__all__ = ["from_options", "merge", "value_of", "without"]

_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
    "-O": "--compilation-config",
    "-asc": "--api-server-count",
}

Group = tuple[str, list[str]]


def merge(*sources: Sequence[str]) -> list[str]:
    """One argument list: a flag of a later source replaces the same flag of all earlier ones.

    Flags with several values come last, because such a flag takes everything up to the next one.

    Raises:
        ConfigurationError: a value stands where a flag is expected.
    """
    merged: dict[str, list[Group]] = {}
    for source in sources:
        own: dict[str, list[Group]] = {}
        for flag, values in _groups(source):
            own.setdefault(_key(flag), []).append((flag, values))
        merged.update(own)
    groups = [group for entries in merged.values() for group in entries]
    groups.sort(key=lambda group: len(group[1]) > 1)
    return [token for flag, values in groups for token in (flag, *values)]


def from_options(options: Mapping[str, object]) -> list[str]:
    """Arguments from named settings: `tensor_parallel_size=2` is `--tensor-parallel-size 2`; None leaves one out."""
    arguments: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            arguments.append(flag if value else "--no-" + flag[2:])
        elif isinstance(value, Mapping):
            arguments += [flag, json.dumps(dict(value))]
        elif isinstance(value, Iterable) and not isinstance(value, str):
            arguments += [flag, *map(str, value)]
        else:
            arguments += [flag, str(value)]
    return arguments


def value_of(arguments: Sequence[str], flag: str) -> str | None:
    """The value that a flag has in the list; empty for one without a value, None where it does not stand."""
    found = None
    for name, values in _groups(arguments):
        if _key(name) == flag:
            found = name.partition("=")[2] if "=" in name else (values[0] if values else "")
    return found


def without(arguments: Sequence[str], flag: str) -> list[str]:
    """The list without a flag and its values."""
    return [token for name, values in _groups(arguments) if _key(name) != flag for token in (name, *values)]


def _groups(arguments: Sequence[str]) -> list[Group]:
    groups: list[Group] = []
    for token in arguments:
        if _is_flag(token):
            groups.append((token, []))
        elif groups:
            groups[-1][1].append(token)
        else:
            raise ConfigurationError(
                f"The server argument {token!r} does not follow a flag.",
                remedy="Give server arguments as in --max-num-seqs 64; the model has its own setting.",
            )
    return groups


def _is_flag(token: str) -> bool:
    # A negative number is a value.
    return token.startswith("--") or (len(token) > 1 and token[0] == "-" and token[1].isalpha())


def _key(flag: str) -> str:
    """What a flag is compared by: `--no-x`, `--x=1` and `--x` are the same one, so are `-tp` and its long form."""
    name = flag.partition("=")[0]
    name = _SHORT.get(name, name).replace("_", "-")
    return "--" + name[5:] if name.startswith("--no-") else name
