"""What Dagster does with many groups on PostgreSQL: registering, the asset's page, a backfill, ticks, the size of events.

    python -m tools.scale_dagster --partitions 25000 [--postgres URL] [--minutes 3] [--groups 20]

Without a URL a PostgreSQL of Debian's package is started, and removed at the end. Give it a database that it may fill:
its tables stay. Figures are printed as one JSON object; docs/scale.md says what they were.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg
import psycopg2
import yaml
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from pdfocr_core.serving.endpoint import free_port
from pdfocr_core.testing.server import MODEL, fault_server
from pdfocr_dagster.definitions import defs, job_name
from pdfocr_dagster.history import prune_history
from pdfocr_dagster.partitions import register_groups
from tests.documents import write_collection
from tests.postgres import Postgres

ROOT = Path(__file__).parents[1]
ASSETS = ("page_groups", "dolma_documents", "markdown_export")
PAGES_PER_GROUP = 500

# What the UI asks for when the page of a partitioned asset is opened, in the fields that grow with the partitions.
QUERIES = {
    "partition_keys": "{ assetNodes(assetKeys: [{path: ['page_groups']}]) { partitionKeysByDimension { partitionKeys } } }",
    "partition_statuses": "{ assetNodes(assetKeys: [{path: ['page_groups']}]) { assetPartitionStatuses { __typename "
    "... on DefaultPartitionStatuses { materializedPartitions failedPartitions unmaterializedPartitions } } } }",
    "partition_stats": "{ assetNodes(assetKeys: [{path: ['page_groups']}]) "
    "{ partitionStats { numMaterialized numPartitions numFailed } } }",
    "last_events": "{ assetOrError(assetKey: {path: ['page_groups']}) "
    "{ ... on Asset { assetMaterializations(limit: 100) { partition timestamp } } } }",
    "asset_graph": "{ assetNodes { assetKey { path } partitionStats { numMaterialized numPartitions numFailed } } }",
}
LAUNCH = """mutation($backfill: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $backfill) {
  __typename ... on PythonError { message } } }"""

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """How long it took, and what it gave."""
    started = time.perf_counter()
    result = work()
    return round(time.perf_counter() - started, 2), result


class Scale:
    """One instance on one PostgreSQL."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.home = folder, url, folder / "home"
        self.home.mkdir()
        settings = {
            "storage": {"postgres": {"postgres_url": url}},
            "run_coordinator": {
                "module": "dagster._core.run_coordinator.queued_run_coordinator",
                "class": "QueuedRunCoordinator",
            },
            # Runs are made and stay queued: what is measured is Dagster, not the reading.
            "concurrency": {"runs": {"max_concurrent_runs": 0}},
            "backfills": {"use_threads": True, "num_workers": 2},
            "telemetry": {"enabled": False},
        }
        (self.home / "dagster.yaml").write_text(yaml.safe_dump(settings))
        os.environ["DAGSTER_HOME"] = str(self.home)

    def sql(self, statement: str, *values: object) -> Any:
        """The only value that a query gives."""
        with psycopg2.connect(self.url.replace("+psycopg2", "")) as connection, connection.cursor() as cursor:
            cursor.execute(statement, values)
            row = cursor.fetchone()
            return row[0] if row else None

    @contextmanager
    def process(self, name: str, *argv: str) -> Iterator[None]:
        """One of Dagster's processes for a while."""
        with (self.folder / f"{name}.log").open("wb") as log:
            running = subprocess.Popen(
                [sys.executable, "-m", *argv, "-w", str(ROOT / "workspace.yaml")], cwd=ROOT, stdout=log, stderr=log
            )
        try:
            yield
        finally:
            running.terminate()
            with suppress(subprocess.TimeoutExpired):
                running.wait(30)
            running.kill()

    # Measurements.

    def register(self, instance: dg.DagsterInstance, count: int) -> list[str]:
        """So many groups that have no manifests."""
        keys = [hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest() for number in range(count)]
        register_groups(instance, "pdfocr", keys)
        return keys

    def page(self, ask: Callable[[str], Any]) -> dict[str, float]:
        """The asset's page, as the web server answers it the second time."""
        found = {}
        for name, query in QUERIES.items():
            ask(query)
            found[name] = timed(lambda query=query: ask(query))[0]  # type: ignore[misc]
        return found

    def backfill(self, instance: dg.DagsterInstance, keys: list[str], minutes: float) -> dict[str, float]:
        """How fast the daemon makes the runs of a backfill over everything."""
        before = instance.get_runs_count()
        with self.process("daemon", "dagster._daemon", "run"):
            while instance.get_runs_count() == before:
                time.sleep(0.5)
            started, first = time.monotonic(), instance.get_runs_count()
            time.sleep(60 * minutes)
            made = instance.get_runs_count() - first
            seconds = time.monotonic() - started
        groups = self.sql(
            "select count(*) from event_logs where asset_key = %s and dagster_event_type = 'ASSET_MATERIALIZATION_PLANNED'",
            '["page_groups"]',
        )
        return {
            "runs_per_minute": round(60 * made / seconds, 1),
            "groups_planned": groups,
            "minutes_for_all": round(len(keys) / max(1, made) / 50 * seconds / 60, 1),
        }


def read_some(scale: Scale, groups: int) -> dict[str, Any]:
    """Read groups for real and count what Dagster stored of them."""
    import multiprocessing

    with fault_server() as server:
        os.environ |= {
            "PDFOCR_WORKSPACE": str(scale.folder / "workspace"),
            "PDFOCR_SOURCES": str(write_collection(scale.folder / "sources", groups, 2)),
            "PDFOCR_ENGINE": "remote",
            "PDFOCR_MODEL": MODEL,
            "PDFOCR_SERVER_URLS": server.url,
            "PDFOCR_PAGES_PER_GROUP": "1",
        }
        before = _events(scale)
        # In a process of its own, as a run has it.
        worker = multiprocessing.get_context("spawn").Process(target=_read, args=(groups,))
        worker.start()
        worker.join()
    rows, size = (after - earlier for after, earlier in zip(_events(scale), before, strict=True))
    of_a_million = 1_000_000 / PAGES_PER_GROUP
    return {
        "groups": groups,
        "events_per_group": round(rows / groups, 1),
        "bytes_per_group": round(size / groups),
        "rows_per_million_pages": round(rows / groups * of_a_million),
        "megabytes_per_million_pages": round(size / groups * of_a_million / 1e6, 1),
    }


def _read(groups: int) -> None:
    with dg.DagsterInstance.get() as instance:
        job = dg.reconstructable(whole_job)
        known = set(instance.get_dynamic_partitions("pdfocr"))
        dg.execute_job(job, instance, asset_selection=[dg.AssetKey("work_index")])
        new = [key for key in instance.get_dynamic_partitions("pdfocr") if key not in known]
        if len(new) != groups:
            raise RuntimeError(f"{len(new)} groups were made of {groups} documents")
        tags = {ASSET_PARTITION_RANGE_START_TAG: new[0], ASSET_PARTITION_RANGE_END_TAG: new[-1]}
        if not dg.execute_job(job, instance, asset_selection=[dg.AssetKey(name) for name in ASSETS], tags=tags).success:
            raise RuntimeError("the groups could not be read")


def whole_job() -> dg.JobDefinition:
    """The job of the default collection."""
    return defs.resolve_job_def(job_name("pdfocr"))


def _events(scale: Scale) -> tuple[int, int]:
    """Rows of events, and bytes of all tables with their indexes."""
    size = "select sum(pg_total_relation_size(relid)) from pg_stat_user_tables"
    return int(scale.sql("select count(*) from event_logs") or 0), int(scale.sql(size) or 0)


def measure(scale: Scale, partitions: int, groups: int, minutes: float) -> dict[str, Any]:
    """Everything, one after the other."""
    found: dict[str, Any] = {"partitions": partitions, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    with dg.DagsterInstance.get() as instance:
        if groups:
            found["events"] = read_some(scale, groups)
            seconds, deleted = timed(lambda: prune_history(instance, older_than_days=0))
            left = round(_events(scale)[0] / groups, 1)
            found["prune"] = {"seconds": seconds, "events": deleted, "events_left_per_group": left}
        found["register_s"], keys = timed(lambda: scale.register(instance, partitions))
        found["register_again_s"] = timed(lambda: scale.register(instance, partitions))[0]
        port = free_port()
        with scale.process("webserver", "dagster_webserver", "-h", "127.0.0.1", "-p", str(port)):
            ask = _asker(port)
            found["asset_page_s"] = scale.page(ask)
            selection = [{"path": [name]} for name in ASSETS]
            launch = {"backfill": {"partitionNames": keys, "assetSelection": selection}}
            found["launch_backfill_s"] = timed(lambda: ask(LAUNCH, launch))[0]
            found["automation_tick_s"] = timed(lambda: dg.evaluate_automation_conditions(defs=defs, instance=instance))[
                0
            ]
            if minutes:
                found["backfill"] = scale.backfill(instance, keys, minutes)
                found["asset_page_in_backfill_s"] = scale.page(ask)
    found["database_megabytes"] = round(int(scale.sql("select pg_database_size(current_database())")) / 1e6, 1)
    return found


def _asker(port: int) -> Callable[..., Any]:
    def ask(query: str, variables: dict[str, Any] | None = None) -> Any:
        body = json.dumps({"query": query.replace("'", '"'), "variables": variables or {}}).encode()
        url = f"http://127.0.0.1:{port}/graphql"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310
            result = json.load(answer)
        if "errors" in result:
            raise RuntimeError(result["errors"])
        return result["data"]

    deadline = time.monotonic() + 300
    while True:
        try:
            ask("{ version }")
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
        else:
            return ask


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=25_000)
    parser.add_argument("--postgres", help="postgresql+psycopg2://user@host/database")
    parser.add_argument("--minutes", type=float, default=3, help="how long the daemon makes runs; 0: not at all")
    parser.add_argument("--groups", type=int, default=20, help="groups that are read for real; 0: none")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scale-")))
        url = given.postgres
        if url is None:
            postgres = Postgres()
            stack.callback(postgres.end)
            url = postgres.url
        print(json.dumps(measure(Scale(folder, url), given.partitions, given.groups, given.minutes), indent=2))


if __name__ == "__main__":
    main()
