"""The asset `bench_scores`: how good the text of each engine is, beside what it cost.

It is there only where `PDFOCR_BENCH_DATA` names a folder of olmOCR-Bench when the code location is loaded. Its partitions
are the candidates: the collection's own workspace, and what `PDFOCR_BENCH_CANDIDATES` names, one `name=place` a line, where
a place is a workspace or a folder of Markdown. Score and cost of a partition are plotted over its materializations, so a
change of model shows in both.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import dagster as dg
from pydantic import BaseModel

from pdfocr_core.bench.candidates import Candidate, MarkdownFolder, WorkspacePages
from pdfocr_core.bench.data import BenchData, open_bench
from pdfocr_core.bench.html import bench_html
from pdfocr_core.bench.katex import formulas
from pdfocr_core.bench.score import Score, run_bench
from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_core.outputs.pictures import PagePictures
from pdfocr_core.store import is_url
from pdfocr_core.workspace import open_workspace
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.failing import failure
from pdfocr_dagster.partitions import asset_key
from pdfocr_dagster.resources import InferenceServer, PageSettings
from pdfocr_dagster.status import prices_of
from pdfocr_dagster.storage import WorkspaceResource

__all__ = ["OWN", "BenchSettings", "bench_settings", "build_bench_scores"]

OWN = "workspace"
"""The partition of the collection's own workspace."""

_SHOWN = 50  # failed pages in the HTML file
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BenchSettings(BaseModel):
    """What is scored.

    Attributes:
        bench_data: a folder of olmOCR-Bench; without one there is no asset.
        bench_candidates: further candidates as `name=place`.
    """

    bench_data: str | None = None
    bench_candidates: tuple[str, ...] = ()

    def places(self) -> dict[str, str]:
        """Candidates other than the own workspace by their names.

        Raises:
            ConfigurationError: one is not written as `name=place`, or its name cannot be a partition's.
        """
        found: dict[str, str] = {}
        for line in filter(str.strip, self.bench_candidates):
            name, _equals, place = line.strip().partition("=")
            if not place or not _NAME.fullmatch(name) or name == OWN or name in found:
                raise ConfigurationError(
                    f"{line.strip()!r} names no candidate.",
                    remedy="Write name=place in PDFOCR_BENCH_CANDIDATES, one a line, each name once.",
                )
            found[name] = place
        return found


def bench_settings() -> BenchSettings:
    """The settings as the environment has them; read when the code location is loaded."""
    return settings_from(BenchSettings, {})


def build_bench_scores(collection: str, settings: BenchSettings) -> dg.AssetsDefinition:
    """The asset; in a group of its own, so that no run of the collection scores anything unasked."""
    places = settings.places()
    root = Path(settings.bench_data or "")

    @dg.asset(
        key=asset_key(collection, "bench_scores"),
        deps=[asset_key(collection, "collection_report")],
        group_name=f"{collection}_bench",
        kinds={"html"},
        partitions_def=dg.StaticPartitionsDefinition([OWN, *places]),
        description="Scores a candidate's text with olmOCR-Bench; beside the score what reading those pages took.",
    )
    def bench_scores(
        context: dg.AssetExecutionContext,
        workspace: WorkspaceResource,
        inference: InferenceServer,
        pages: PageSettings,
    ) -> dg.MaterializeResult[None]:
        name = context.partition_key
        try:
            data = open_bench(root)
            candidate = _candidate(name, places, workspace, data)
            with formulas() as compare:
                score = run_bench(data, candidate, compare, prices=prices_of(inference.settings()))
            with PagePictures(pages.settings().render) as pictures:
                html = bench_html(data, [(candidate, score)], pictures, pages=_SHOWN)
            opened = workspace.open()
            opened.write_report(f"bench-{name}.html", html.encode("utf-8", "replace"))
        except PdfocrError as error:
            raise failure(context, error) from error
        report = dg.MetadataValue.path(f"{opened.url}/report/bench-{name}.html")
        return dg.MaterializeResult(metadata={"report": report, **_metadata(score)})

    return bench_scores


def _candidate(name: str, places: Mapping[str, str], workspace: WorkspaceResource, data: BenchData) -> Candidate:
    if name == OWN:
        return WorkspacePages(workspace.open(), data, name)
    place = places[name]
    if is_url(place) or (Path(place) / "index").is_dir():
        return WorkspacePages(open_workspace(place, workspace.storage()), data, name)
    return MarkdownFolder(Path(place))


def _metadata(score: Score) -> dict[str, dg.MetadataValue]:
    total = score.total
    figures: dict[str, float | None] = {"score": score.score, "low": score.low, "high": score.high, "cost": score.cost}
    counts = {
        "tests": total.total,
        "passed": total.passed,
        "not_run": total.not_run,
        "missing_pages": len(score.missing),
    }
    if score.spent is not None:
        counts |= {"pages": score.spent.pages, "tokens_out": score.spent.tokens_out}
        figures |= {"seconds": score.spent.seconds}
    rows = [
        dg.TableRecord({"category": name, "passed": tally.passed, "tests": tally.total, "not_run": tally.not_run})
        for name, tally in sorted(score.categories.items())
    ]
    models = ", ".join(score.spent.models) if score.spent else ""
    return {
        **{name: dg.MetadataValue.float(round(value, 4)) for name, value in figures.items() if value is not None},
        **{name: dg.MetadataValue.int(count) for name, count in counts.items()},
        "model": dg.MetadataValue.text(models or "not told"),
        "complete": dg.MetadataValue.bool(score.complete),
        "categories": dg.MetadataValue.table(rows),
    }
