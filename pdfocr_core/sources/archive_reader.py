"""Members of one archive by index, in as few passes over the archive as the order of asking allows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pdfocr_core.errors import DocumentError, Reason
from pdfocr_core.settings import ArchiveLimits
from pdfocr_core.sources.archive_listing import member_name_matches
from pdfocr_core.sources.archives import iter_members
from pdfocr_core.sources.member import Member
from pdfocr_core.sources.opening import Opened, Stores
from pdfocr_core.sources.sniff import HEAD_BYTES, sniff
from pdfocr_core.store import is_url

__all__ = ["ArchiveReader"]

# Threads ask for members slightly out of order. With one pass each step back would start the archive again; a few
# passes at different places absorb that.
_PASSES = 4


class ArchiveReader:
    """Reads members of one archive at one version; one thread at a time, the others wait.

    Attributes:
        users: how many threads hold this reader now; kept by its owner.
    """

    def __init__(self, url: str, version: str, stores: Stores, limits: ArchiveLimits) -> None:
        self.users = 0
        self.passes_started = 0
        self._url = url
        self._version = version
        self._stores = stores
        self._limits = limits
        self._lock = threading.Lock()
        self._passes: list[_Pass] = []

    def close(self) -> None:
        """Close the archive; a later call opens it again."""
        with self._lock:
            while self._passes:
                self._passes.pop().close()

    @contextmanager
    def member(self, index: int, name: str) -> Iterator[Member]:
        """One member, to be read inside the `with`.

        Raises:
            DocumentError: the archive is gone or another one now, or is damaged before or in the member.
        """
        with self._lock:
            self._check()
            current = self._pass_before(index)
            try:
                member = current.advance(index)
                if member is None or not member_name_matches(name, member.name):
                    raise DocumentError(Reason.SOURCE_CHANGED, f"Member {index} of {self._url} is no longer {name}.")
                yield member
                self._check()
            except BaseException:
                # A pass that failed in the middle is at no known place.
                self._passes.remove(current)
                current.close()
                raise

    def _check(self) -> None:
        """Objects in stores are checked with every range that is read; a local file is looked at here."""
        if not is_url(self._url):
            self._compare(self._stores.version(self._url))

    def _compare(self, now: str) -> None:
        if now != self._version:
            raise DocumentError(Reason.SOURCE_CHANGED, f"{self._url} was indexed as {self._version} and is {now} now.")

    def _start(self) -> _Pass:
        opened = self._stores.open(self._url)
        try:
            self._compare(opened.version)
            started = _Pass(opened, self._limits)
        except BaseException:
            opened.stream.close()
            raise
        self.passes_started += 1
        return started

    def _pass_before(self, index: int) -> _Pass:
        """The pass that is nearest before the member, most recently used last; a new one when all are past it."""
        able = [candidate for candidate in self._passes if candidate.next_index <= index]
        if able:
            best = max(able, key=lambda candidate: candidate.next_index)
            self._passes.remove(best)
        else:
            best = self._start()
            if len(self._passes) >= _PASSES:
                self._passes.pop(0).close()
        self._passes.append(best)
        return best


class _Pass:
    """One way through the archive from its first member to its last."""

    def __init__(self, opened: Opened, limits: ArchiveLimits) -> None:
        self.next_index = 0
        self._stream = opened.stream
        kind = sniff(self._stream.read(HEAD_BYTES))
        self._stream.seek(0)
        self._members = iter_members(self._stream, kind, limits)

    def advance(self, index: int) -> Member | None:
        """Go on to the member of that index; None when the archive has no such member."""
        for member in self._members:
            self.next_index = member.index + 1
            if member.index == index:
                return member
            if member.index > index:
                break
        return None

    def close(self) -> None:
        self._stream.close()
