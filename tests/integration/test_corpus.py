"""A corpus of real documents, good and bad: each file ends as its manifest says.

The corpus is not part of this repository. `PDFOCR_CORPUS` says where it is; see its manifest for the form.
"""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pdfocr_core.workspace import open_workspace
from tests.counting_server import counting_server
from tests.integration.conftest import Command
from tests.memory import Peak, peak_of_tree

CORPUS = Path(os.environ.get("PDFOCR_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")

pytestmark = pytest.mark.skipif(
    not (CORPUS / "manifest.csv").exists(), reason="no corpus: set PDFOCR_CORPUS to a folder with a manifest.csv"
)

# Every file that must not end as `ok`, with its reason; archives stand for the rows of their own.
REJECTED = {
    "broken/Pages-tree-refs.pdf": "pages_failed",
    "broken/actually_a_doc.pdf": "not_a_pdf",
    "broken/corrupted.pdf": "corrupt_pdf",
    "broken/deep-pages.pdf": "pages_failed",
    "broken/empty_0_bytes.pdf": "empty_file",
    "broken/header_only_invalid.pdf": "corrupt_pdf",
    "broken/page_0x0_cropped_no_overlap.pdf": "pages_failed",
    "broken/truncated_download_issue-301.pdf": "truncated",
    "broken/zero_pages.pdf": "no_pages",
    "encrypted/AESkeylength128_certificate.pdf": "unsupported_encryption",
    "encrypted/password.pdf": "password_required",
    "encrypted/r6-user-password.pdf": "password_required",
    "encrypted/test_user.pdf": "password_required",
    "images/simple.heic": "unsupported_image",
    "tarballs/empty.tar": "empty_archive",
    "tarballs/not_a_tar.tar.gz": "not_an_archive",
    "tarballs/truncated.tar.gz": "archive_truncated",
}
MEMBERS = {  # documents of archives that end as `ok`
    "tarballs/duplicate_names.tar.gz": 4,
    "tarballs/nested.tar": 1,
    "tarballs/path_traversal.tar": 1,
    "tarballs/plain.tar": 4,
    "tarballs/several_subdirs.tar.gz": 4,
    "tarballs/symlinks.tar": 2,  # two regular members; the links are never followed
}


def manifest() -> list[dict[str, str]]:
    with (CORPUS / "manifest.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Below the defaults, so that a file that needs more is noticed; the machine may be busy, so the clocks are not tight.
MEMORY_MB, RENDER_S, OPEN_S, DOCUMENT_S = 2048, 60, 60, 300
LIMITS = {
    "PDFOCR_RENDER_MEMORY_MB": str(MEMORY_MB),
    "PDFOCR_PAGE_RENDER_TIMEOUT_S": str(RENDER_S),
    "PDFOCR_OPEN_TIMEOUT_S": str(OPEN_S),
    "PDFOCR_DOCUMENT_DEADLINE_S": str(DOCUMENT_S),
}
LIMITED = ("broken", "encrypted", "odd", "tarballs")


@dataclass
class Finished(Command):
    peak: Peak = field(default_factory=Peak)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    pdfocr = Command(tmp_path_factory.mktemp("corpus"))
    with counting_server() as server:
        remote = ("--engine", "remote", "--model", "pdfocr-cpu", "--server", server.url)
        place = ("--text-layer", "prefer", "--workspace", pdfocr.workspace)
        process = pdfocr.start("run", CORPUS, *place, *remote, extra_environment=LIMITS)
        with peak_of_tree(process.pid) as peak:
            stdout, stderr = process.communicate()
    assert process.returncode == 3, stdout + stderr
    return Finished(pdfocr.folder, peak=peak)


@pytest.fixture(scope="module")
def rows(finished: Command) -> dict[str, list[dict[str, Any]]]:
    """Status rows by file of the corpus; an archive's file has the rows of its members too."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, row in finished.status_rows(CORPUS).items():
        found.setdefault(name.split("::")[0], []).append(row)
    return found


def test_every_file_of_the_manifest_ends_in_exactly_one_status(
    finished: Command, rows: dict[str, list[dict[str, Any]]]
) -> None:
    assert finished.books()["balanced"]
    for entry in manifest():
        of_file = rows[entry["path"]]
        if entry["class"] != "tarballs":
            assert len(of_file) == 1, entry["path"]


def test_what_must_open_opens_and_what_must_not_says_why(rows: dict[str, list[dict[str, Any]]]) -> None:
    wrong = {}
    for entry in manifest():
        reasons = {row["reason"] for row in rows[entry["path"]] if "::" not in row["url"] or row["reason"] is None}
        expected = REJECTED.get(entry["path"])
        if expected is None:
            wrong.update({entry["path"]: reasons} if reasons != {None} else {})
        elif expected not in {row["reason"] for row in rows[entry["path"]]}:
            wrong[entry["path"]] = reasons
    assert wrong == {}


def test_no_file_takes_longer_than_its_deadline_or_more_than_its_memory(
    finished: Finished, rows: dict[str, list[dict[str, Any]]]
) -> None:
    assert 0 < finished.peak.drawing_mb <= MEMORY_MB
    print(f"{finished.peak.drawing_mb:.0f} MiB at most in one drawing process, {finished.peak.mb:.0f} in all processes")
    workspace = open_workspace(str(finished.workspace))
    times: dict[str, list[datetime]] = {}
    for key in workspace.group_keys():
        for page in workspace.read_durable(key):
            moments = times.setdefault(page.document_id, [])
            moments += [datetime.fromisoformat(page.started_at), datetime.fromisoformat(page.finished_at)]
    looked_at = 0
    for entry in manifest():
        if entry["class"] not in LIMITED:
            continue
        for row in rows[entry["path"]]:
            looked_at += 1
            moments = times.get(row["document_id"], [])
            seconds = (max(moments) - min(moments)).total_seconds() if moments else 0.0
            assert seconds <= DOCUMENT_S, (entry["path"], seconds)
            # Every clock that could have rung would have left its reason.
            clocks = {"renderer_timeout", "renderer_memory", "document_deadline", "page_deadline"}
            assert not clocks & {row["reason"], *row["page_reasons"]}, (entry["path"], row)
    print(f"{looked_at} documents within {DOCUMENT_S} s and {MEMORY_MB} MiB each")
    assert looked_at > len(LIMITED)


def test_archives_give_their_documents(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert {name: sum(row["status"] == "ok" for row in rows[name]) for name in MEMBERS} == MEMBERS


def test_page_counts_are_those_of_the_manifest(rows: dict[str, list[dict[str, Any]]]) -> None:
    counted = {
        entry["path"]: int(entry["pages"])
        for entry in manifest()
        if entry["pages"] and entry["path"] not in REJECTED and not entry["password"]
    }
    assert {name: rows[name][0]["pages"] for name in counted} == counted


def test_a_blank_page_stays_empty(finished: Command, rows: dict[str, list[dict[str, Any]]]) -> None:
    assert rows["odd/blanktext.pdf"][0]["pages_blank"] == 1


def test_phrases_of_sound_text_layers_are_found(finished: Command) -> None:
    texts: dict[str, dict[int, str]] = {}
    for record in finished.dolma():
        spans = record["attributes"]["pdf_page_numbers"]
        texts[record["metadata"]["Source-File"]] = {page: record["text"][start:end] for start, end, page in spans}
    asked, missing = 0, []
    for entry in manifest():
        if entry["must_basis"] != "pdfium text layer" or entry["password"]:
            continue
        pages = texts.get(str(CORPUS / entry["path"]), {})
        for item in filter(None, entry["must_contain"].split("|")):
            page, _, phrase = item.partition(":")
            asked += 1
            if plain(phrase) not in plain(pages.get(int(page), "")):
                missing.append(f"{entry['path']} {item}")
    print(f"{asked - len(missing)} of {asked} phrases found")
    assert len(missing) <= 0.05 * asked, missing


def plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"(\w)[-‐]\s*\n\s*(\w)", r"\1\2", text)
    text = re.sub(r"<[^>]+>|[*_#|]", " ", text)
    for fancy, simple in (("“", '"'), ("”", '"'), ("’", "'"), ("‘", "'"), ("–", "-"), ("—", "-"), ("∼", "~")):
        text = text.replace(fancy, simple)
    return re.sub(r"\s+", " ", text).casefold()
