"""What Dagster adds to a run: the wall time of `pdfocr run` beyond that of the page flow itself.

    python -m benchmarks.dagster_share [--groups 20] [--pages 500]

The flow alone is `Session.read_groups` over the same groups in a process without Dagster. Both are measured in turn
with the same server; the difference is the start of Dagster, its events and the report.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import dataset, harness


def flow_alone(sources: Path, workspace: Path, server: str, pages: int) -> None:
    """Index and read without Dagster; prints how long reading took, and the seconds by stage."""
    from pdfocr_core.session import Session, index_sources
    from pdfocr_core.settings import EngineKind, IndexSettings, ReadSettings, RenderSettings, ServerSettings
    from pdfocr_core.workspace import open_workspace

    opened = open_workspace(str(workspace))
    index_sources(opened, [str(sources)], IndexSettings(pages_per_group=pages), RenderSettings())
    settings = ServerSettings(engine=EngineKind.REMOTE, model="pdfocr-cpu", server_urls=(server,))

    async def read() -> tuple[int, dict[str, float]]:
        with Session(ReadSettings(), settings) as session:
            groups = len([result async for result in session.read_groups(opened, opened.group_keys())])
            return groups, session.telemetry.seconds

    started = time.monotonic()
    groups, stages = asyncio.run(read())
    print(f"{groups} groups in {time.monotonic() - started:.1f} s")
    print(", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in stages.items()))


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--pages", type=int, default=500, help="pages of a group")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--flow", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.flow:
        sources, workspace, server = options.flow
        flow_alone(Path(sources), Path(workspace), server, options.pages)
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="pdfocr-bench-") as name, harness.Stub() as stub:
        folder = Path(name)
        card = dataset.dense(folder / "sources", options.groups * options.pages, each=20)
        for repeat in range(options.repeats):
            spans = []
            alone = [sys.executable, "-m", "benchmarks.dagster_share", "--pages", str(options.pages), "--flow"]
            alone += [str(folder / "sources"), str(folder / f"alone{repeat}"), f"{stub.url}/v1"]
            whole = harness.pdfocr_run(folder / "sources", folder / f"whole{repeat}", stub)
            whole += ["--pages-per-group", str(options.pages)]
            usages = []
            for argv in (alone, whole):
                stub.reset()
                usages.append(harness.run(argv, env=harness.clean_environment()))
                spans.append(stub.stats()["span_s"])
            without, with_dagster = usages
            rows.append(
                {
                    "flow alone s": without.wall_s,
                    "pdfocr run s": with_dagster.wall_s,
                    "beyond the flow s": with_dagster.wall_s - without.wall_s,
                    "pages flow: alone s": spans[0],
                    "pages flow: run s": spans[1],
                    "CPU more s": with_dagster.cpu_s - without.cpu_s,
                }
            )
    harness.report("dagster-share", rows, f"{card}, {options.groups} groups")


if __name__ == "__main__":
    main()
