"""The code location in a real Dagster: its commands, the web server's API and the daemon's backfills."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pdfocr_dagster.definitions import build_definitions, defs
from tests.counting_server import CountingServer, counting_server
from tests.documents import write_collection
from tests.integration.conftest import Command
from tests.ports import quiet_port

ROOT = Path(__file__).parents[2]
ASSETS = ["page_groups", "dolma_documents", "markdown_export"]

LAUNCH = """mutation($backfill: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $backfill) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
BACKFILL = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status runs(limit: 50) { runId status } } } }"""
START = """mutation($sensor: SensorSelector!) { startSensor(sensorSelector: $sensor) {
  __typename ... on PythonError { message } } }"""
LAUNCH_RUN = """mutation($run: ExecutionParams!) { launchRun(executionParams: $run) {
  __typename ... on PythonError { message } ... on RunConfigValidationInvalid { errors { message } } } }"""
TICKS = """query($sensor: SensorSelector!) { sensorOrError(sensorSelector: $sensor) {
  ... on Sensor { sensorState { ticks(limit: 1000) { tickId status } } } } }"""
GRAPH = """{ assetNodes { assetKey { path } dependencyKeys { path } } }"""


class Deployment:
    """A Dagster instance with the code location's settings in its environment."""

    def __init__(self, pdfocr: Command, server: CountingServer, sources: Path | str) -> None:
        self.home = pdfocr.folder / "home"
        self.home.mkdir()
        (self.home / "dagster.yaml").write_text(
            "telemetry:\n  enabled: false\ncode_servers:\n  local_startup_timeout: 300\n"
        )
        self.port = quiet_port()
        self.environment = {
            **pdfocr.environment,
            "DAGSTER_HOME": str(self.home),
            "PDFOCR_WORKSPACE": str(pdfocr.workspace),
            "PDFOCR_SOURCES": str(sources),
            "PDFOCR_ENGINE": "remote",
            "PDFOCR_MODEL": "pdfocr-cpu",
            "PDFOCR_SERVER_URLS": server.url,
        }

    def dagster(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "dagster", *arguments],
            cwd=ROOT,
            env=self.environment,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    @contextmanager
    def running(self) -> Iterator[int]:
        """`dagster dev`: web server, daemon and code location; gives the process's number."""
        log = self.home / "dev.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-p", str(self.port)],
                cwd=ROOT,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                deadline = time.monotonic() + 300
                while True:
                    try:
                        self.ask(GRAPH)
                        break
                    except OSError:
                        assert time.monotonic() < deadline, log.read_text()
                        assert process.poll() is None, log.read_text()
                        time.sleep(0.5)
                yield process.pid
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 2)
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, 9)
                    process.wait()

    def start_sensor(self, name: str) -> None:
        answer = self.ask(START, sensor=_sensor(name))["startSensor"]
        assert answer["__typename"] == "Sensor", answer

    def ticks(self, name: str) -> int:
        """How often a sensor has come to a decision."""
        ticks = self.ask(TICKS, sensor=_sensor(name))["sensorOrError"]["sensorState"]["ticks"]
        return sum(tick["status"] in ("SKIPPED", "SUCCESS") for tick in ticks)

    def index(self, url: str) -> None:
        """Ask for the indexing of one key, as the receiver of a bucket's events does."""
        run = {
            "selector": {
                "repositoryLocationName": "pdfocr",
                "repositoryName": "__repository__",
                "jobName": "pdfocr_all",
                "assetSelection": [{"path": ["work_index"]}],
            },
            "runConfigData": {"ops": {"work_index": {"config": {"sources": [url], "require_sources": False}}}},
            "executionMetadata": {"tags": [{"key": "pdfocr/index_of", "value": "pdfocr"}]},
        }
        answer = self.ask(LAUNCH_RUN, run=run)["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer

    def backfill(self, keys: list[str]) -> dict[str, Any]:
        """Launch a backfill over these groups as the UI does, and wait for its end."""
        launched = self.ask(
            LAUNCH, backfill={"partitionNames": keys, "assetSelection": [{"path": [name]} for name in ASSETS]}
        )["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        deadline = time.monotonic() + 600
        while True:
            backfill = self.ask(BACKFILL, id=launched["backfillId"])["partitionBackfillOrError"]
            if backfill["status"] not in ("REQUESTED", "IN_PROGRESS"):
                return dict(backfill)
            assert time.monotonic() < deadline, backfill
            time.sleep(1)

    def ask(self, query: str, **variables: Any) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            result = json.load(answer)
        assert "errors" not in result, result
        return result["data"]


def _sensor(name: str) -> dict[str, str]:
    return {"repositoryLocationName": "pdfocr", "repositoryName": "__repository__", "sensorName": name}


def test_definitions_load_without_any_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PDFOCR_")]:
        monkeypatch.delenv(name)
    dg.Definitions.validate_loadable(defs)
    keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
    assert keys == {"work_index", *ASSETS, "collection_report"}


def test_two_collections_live_in_one_deployment() -> None:
    merged = dg.Definitions.merge(
        dg.Definitions(assets=defs.assets, asset_checks=defs.asset_checks, resources=defs.resources),
        dg.Definitions(assets=build_definitions("letters").assets),
    )
    dg.Definitions.validate_loadable(merged)
    assert dg.AssetKey(["letters", "page_groups"]) in merged.resolve_all_asset_keys()


def test_assets_are_materialized_by_command_group_by_group(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=4, pages=2)
    with counting_server() as server:
        deployment = Deployment(pdfocr, server, sources)
        module = ("-m", "pdfocr_dagster.definitions")
        index = json.dumps({"ops": {"work_index": {"config": {"pages_per_group": 4}}}})
        deployment.dagster("asset", "materialize", "--select", "work_index", *module, "--config-json", index)
        assert server.requests == 0
        with dg.DagsterInstance.from_config(str(deployment.home)) as instance:
            first, second = instance.get_dynamic_partitions("pdfocr")
            deployment.dagster("asset", "materialize", "--select", ",".join(ASSETS), "--partition", first, *module)
            assert server.requests == 4
            # One stage alone: made from what is there, without the model.
            (pdfocr.workspace / "results" / f"output_{first}.jsonl").unlink()
            deployment.dagster("asset", "materialize", "--select", "dolma_documents", "--partition", first, *module)
            assert server.requests == 4
            assert (pdfocr.workspace / "results" / f"output_{first}.jsonl").exists()
            for name in ASSETS:
                assert instance.get_materialized_partitions(dg.AssetKey(name)) == {first}
            event = instance.get_latest_materialization_event(dg.AssetKey("page_groups"))
            assert event is not None
            assert event.asset_materialization is not None
            metadata = event.asset_materialization.metadata
            assert (metadata["pages_ok"].value, metadata["tokens_out"].value) == (4, 80)
            assert second != first


def test_a_backfill_from_the_ui_takes_one_run_for_many_groups(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=12, pages=2)
    with counting_server() as server:
        deployment = Deployment(pdfocr, server, sources)
        index = json.dumps({"ops": {"work_index": {"config": {"pages_per_group": 4}}}})
        module = ("-m", "pdfocr_dagster.definitions")
        deployment.dagster("asset", "materialize", "--select", "work_index", *module, "--config-json", index)
        with dg.DagsterInstance.from_config(str(deployment.home)) as instance:
            keys = instance.get_dynamic_partitions("pdfocr")
            with deployment.running():
                nodes = {node["assetKey"]["path"][-1]: node for node in deployment.ask(GRAPH)["assetNodes"]}
                assert set(nodes) == {"work_index", *ASSETS, "collection_report"}
                assert nodes["page_groups"]["dependencyKeys"] == [{"path": ["work_index"]}]
                backfill = deployment.backfill(keys)
            assert backfill["status"] == "COMPLETED_SUCCESS", backfill
            assert len(backfill["runs"]) == 1
            for name in ASSETS:
                assert instance.get_materialized_partitions(dg.AssetKey(name)) == set(keys)
            checks = instance.event_log_storage.get_asset_check_execution_history(
                dg.AssetCheckKey(dg.AssetKey("page_groups"), "pages_add_up"), limit=100
            )
            assert len(checks) == len(keys)
    assert server.requests == 24
    assert len(list((pdfocr.workspace / "markdown").rglob("*.md"))) == 12


def test_a_backfill_starts_one_server_for_all_groups_of_its_run(pdfocr: Command) -> None:
    sources = write_collection(pdfocr.folder / "sources", documents=4, pages=1)
    with counting_server() as server:
        deployment = Deployment(pdfocr, server, sources)
        deployment.environment.update(PDFOCR_ENGINE="cpu", PDFOCR_SERVER_URLS="", PDFOCR_CPU_WORKERS="1")
        index = json.dumps({"ops": {"work_index": {"config": {"pages_per_group": 1}}}})
        module = ("-m", "pdfocr_dagster.definitions")
        deployment.dagster("asset", "materialize", "--select", "work_index", *module, "--config-json", index)
        with dg.DagsterInstance.from_config(str(deployment.home)) as instance:
            keys = instance.get_dynamic_partitions("pdfocr")
            with deployment.running():
                backfill = deployment.backfill(keys)
            assert (len(keys), backfill["status"], len(backfill["runs"])) == (4, "COMPLETED_SUCCESS", 1)
            assert instance.get_materialized_partitions(dg.AssetKey("markdown_export")) == set(keys)
        assert server.requests == 0
    logs = [path.read_text(errors="replace") for path in (deployment.home / "storage").rglob("*.err")]
    assert sum(log.count("CPU OCR server starts") for log in logs) == 1
    assert len(pdfocr.dolma()) == 4
