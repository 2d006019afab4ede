"""How many connections this process may hold: every page in flight is one, and systems allow 256 or 1024 at first."""

from __future__ import annotations

import resource

__all__ = ["connections_possible"]

_OTHERS = 256  # databases, logs, pipes, and what libraries open


def connections_possible(wanted: int) -> int:
    """Raise the process's soft limit of open files as far as needed and allowed.

    Args:
        wanted: connections at once.

    Returns:
        As many of them as are possible.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHERS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (OSError, ValueError):
        raised = soft  # a kernel may allow less than its hard limit says
    return max(1, min(wanted, raised - min(_OTHERS, raised // 2)))
