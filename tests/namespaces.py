"""Machines of their own, as far as the network goes: Linux network namespaces on one bridge.

The test itself is the machine at `host`; worker K is in the namespace `<name>wK` at an address of its own, and its cable
can be pulled. Needs root.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class NoNamespacesError(Exception):
    """Network namespaces may not be made here."""


class Machines:
    """So many machines beside the test's own."""

    def __init__(self, count: int) -> None:
        number = os.getpid() % 0xFFFF
        self.name = f"po{number:04x}"  # names of devices have at most 15 letters
        self._net = f"10.{64 + number % 64}.{number // 64 % 256}"
        self.host = f"{self._net}.1"
        self.names = [f"{self.name}w{place}" for place in range(count)]
        self.addresses = {name: f"{self._net}.{place + 2}" for place, name in enumerate(self.names)}

    def build(self) -> None:
        _ip("link", "add", self.name, "type", "bridge")
        _ip("address", "add", f"{self.host}/24", "dev", self.name)
        _ip("link", "set", self.name, "up")
        for name, address in self.addresses.items():
            _ip("netns", "add", name)
            _ip("link", "add", self._cable(name), "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", self._cable(name), "master", self.name, "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")

    def cut(self, name: str) -> None:
        """Pull the cable: nothing comes or goes, and nobody is told."""
        _ip("link", "set", self._cable(name), "nomaster")

    def mend(self, name: str) -> None:
        _ip("link", "set", self._cable(name), "master", self.name)

    def remove(self) -> None:
        for name in self.names:
            with suppress(RuntimeError):
                _ip("netns", "delete", name)
        with suppress(RuntimeError):
            _ip("link", "delete", self.name)

    @staticmethod
    def _cable(name: str) -> str:
        return f"{name}c"


@contextmanager
def machines(count: int) -> Iterator[Machines]:
    """Machines for a test.

    Raises:
        NoNamespacesError: they cannot be made here.
    """
    made = Machines(count)
    try:
        made.build()
    except (RuntimeError, OSError) as error:
        made.remove()
        raise NoNamespacesError(f"network namespaces cannot be made here: {error}") from error
    try:
        yield made
    finally:
        made.remove()


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
