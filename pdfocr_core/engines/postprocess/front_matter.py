"""olmOCR's form: five facts about the page in YAML front matter, then the page's text."""

from __future__ import annotations

import re
from collections.abc import Callable

from pdfocr_core.engines.boxes import Picture
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.errors import PageError, Reason

__all__ = ["FRONT_MATTER_REGEX", "front_matter"]

# What a server that decodes by a grammar is held to. Only the header is fixed; the text after it is free.
FRONT_MATTER_REGEX = (
    r"---\nprimary_language: ([a-z]{2,3}|null)\n"
    r"is_rotation_valid: ([Tt]rue|[Ff]alse)\n"
    r"rotation_correction: (0|90|180|270)\n"
    r"is_table: ([Tt]rue|[Ff]alse)\n"
    r"is_diagram: ([Tt]rue|[Ff]alse)\n"
    r"---(\n(.|\n)*)?"
)

_FORM = re.compile(r"\A---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"""([A-Za-z_]\w*)[ \t]*:(?:[ \t]+("[^"]*"|'[^']*'|[^#\n]*?))?[ \t]*(?:[ \t]#.*)?""")
_TRUE = {"true", "yes", "on"}
_FALSE = {"false", "no", "off"}
_NULL = {"", "~", "null", "none"}
_LANGUAGE = re.compile(r"[^\W\d_][\w\- ()]{0,39}")


def front_matter(page: ParsedPage, _picture: Picture) -> ParsedPage:
    """Split the answer into its facts and its text.

    As strict as olmOCR is about keys and values, because a page with a broken header is a page that went wrong. One thing
    is read otherwise than YAML would: `no` is Norwegian, not false.

    Raises:
        PageError: there is no front matter, or a key is missing, foreign, doubled or has a value it cannot have.
    """
    match = _FORM.match(page.text)
    if match is None:
        raise _bad(f"no front matter at the start of {page.text[:60]!r}")
    values = _pairs(match[1])
    if set(values) != set(_KEYS):
        missing, foreign = set(_KEYS) - set(values), set(values) - set(_KEYS)
        raise _bad(
            "; ".join(
                f"{word} {', '.join(sorted(keys))}"
                for word, keys in (("without", missing), ("with foreign", foreign))
                if keys
            )
        )
    facts = {name: read(name, values[name]) for name, read in _KEYS.items()}
    language = facts.pop("primary_language")
    return page.but(text=page.text[match.end() :].strip(), language=language, **facts)


def _pairs(header: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in header.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise _bad(f"not a `key: value` line: {line[:60]!r}")
        if match[1] in values:
            raise _bad(f"{match[1]} stands twice")
        values[match[1]] = match[2] or ""
    return values


def _language(name: str, value: str) -> str | None:
    quoted = value[:1] in {"'", '"'}
    text = value[1:-1].strip() if quoted else value.strip()
    if text.casefold() in _NULL and not (quoted and text):
        return None
    if not _LANGUAGE.fullmatch(text):
        raise _bad(f"{name} is {value[:60]!r}")
    return text


def _truth(name: str, value: str) -> bool:
    word = value.strip().casefold()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise _bad(f"{name} is {value[:60]!r}, neither true nor false")


def _turn(name: str, value: str) -> int:
    text = value.strip()
    if text in {"0", "90", "180", "270"}:
        return int(text)
    raise _bad(f"{name} is {value[:60]!r}, not a quarter turn")


_KEYS: dict[str, Callable[[str, str], object]] = {
    "primary_language": _language,
    "is_rotation_valid": _truth,
    "rotation_correction": _turn,
    "is_table": _truth,
    "is_diagram": _truth,
}


def _bad(detail: str) -> PageError:
    return PageError(Reason.BAD_FRONT_MATTER, f"front matter: {detail}")
