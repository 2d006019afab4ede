"""A deployment of many machines, on one: PostgreSQL, the daemon, an S3 store, a model's server, and workers that each
have a network of their own. It is the instance of `docker/dagster.yaml`, but for what names a place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from unittest import mock

import dagster as dg
import psutil
import yaml
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.selector import PartitionRangeSelector, PartitionsByAssetSelector, PartitionsSelector
from dagster._core.execution.backfill import (
    BULK_ACTION_TERMINAL_STATUSES,
    BulkActionStatus,
    PartitionBackfill,
)

from pdfocr_core.outputs.report import books_of
from pdfocr_core.records import PageRecord
from pdfocr_core.testing.plan import Plan
from pdfocr_core.testing.server import MODEL, FaultServer
from pdfocr_core.workspace import Workspace, open_workspace
from pdfocr_dagster.definitions import defs
from tests.documents import write_pdf
from tests.namespaces import Machines
from tests.netns_launcher import WORKER_TAG, worker_process
from tests.postgres import Postgres
from tests.s3_server import S3Server

ROOT = Path(__file__).parents[1]
ASSETS = ("page_groups", "dolma_documents", "markdown_export")
BUCKET = "documents"
RUNNING = [dg.DagsterRunStatus.STARTED]


class Cluster:
    """Everything but the workers' machines; groups of one document each."""

    def __init__(self, folder: Path, machines: Machines, *, seconds: float, groups_per_run: int) -> None:
        self.folder, self.machines, self.home = folder, machines, folder / "home"
        self.home.mkdir(parents=True)
        (folder / "s3").mkdir()
        (folder / "runs").mkdir()
        self.postgres = Postgres(machines.host)
        try:
            self.s3 = S3Server(folder / "s3", machines.host)
        except BaseException:
            self.postgres.end()
            raise
        self.s3.bucket(BUCKET)
        self.server = FaultServer(Plan(), host=machines.host, seconds=seconds)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        (self.home / "dagster.yaml").write_text(yaml.safe_dump(self._instance_settings()))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PDFOCR_", "DAGSTER_"))}
        self.environment = {
            **inherited,
            **self.s3.environment,
            "DAGSTER_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "PDFOCR_LOGS_BUCKET": BUCKET,
            "PDFOCR_LOGS_ENDPOINT": self.s3.endpoint,
            "PDFOCR_SOURCES": f"s3://{BUCKET}/in",
            "PDFOCR_WORKSPACE": f"s3://{BUCKET}/text",
            "PDFOCR_ENGINE": "remote",
            "PDFOCR_MODEL": MODEL,
            "PDFOCR_SERVER_URLS": self.server.url,
            "PDFOCR_IN_FLIGHT": "2",
            "PDFOCR_CHECKPOINT_INTERVAL_S": "0.5",
            "PDFOCR_REPORT_PAGES": "0",
            "PDFOCR_THUMBNAILS": "0",
            "PDFOCR_RENDER_WORKERS": "1",
            "PDFOCR_GROUPS_PER_RUN": str(groups_per_run),
        }
        self._daemon: subprocess.Popen[bytes] | None = None
        self._daemons = 0

    def _instance_settings(self) -> dict[str, Any]:
        settings = yaml.safe_load((ROOT / "docker" / "dagster.yaml").read_text())
        database = settings["storage"]["postgres"]["postgres_db"]
        database |= {
            "hostname": self.machines.host,
            "port": self.postgres.port,
            "username": "dagster",
            "password": "",
            "db_name": "postgres",
        }
        settings["concurrency"]["pools"]["default_limit"] = len(self.machines.names)
        settings["run_monitoring"]["poll_interval_seconds"] = 2
        settings["run_launcher"] = {
            "module": "tests.netns_launcher",
            "class": "NetnsLauncher",
            "config": {"workers": self.machines.names, "logs": str(self.folder / "runs")},
        }
        return dict(settings)

    # Collection and backfill.

    def fill(self, documents: int, pages: int) -> None:
        """Put documents into the bucket and register each as a group."""
        for number in range(documents):
            path = write_pdf(self.folder / "made.pdf", [f"letter {number} page {page}" for page in range(pages)])
            self.s3.put(BUCKET, f"in/{number:03}.pdf", path)
        module = ("-m", "pdfocr_dagster.definitions")
        config = json.dumps({"ops": {"work_index": {"config": {"pages_per_group": 1}}}})
        argv = ("-m", "dagster", "asset", "materialize", "--select", "work_index", *module, "--config-json", config)
        done = subprocess.run(
            [sys.executable, *argv], cwd=ROOT, env=self.environment, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        with mock.patch.dict(os.environ, self.environment), dg.DagsterInstance.from_config(str(self.home)) as instance:
            yield instance

    def launch(self, instance: dg.DagsterInstance) -> str:
        """A backfill of all groups, as the button of the UI makes it."""
        keys = instance.get_dynamic_partitions("pdfocr")
        everything = PartitionsSelector([PartitionRangeSelector(keys[0], keys[-1])])
        with partition_loading_context(dynamic_partitions_store=instance):
            backfill = PartitionBackfill.from_partitions_by_assets(
                backfill_id="backfill",
                asset_graph=defs.resolve_asset_graph(),
                backfill_timestamp=time.time(),
                tags={},
                dynamic_partitions_store=instance,
                partitions_by_assets=[
                    PartitionsByAssetSelector(asset_key=dg.AssetKey(name), partitions=everything) for name in ASSETS
                ],
                title=None,
                description=None,
                run_config=None,
            )
        instance.add_backfill(backfill)
        return backfill.backfill_id

    def ended(self, instance: dg.DagsterInstance) -> BulkActionStatus | None:
        """How the backfill ended; None while it goes on."""
        backfill = instance.get_backfill("backfill")
        assert backfill is not None
        return backfill.status if backfill.status in BULK_ACTION_TERMINAL_STATUSES else None

    # Processes.

    def start_daemon(self) -> None:
        self._daemons += 1
        with (self.folder / f"daemon{self._daemons}.log").open("wb") as log:
            self._daemon = subprocess.Popen(
                [sys.executable, "-m", "dagster._daemon", "run", "-w", str(ROOT / "workspace.yaml")],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill_daemon(self) -> None:
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()

    def keep_daemon(self) -> None:
        """What Kubernetes and compose do: start again what has ended by itself."""
        if self._daemon is not None and self._daemon.poll() is not None:
            self.start_daemon()

    def working(self, instance: dg.DagsterInstance) -> dict[str, psutil.Process]:
        """The processes of the runs that are on their way, by worker."""
        found = {}
        for run in instance.get_runs(dg.RunsFilter(statuses=RUNNING)):
            process = worker_process(run)
            if process is not None:
                found[run.tags[WORKER_TAG]] = process
        return found

    def end(self) -> None:
        self.server.stop()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("DAGSTER_HOME") == str(self.home):
                    process.kill()
        with suppress(AssertionError):
            self.postgres.end()
        self.s3.kill()

    # What came of it.

    def workspace(self) -> Workspace:
        with mock.patch.dict(os.environ, self.environment):
            return open_workspace(self.environment["PDFOCR_WORKSPACE"])

    def durable(self) -> set[str]:
        """Texts of all pages that are in the store, in parts or committed."""
        opened = self.workspace()
        return {
            record.text
            for key in opened.group_keys()
            for record in opened.read_durable(key)
            if isinstance(record, PageRecord)
        }

    def books(self) -> Any:
        return books_of(self.workspace())[0]

    def logs(self) -> str:
        """The ends of all logs, for whoever looks for what went wrong."""
        paths = [*sorted(self.folder.glob("daemon*.log")), *sorted((self.folder / "runs").glob("*.log"))]
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-4000:]}" for path in paths)


class Watch:
    """Notes again and again which pages are durable, and how often each had been asked by then."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._stop = cluster, threading.Event()
        self._seen: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def durable(self) -> int:
        return len(self._seen)

    def asked_again(self) -> dict[str, int]:
        """Pages that were asked for after they had become durable, and how often."""
        asked = asked_by_text(self._cluster.server)
        return {text: asked[text] - before for text, before in self._seen.items() if asked[text] > before}

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            texts = self._cluster.durable()
            # A request that was on its way when the page became durable is in this count already.
            asked = asked_by_text(self._cluster.server)
            self._seen = {**{text: asked[text] for text in texts}, **self._seen}


def asked_by_text(server: FaultServer) -> Counter[str]:
    from pdfocr_core.testing.server import good_text

    with server.lock:
        return Counter({good_text(digest): count for digest, count in server.asked.items()})


def materializations(instance: dg.DagsterInstance, name: str) -> dict[str, int]:
    """How often each group was materialized."""
    found: dict[str, int] = defaultdict(int)
    for record in instance.fetch_materializations(dg.AssetKey(name), limit=10_000).records:
        found[str(record.partition_key)] += 1
    return dict(found)


def wait_for(what: str, condition: Callable[[], object], seconds: float, cluster: Cluster) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}\n{cluster.logs()}"
        time.sleep(0.2)
