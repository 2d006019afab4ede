"""Writes workspaces as olmOCR leaves them, from what its files are known to look like and nothing of ours."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import zstandard

Put = Callable[[str, bytes], None]


def item_hash(paths: Sequence[str]) -> str:
    """SHA-1 over the sorted paths, one after the other."""
    return hashlib.sha1("".join(sorted(paths)).encode(), usedforsecurity=False).hexdigest()


def dolma(source: str, pages: Sequence[str | None], *, fallback: Sequence[int] = (), **more: Any) -> dict[str, Any]:
    """One document; a page of None is blank, pages in `fallback` came from the text layer."""
    text, spans = "", []
    for number, page in enumerate(pages, start=1):
        start = len(text)
        if page is not None:
            text += page + ("\n" if number < len(pages) else "")
        spans.append([start, len(text), number])
    count = len(pages)
    return {
        "id": hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
        "text": text,
        "source": "olmocr",
        "added": more.get("created", "2999-01-01"),
        "created": more.get("created", "2999-01-01"),
        "metadata": {
            "Source-File": source,
            "olmocr-version": "0.4.27",
            "pdf-total-pages": count,
            "total-input-tokens": 1000 * count,
            "total-output-tokens": 100 * count,
            "total-fallback-pages": len(fallback),
        },
        "attributes": {
            "pdf_page_numbers": spans,
            "primary_language": [None if number in fallback else "en" for number in range(1, count + 1)],
            "is_rotation_valid": [True] * count,
            "rotation_correction": [0] * count,
            "is_table": [False] * count,
            "is_diagram": [False] * count,
        },
    }


class OlmocrMaker:
    """Collects work items and writes the workspace through `put(name, data)`."""

    def __init__(self, put: Put) -> None:
        self.put = put
        self.rows: list[list[str]] = []

    def item(
        self,
        paths: Sequence[str],
        results: Mapping[str, Sequence[str | None]] | None,
        *,
        done: bool = True,
        **more: Any,
    ) -> str:
        """One work item: pages by source path; None for an item without a results file. Returns its hash."""
        key = item_hash(paths)
        self.rows.append([key, *sorted(paths)])
        if results is not None:
            lines = [json.dumps(dolma(source, pages, **more)) for source, pages in results.items()]
            self.put(f"results/output_{key}.jsonl", "".join(line + "\n" for line in lines).encode())
        if done:
            self.put(f"done_flags/done_{key}.flag", b"")
        return key

    def finish(self) -> None:
        """Write the index."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.rows)
        self.put("work_index_list.csv.zstd", zstandard.ZstdCompressor().compress(text.getvalue().encode()))
