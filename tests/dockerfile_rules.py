"""What a Dockerfile of ours must keep: the rules that linters of Dockerfiles agree on, over a parsed file."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

from dockerfile_parse import DockerfileParser


def problems(text: str) -> list[str]:
    """What is wrong with it, a line each."""
    steps = [
        (step["instruction"], step["value"])
        for step in DockerfileParser(fileobj=io.BytesIO(text.encode())).structure
        if step["instruction"] != "COMMENT"
    ]
    return [*_bases(steps), *_steps(steps), *_end(steps)]


def _bases(steps: list[tuple[str, str]]) -> Iterator[str]:
    defaults = {name: value for what, line in steps if what == "ARG" for name, _, value in [line.partition("=")]}
    for what, value in steps:
        if what != "FROM":
            continue
        image = re.sub(r"\$\{(\w+)\}", lambda found: defaults.get(found[1], ""), value.split()[0])
        _, _, tag = image.partition(":")
        if not re.search(r"\d", tag) or "latest" in tag:
            yield f"FROM {image}: no version is pinned"


def _steps(steps: list[tuple[str, str]]) -> Iterator[str]:
    for what, value in steps:
        if what == "ADD":
            yield f"ADD {value}: COPY says what it does"
        if what in {"CMD", "ENTRYPOINT"} and not _is_list(value):
            yield f"{what} {value}: a shell would stand between the signal and the process"
        if what == "WORKDIR" and not value.startswith("/"):
            yield f"WORKDIR {value}: not absolute"
        if what in {"ENV", "ARG"} and re.search(r"(PASSWORD|SECRET|TOKEN|API_KEY)\w*=\S", value):
            yield f"{what} {value.partition('=')[0]}: a secret in an image"
        if what == "RUN":
            yield from _run(value)


def _run(value: str) -> Iterator[str]:
    for command in re.split(r"&&|\|\||;", value):
        words = command.split()
        if "apt-get" in words and "install" in words:
            for flag in {"--yes", "--no-install-recommends"} - set(words):
                yield f"RUN {command.strip()}: without {flag}"
            if "rm -rf /var/lib/apt/lists" not in value:
                yield f"RUN {command.strip()}: the lists stay in the layer"
        if words[:1] == ["apt"] or words[:1] == ["sudo"] or words[:1] == ["cd"]:
            yield f"RUN {command.strip()}: use apt-get, USER, WORKDIR"
        if "pip" in command and " install " in command and "--no-cache-dir" not in words:
            yield f"RUN {command.strip()}: the cache stays in the layer"
        if re.search(r"(curl|wget)\b.*\|", command):
            yield f"RUN {command.strip()}: what is fetched is run unseen"


def _end(steps: list[tuple[str, str]]) -> Iterator[str]:
    last_from = max(number for number, (what, _) in enumerate(steps) if what == "FROM")
    last = steps[last_from:]
    users = [value for what, value in last if what == "USER"]
    if not users or not users[-1].isdigit() or users[-1] == "0":
        yield "the image runs as root, or as a name that Kubernetes cannot check"
    if not any(what == "HEALTHCHECK" for what, _ in last):
        yield "no HEALTHCHECK"


def _is_list(value: str) -> bool:
    try:
        return isinstance(json.loads(value), list)
    except ValueError:
        return False
