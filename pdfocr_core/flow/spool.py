"""The pages of a group on their way from the order in which they were read to the order in which they are committed.

A group can be one document of a hundred thousand pages. Its records wait in a temporary file, and memory holds no more
of each than where it stands there.
"""

from __future__ import annotations

import tempfile
from types import TracebackType
from typing import Self

__all__ = ["Spool"]


class Spool:
    """Lines by document and page; of two for the same page the first stays. A context manager."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pdfocr-spool-")  # noqa: SIM115 - closed at the block's end
        self._places: dict[str, dict[int, tuple[int, int]]] = {}
        self.bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, document_id: str, page: int, line: bytes) -> None:
        """Keep the line of one page."""
        places = self._places.setdefault(document_id, {})
        if page not in places:
            places[page] = (self.bytes, len(line))
            self._file.write(line)
            self.bytes += len(line)

    def pages(self, document_id: str) -> int:
        """How many pages of a document are kept."""
        return len(self._places.get(document_id, ()))

    def line(self, document_id: str, page: int) -> bytes:
        """The line of one page.

        Raises:
            KeyError: there is none.
        """
        start, length = self._places[document_id][page]
        self._file.seek(start)
        return self._file.read(length)
