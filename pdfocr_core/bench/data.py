"""A folder of olmOCR-Bench: `pdfs/**.pdf`, one JSONL file of tests per category, a folder per candidate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pdfocr_core.bench.cases import BaselineCase, Case, load_cases
from pdfocr_core.errors import ConfigurationError
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import RenderSettings

__all__ = ["BASELINE", "BenchData", "open_bench"]

BASELINE = "baseline"
"""The category of the tests that every PDF gets which has no baseline test of its own."""


@dataclass(frozen=True, slots=True)
class BenchData:
    """Documents and tests.

    Attributes:
        root: the folder.
        pdfs: all PDFs by their path below `pdfs/`.
        categories: tests by the name of the file that holds them; `baseline` for those that no file holds.
    """

    root: Path
    pdfs: dict[str, Path]
    categories: dict[str, list[Case]]

    def cases(self) -> Iterator[tuple[str, Case]]:
        """Every test with its category."""
        for category, cases in self.categories.items():
            for case in cases:
                yield category, case

    def pages(self) -> dict[str, list[int]]:
        """The tested pages of every PDF."""
        found: dict[str, set[int]] = {name: set() for name in self.pdfs}
        for _category, case in self.cases():
            found[case.pdf].add(case.page)
        return {name: sorted(pages) for name, pages in found.items()}

    def candidate_folders(self) -> list[Path]:
        """Every folder beside `pdfs`: what someone has read."""
        return sorted(path for path in self.root.iterdir() if path.is_dir() and path.name != "pdfs")


def open_bench(path: Path, *, baseline: bool = True, every_page: bool = True) -> BenchData:
    """Read a benchmark's tests; of a single category where the path is a JSONL file.

    Args:
        path: the folder, or one of its JSONL files.
        baseline: add the baseline tests; without them those in the files are left out too.
        every_page: refuse pages that no test is about.

    Raises:
        ConfigurationError: it is no benchmark, or its tests and its PDFs do not fit.
    """
    root = path.parent if path.is_file() else path
    folder = root / "pdfs"
    pdfs = {found.relative_to(folder).as_posix(): found for found in sorted(folder.rglob("*.pdf")) if found.is_file()}
    files = [path] if path.is_file() else sorted(path.glob("*.jsonl"))
    if not pdfs or not files:
        raise ConfigurationError(
            f"{path} is no benchmark: {'no PDF below pdfs/' if not pdfs else 'no *.jsonl'} in it.",
            remedy="Name a folder with pdfs/ and *.jsonl, as `allenai/olmOCR-bench` has them in bench_data/.",
        )
    categories = {file.name: load_cases(file) for file in files}
    for name, cases in categories.items():
        strange = next((case for case in cases if case.pdf not in pdfs), None)
        if strange is not None:
            raise ConfigurationError(
                f"Test {strange.id} of {name} is about {strange.pdf}, which is not in {folder}.",
                remedy="Fetch the PDF, or leave the test out.",
            )
    own = {case.pdf for cases in categories.values() for case in cases if isinstance(case, BaselineCase)}
    added: list[Case] = [
        BaselineCase(pdf=pdf, page=1, id=f"{pdf}_baseline", type="baseline") for pdf in pdfs if pdf not in own
    ]
    data = BenchData(root, pdfs, {**categories, **({BASELINE: added} if added else {})})
    if every_page:
        _check_pages(data)
    if baseline:
        return data
    kept: dict[str, list[Case]] = {}
    for category, case in data.cases():
        if case.type != BASELINE:
            kept.setdefault(category, []).append(case)
    return BenchData(root, pdfs, kept)


def _check_pages(data: BenchData) -> None:
    with RenderPool(RenderSettings(workers=1)) as pool:
        counts = pool.count_pages_sync([str(path) for path in data.pdfs.values()])
    for (pdf, pages), count in zip(data.pages().items(), counts, strict=True):
        bare = next((page for page in range(1, (count or 0) + 1) if page not in pages), None)
        if bare is not None:
            raise ConfigurationError(
                f"No test is about page {bare} of {pdf}.",
                remedy="Add one, or say --force to leave pages without a test.",
            )
