"""How fast, and in how much memory, a bucket of many keys is listed and indexed. The store makes the keys up.

python tools/bench_listing.py [keys]

What grows with the keys is told apart from what one batch of the index takes: the same is done with few keys first.
"""

from __future__ import annotations

import json
import resource
import subprocess
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

_PER_FOLDER = 1000
_FEW = 100_000  # two batches
_SOURCES = {
    "one prefix": ["s3://made-up/in"],
    "several prefixes": [f"s3://made-up/in/{first}" for first in range(10)],
    "prefixes that overlap": ["s3://made-up/in", "s3://made-up/in/0"],
}


class MadeUp(Store):
    """A bucket with any number of PDFs that exist in its listing only."""

    def __init__(self, keys: int) -> None:
        super().__init__(MemoryStore(), "s3://made-up")
        self._keys = keys

    def list(self, prefix: str = "", *, offset: str | None = None) -> Iterator[StoredObject]:  # noqa: ARG002
        """The keys below a folder, in the order of their names."""
        when = datetime(2030, 1, 1, tzinfo=UTC)
        for first in prefix.split("/")[1:2] or map(str, range(10)):
            for number in range(self._keys // 10):
                name = f"in/{first}/{number // _PER_FOLDER:06}/{number:09}.pdf"
                yield StoredObject(name, 400_000, f'"{first}{number:031x}"', when)


def measure(sources: list[str], keys: int, folder: str) -> None:
    """Index in this process and print what it took."""
    store = MadeUp(keys)
    workspace = open_workspace(folder)
    started = time.perf_counter()
    report = update_index(workspace, sources, IndexSettings(count_pages=False), opener=lambda _: store)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - started,
                "cpu": time.process_time(),
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "documents": report.documents,
                "new": report.new_documents,
                "groups": len(report.groups),
            }
        )
    )


def measured(what: str, keys: int, folder: str) -> dict[str, float]:
    """The same in a process of its own, whose memory is that of this indexing alone."""
    done = subprocess.run([sys.executable, __file__, what, str(keys), folder], check=True, stdout=subprocess.PIPE)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Index everything, then look again at the same bucket, with few keys and with many."""
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for what in _SOURCES:
        with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
            for turn in ("first indexing", "nothing new"):
                small, large = measured(what, _FEW, few), measured(what, keys, many)
                grown = (large["peak"] - small["peak"]) / (keys - _FEW)
                print(
                    f"{what}, {turn}: {keys:,} keys, {large['new']:,} new, {large['groups']:,} groups, "
                    f"{large['seconds']:.0f} s, {keys / large['seconds']:,.0f} keys/s "
                    f"({keys / large['cpu']:,.0f} a second of the processor), "
                    f"peak memory {large['peak'] / 1024**2:,.0f} MiB, {grown:.1f} bytes a key",
                    flush=True,
                )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        measure(_SOURCES[sys.argv[1]], int(sys.argv[2]), sys.argv[3])
    else:
        main()
