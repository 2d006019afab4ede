"""Damaged variants of the samples through the whole document path, from the index to the books.

    PDFOCR_VARIANTS_SEED=7 python -m pytest -m nightly tests/faults/test_variants.py

Whatever the bytes are: the run ends, every document has exactly one status with a reason for whatever is not ok, the
books balance, and a good neighbour is whole.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from pdfocr_core.errors import Reason
from pdfocr_core.testing.server import MODEL, fault_server
from tests.documents import write_pdf
from tests.integration.conftest import SAMPLES, Command
from tests.variants import damaged, write_variants

SEED = os.environ.get("PDFOCR_VARIANTS_SEED", "1")
LIMITS = {
    "PDFOCR_RENDER_MEMORY_MB": "768",
    "PDFOCR_PAGE_RENDER_TIMEOUT_S": "10",
    "PDFOCR_OPEN_TIMEOUT_S": "10",
    "PDFOCR_LONGEST_SIDE_PX": "400",
}
ORIGINALS = sorted(path for path in SAMPLES.iterdir() if path.suffix in (".pdf", ".tiff", ".jpg", ".gz"))


def read_variants(folder: Path, count: int) -> str:
    """Read `count` variants by one run and check what must hold; returns what was seen, for people."""
    pdfocr = Command(folder)
    sources = folder / "sources"
    variants = list(write_variants(sources, ORIGINALS, count, SEED))
    write_pdf(sources / "zz_neighbour.pdf", ["The neighbour is whole"])
    with fault_server() as server:
        remote = ("--engine", "remote", "--model", MODEL, "--server", server.url, "--quiet")
        done = pdfocr("run", sources, *remote, "--workspace", pdfocr.workspace, code=None, extra_environment=LIMITS)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    books = pdfocr.books()
    assert books["balanced"]
    assert books["pending"] == 0
    rows = pdfocr.status_rows(sources)
    lines = sum(len(path.read_text().splitlines()) for path in (pdfocr.workspace / "status").glob("*.jsonl"))
    assert lines == len(rows) == books["documents"]
    assert rows["zz_neighbour.pdf"]["status"] == "ok"
    # An archive of which nothing is left as a document may be passed by at indexing; any other file has its row.
    files = {name.partition("::")[0] for name in rows}
    assert {path.name for path in variants if path.suffix != ".gz"} <= files
    for name, row in rows.items():
        if row["status"] != "ok":
            assert row["reason"] in set(Reason), (name, row)
            assert row["reason"] != Reason.INTERNAL_ERROR, (name, row)
            assert row["remedy"], (name, row)
            # A damaged file is told as damaged; only native code may crash, and that is said in these words.
            assert row["reason"] != Reason.RENDERER_CRASHED or row["detail"].startswith("The renderer"), (name, row)
        assert Reason.INTERNAL_ERROR not in row["page_reasons"], (name, row)
    statuses = Counter(f"{row['status']} {row['reason'] or ''}".strip() for row in rows.values())
    pages = Counter(reason for row in rows.values() for reason in row["page_reasons"])
    return f"seed {SEED}: {count} variants, {len(rows)} documents: {json.dumps(statuses)}; pages: {json.dumps(pages)}"


def test_damaged_variants_end_with_a_status_each(tmp_path: Path) -> None:
    print(read_variants(tmp_path, 30))


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_a_thousand_damaged_variants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = read_variants(tmp_path, 1000)
    with capsys.disabled():
        print(f"\n{said}")


def test_a_variant_is_made_again_from_its_number() -> None:
    data = ORIGINALS[0].read_bytes()
    assert damaged(data, "1/5") == damaged(data, "1/5") != data
    assert damaged(data, "1/6") != damaged(data, "1/5")
