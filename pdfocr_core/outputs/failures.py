"""What did not end well, by reason: how many, what to do about it, which command reads it again, a few examples."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from pdfocr_core.errors import remedy_for
from pdfocr_core.records import DocumentStatus, StatusRow

__all__ = ["Failure", "Failures", "retry_command"]

_EXAMPLES = 5


@dataclass(slots=True)
class Failure:
    """One reason.

    Attributes:
        kind: `documents` or `pages`.
        status: how these documents or pages ended.
    """

    kind: str
    status: str
    reason: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def remedy(self) -> str:
        """In plain words."""
        return remedy_for(self.reason)

    def add(self, count: int, example: str) -> None:
        """Count some more."""
        self.count += count
        if len(self.examples) < _EXAMPLES and example not in self.examples:
            self.examples.append(example)


class Failures:
    """Fills up one document at a time; keeps all counts and a few names."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], Failure] = {}

    def add(self, row: StatusRow) -> None:
        """Look at one document."""
        if row.status is not DocumentStatus.OK:
            self._of("documents", row.status.value, row.reason or "").add(1, row.url)
        status = "fallback" if not row.pages_failed else "failed" if not row.pages_fallback else "failed or fallback"
        for reason, pages in row.page_reasons.items():
            self._of("pages", status, reason).add(pages, row.url)

    def _of(self, kind: str, status: str, reason: str) -> Failure:
        return self._found.setdefault((kind, status, reason), Failure(kind, status, reason))

    def listed(self) -> list[Failure]:
        """Documents before pages, the most frequent first."""
        return sorted(self._found.values(), key=lambda one: (one.kind, -one.count, one.reason))


def retry_command(workspace: str, failure: Failure, options: Sequence[str] = ()) -> str:
    """What reads again the documents and pages with this reason; empty for what no retry would change.

    `options` say who reads.
    """
    if not failure.reason or failure.status in (DocumentStatus.FILTERED, DocumentStatus.SKIPPED):
        return ""
    return shlex.join(["pdfocr", "retry", workspace, "--reason", failure.reason, *options])
