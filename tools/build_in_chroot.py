"""Run every step of a Dockerfile in plain Debian roots, where no container engine is at hand.

    python -m tools.build_in_chroot docker/Dockerfile [--into DIR] [--arg NAME=VALUE] [-- COMMAND ARG ...]

Each stage starts from a root that `debootstrap` made; RUN lines run in it by `chroot`, COPY takes from the repository
or from an earlier stage, ARG, ENV, WORKDIR and USER are kept. What follows `--` is run at the end in the last stage,
as the image would run it. Prints the size of the last stage. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dockerfile_parse import DockerfileParser

REPOSITORY = Path(__file__).absolute().parents[1]
RELEASE = "bookworm"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_APT_CLEAN = 'APT::Keep-Downloaded-Packages "false"; Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";\n'
# How this machine reaches its package index and its mirror, which is no part of the image.
_PASSED = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
_MACHINE_FILES = ("/etc/resolv.conf", "/etc/apt/sources.list.d", "/etc/pip.conf", "/etc/xdg/pip")
_BUNDLE, _BUNDLE_INSIDE = Path("/etc/ssl/certs/ca-certificates.crt"), "/etc/machine-certificates.pem"


@dataclass
class Stage:
    """A root file system on its way to an image."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    arguments: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0"

    def expand(self, text: str) -> str:
        """The text with ${NAME} and $NAME replaced, as a Dockerfile has them."""
        known = self.arguments | self.environment
        return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: known.get(found[1] or found[2], ""), text)

    def inside(self, path: str) -> Path:
        """Where a path of the image lies on this machine."""
        absolute = path if path.startswith("/") else f"{self.folder.rstrip('/')}/{path}"
        return self.root / absolute.lstrip("/")

    def run(self, argv: Sequence[str]) -> None:
        """Run a command inside, as the stage's user, in its folder."""
        passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED)}
        # Under a name of its own: installing ca-certificates writes the usual one anew.
        passed |= dict.fromkeys(("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), _BUNDLE_INSIDE)
        home = "/root" if self.user == "0" else f"/home/{self.user}"
        variables = {"HOME": home, "DEBIAN_FRONTEND": "noninteractive"} | self.arguments | self.environment | passed
        script = f"cd {shlex.quote(self.folder)} && exec {shlex.join(argv)}"
        who = [] if self.user == "0" else [f"--userspec={self.user}:{self.user}"]
        with _mounted(self.root):
            subprocess.run(["chroot", *who, str(self.root), "/bin/sh", "-c", script], env=variables, check=True)


@contextmanager
def _mounted(root: Path) -> Iterator[None]:
    mounts = [
        ["-t", "proc", "proc", str(root / "proc")],
        # Private: what is mounted below must not show in this machine's own /dev.
        ["--bind", "--make-private", "/dev", str(root / "dev")],
        ["-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(root / "dev" / "shm")],
    ]
    for mount in mounts:
        subprocess.run(["mount", *mount], check=True)
    try:
        yield
    finally:
        for mount in reversed(mounts):
            subprocess.run(["umount", "--lazy", mount[-1]], check=True)


def base_root(folder: Path) -> Path:
    """A plain Debian, made once."""
    base = folder / f"base-{RELEASE}"
    if not base.exists():
        fresh = folder / "base-new"
        shutil.rmtree(fresh, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", RELEASE, str(fresh)], check=True, stdout=sys.stderr)
        # As in the official images: apt keeps no packages and no cache of its own.
        (fresh / "etc/apt/apt.conf.d/docker-clean").write_text(_APT_CLEAN, encoding="ascii")
        subprocess.run(["chroot", str(fresh), "apt-get", "clean"], check=True)
        fresh.rename(base)
    return base


def _reach_the_network(root: Path) -> None:
    shutil.copy(_BUNDLE, root / _BUNDLE_INSIDE.lstrip("/"))
    for name in _MACHINE_FILES:
        source, target = Path(name), root / name.lstrip("/")
        if not source.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            target.unlink(missing_ok=True)
            shutil.copy(source, target)


def build(dockerfile: Path, folder: Path, given: Mapping[str, str]) -> Stage:
    """Carry out a Dockerfile; returns its last stage."""
    base = base_root(folder)
    stages: dict[str, Stage] = {}
    defaults: dict[str, str] = {}
    stage: Stage | None = None
    with dockerfile.open("rb") as stream:
        steps = DockerfileParser(fileobj=stream).structure
    for step in steps:
        what, value = step["instruction"], step["value"]
        if what == "COMMENT":
            continue
        print(f"{what} {value[:110]}", file=sys.stderr, flush=True)
        if what == "FROM":
            name = (
                re.sub(r".*\bAS\b\s*", "", value, flags=re.IGNORECASE) if " as " in value.lower() else str(len(stages))
            )
            root = folder / f"{dockerfile.name}-{name}"
            shutil.rmtree(root, ignore_errors=True)
            subprocess.run(["cp", "--archive", str(base), str(root)], check=True)
            _reach_the_network(root)
            stage = stages[name] = Stage(root, arguments=dict(defaults))
        elif stage is None:
            name, _, default = value.partition("=")
            defaults[name] = given.get(name, default)
        else:
            _step(stage, what, value, stages, given)
    if stage is None:
        raise SystemExit(f"{dockerfile} has no FROM.")
    return stage


def _step(stage: Stage, what: str, value: str, stages: Mapping[str, Stage], given: Mapping[str, str]) -> None:
    match what:
        case "RUN":
            stage.run(["/bin/sh", "-c", value])
        case "COPY":
            _copy(stage, shlex.split(stage.expand(value)), stages)
        case "ARG":
            name, _, default = value.partition("=")
            stage.arguments[name] = given.get(name, default)
        case "ENV":
            for pair in shlex.split(value):
                name, _, text = pair.partition("=")
                stage.environment[name] = stage.expand(text)
        case "WORKDIR":
            stage.inside(value).mkdir(parents=True, exist_ok=True)
            stage.folder = "/" + str(stage.inside(value).relative_to(stage.root))
        case "USER":
            stage.user = value
        case "LABEL" | "EXPOSE" | "HEALTHCHECK" | "ENTRYPOINT" | "CMD":
            pass
        case _:
            raise SystemExit(f"{what} is not known here.")


def _copy(stage: Stage, words: Sequence[str], stages: Mapping[str, Stage]) -> None:
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    *sources, last = [word for word in words if not word.startswith("--")]
    origin = stages[options["from"]].root if "from" in options else REPOSITORY
    target = stage.inside(last)
    for source in sources:
        found = origin / source.lstrip("/")
        into = target / found.name if last.endswith("/") or len(sources) > 1 else target
        into.parent.mkdir(parents=True, exist_ok=True)
        if found.is_dir():
            shutil.copytree(
                found, into, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(found, into)
        if "chown" in options:
            where = "/" + str(into.relative_to(stage.root))
            subprocess.run(["chroot", str(stage.root), "chown", "-R", options["chown"], where], check=True)


def size_mb(root: Path) -> float:
    """What the files of a root take, in MB, without what was mounted."""
    found = subprocess.run(["du", "-sb", "--one-file-system", str(root)], check=True, capture_output=True, text=True)
    return int(found.stdout.split()[0]) / 1e6


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before `--` and what behind it."""
    if "--" not in words:
        return words, []
    here = words.index("--")
    return words[:here], words[here + 1 :]


def main() -> None:
    """Build, and run a command in the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dockerfile", type=Path)
    parser.add_argument("--into", type=Path, help="folder for the roots; default: a temporary one")
    parser.add_argument("--arg", action="append", default=[], help="NAME=VALUE, as --build-arg")
    ours, command = _split(sys.argv[1:])
    options = parser.parse_args(ours)
    if os.geteuid() != 0:
        raise SystemExit("chroot and mount need root.")
    given = dict(argument.split("=", 1) for argument in options.arg)
    folder = options.into or Path(tempfile.mkdtemp(prefix="pdfocr-images-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        stage = build(options.dockerfile, folder, given)
        print(json.dumps({"dockerfile": str(options.dockerfile), "megabytes": round(size_mb(stage.root))}))
        if command:
            stage.run(command)
    finally:
        if options.into is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
