"""Ports for servers that tests start later, or for addresses where nobody may answer, beside tests in other processes."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_LOWEST, _TRIES = 10_000, 200


def _first_of_the_kernel() -> int:
    """Above this the kernel gives numbers to every connection and to whoever listens on port 0."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return 32_768


def quiet_port(host: str = "127.0.0.1") -> int:
    """A free port that nobody gets by chance between now and its use: not one of those that the kernel gives away.

    Chosen at random, so that tests in other processes choose others.
    """
    highest = max(_LOWEST + 1000, _first_of_the_kernel() - 1)
    chance = random.SystemRandom()
    for _ in range(_TRIES):
        port = chance.randint(_LOWEST, highest)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
        return port
    raise AssertionError(f"no free port of {host} between {_LOWEST} and {highest}")
