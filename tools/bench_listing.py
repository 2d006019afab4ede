"""How fast, and in how much memory, a bucket of many keys is listed and indexed. The store makes the keys up.

python tools/bench_listing.py 1000000
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from obstore.store import MemoryStore

from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.index import update_index
from pdfocr_core.store import Store, StoredObject
from pdfocr_core.workspace import open_workspace


class MadeUp(Store):
    """A bucket with any number of PDFs that exist in its listing only."""

    def __init__(self, keys: int) -> None:
        super().__init__(MemoryStore(), "s3://made-up")
        self._keys = keys

    def list(self, prefix: str = "", *, offset: str | None = None) -> Iterator[StoredObject]:  # noqa: ARG002
        """As many keys as were asked for, in the order of their names."""
        when = datetime(2030, 1, 1, tzinfo=UTC)
        for number in range(self._keys):
            yield StoredObject(f"{prefix}/{number // 1000:06}/{number:09}.pdf", 400_000, f'"{number:032x}"', when)


def main() -> None:
    """Index everything, then look again at the same bucket."""
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    store = MadeUp(keys)
    with tempfile.TemporaryDirectory() as folder:
        workspace = open_workspace(folder)
        for what in ("first indexing", "nothing new"):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.perf_counter()
            report = update_index(
                workspace, ["s3://made-up/in"], IndexSettings(count_pages=False), opener=lambda _: store
            )
            seconds = time.perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(
                f"{what}: {report.documents:,} keys, {report.new_documents:,} new, {len(report.groups):,} groups, "
                f"{seconds:.1f} s, {keys / seconds:,.0f} keys/s, peak memory {peak / 1024:,.0f} MiB "
                f"({(peak - before) * 1024 / keys:,.0f} bytes a key more than before)"
            )


if __name__ == "__main__":
    main()
