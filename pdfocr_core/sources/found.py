"""What a look at the sources found: one entry for each file or object, before archives are opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pdfocr_core.documents import Document
from pdfocr_core.errors import Reason
from pdfocr_core.sources.judge import What
from pdfocr_core.sources.sniff import Kind

__all__ = ["Found", "IsKnown", "nothing_known"]

IsKnown = Callable[[str, str], bool]
"""Whether a URL is already indexed at a version; what is known is not read again."""


def nothing_known(_url: str, _version: str) -> bool:
    """For a first look."""
    return False


@dataclass(frozen=True, slots=True)
class Found:
    """One file or object.

    Attributes:
        url: absolute path or object URL.
        version: see `Document`.
        bytes: its size.
        what: document, archive, or ignored.
        kind: what its first bytes say; None when they were not read.
        named: the user named this very thing.
        known: it is already indexed at this version, so `what` and `kind` were not looked at.
        pages: pages as far as they are known.
        problem: why it cannot be read.
        detail: what was found, for people.
    """

    url: str
    version: str
    bytes: int
    what: What = What.DOCUMENT
    kind: Kind | None = None
    named: bool = False
    known: bool = False
    pages: int = 0
    problem: Reason | None = None
    detail: str = ""

    @property
    def document(self) -> Document:
        """The document that this becomes."""
        problem = self.problem.value if self.problem else None
        return Document(self.url, self.version, self.bytes, self.pages, problem=problem, detail=self.detail)
