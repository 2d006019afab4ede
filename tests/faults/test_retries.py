"""Dagster has three ways to try again; none of them may repeat what cannot get better, nor go on for ever."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    WILL_RETRY_TAG,
)

from pdfocr_core.testing.plan import Fault, Plan
from pdfocr_core.testing.server import MODEL, FaultServer, fault_server
from pdfocr_core.workspace import Workspace, open_workspace
from pdfocr_dagster.definitions import build_definitions
from pdfocr_dagster.failing import STOPPED_TAG
from tests.bad_pdfs import user_password
from tests.documents import write_collection, write_pdf
from tests.integration.conftest import Command
from tests.integration.test_dagster import LAUNCH_RUN, Deployment

ASSETS = [dg.AssetKey(name) for name in ("page_groups", "dolma_documents", "markdown_export")]
PATIENT = dg.RetryPolicy(max_retries=2)
EVER_FAILING = 10**9


@dataclass
class Place:
    """Sources, a workspace and an instance that retries runs, all real; the op has a retry policy too."""

    folder: Path
    instance: dg.DagsterInstance

    def __post_init__(self) -> None:
        defs = build_definitions()
        everything = dg.define_asset_job(
            "everything", selection=dg.AssetSelection.groups("pdfocr"), op_retry_policy=PATIENT
        )
        with_policy = dg.Definitions(
            assets=defs.assets, resources=defs.resources, executor=defs.executor, jobs=[everything]
        )
        self.job = with_policy.resolve_job_def("everything")
        self.retry_job = defs.resolve_job_def("retry_failed")
        self.defs = defs

    @property
    def workspace(self) -> Workspace:
        return open_workspace(str(self.folder / "workspace"))

    def index(self) -> dg.ExecuteInProcessResult:
        return self.execute([dg.AssetKey("work_index")])

    def read(self) -> dg.ExecuteInProcessResult:
        keys = self.instance.get_dynamic_partitions("pdfocr")
        return self.execute(ASSETS, {ASSET_PARTITION_RANGE_START_TAG: keys[0], ASSET_PARTITION_RANGE_END_TAG: keys[-1]})

    def execute(self, selection: list[dg.AssetKey], tags: dict[str, str] | None = None) -> dg.ExecuteInProcessResult:
        return self.job.execute_in_process(
            instance=self.instance, asset_selection=selection, tags=tags, raise_on_error=False
        )

    def tags(self, result: dg.ExecuteInProcessResult) -> dict[str, str]:
        run = self.instance.get_run_by_id(result.run_id)
        assert run is not None
        return dict(run.tags)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with fault_server() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FaultServer) -> Iterator[Place]:
    write_collection(tmp_path / "sources", documents=2, pages=2)
    settings = {
        "WORKSPACE": str(tmp_path / "workspace"),
        "SOURCES": str(tmp_path / "sources"),
        "ENGINE": "remote",
        "MODEL": MODEL,
        "SERVER_URLS": server.url,
        "SERVER_PATIENCE_S": "1",
        "CHECKPOINT_INTERVAL_S": "0.1",
        "IN_FLIGHT": "1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"PDFOCR_{name}", value)
    with dg.instance_for_test(overrides={"run_retries": {"enabled": True, "max_retries": 2}}) as instance:
        yield Place(tmp_path, instance)


def retries_of_the_op(result: dg.ExecuteInProcessResult) -> int:
    return sum(event.event_type is dg.DagsterEventType.STEP_UP_FOR_RETRY for event in result.all_events)


def assert_tried_once(place: Place, result: dg.ExecuteInProcessResult, code: str) -> None:
    tags = place.tags(result)
    assert not result.success
    assert (retries_of_the_op(result), tags[WILL_RETRY_TAG], tags[STOPPED_TAG]) == (0, "false", code)


def test_a_wrong_key_is_tried_once(place: Place, server: FaultServer) -> None:
    place.index()
    server.key = "another"
    assert_tried_once(place, place.read(), "configuration")
    assert server.asked.total() == 0


def test_a_model_that_is_not_there_is_tried_once(
    place: Place, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.index()
    monkeypatch.setenv("PDFOCR_MODEL", "no-such-model")
    assert_tried_once(place, place.read(), "configuration")
    assert server.asked.total() == 0


def test_sources_that_are_not_there_are_tried_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_SOURCES", str(place.folder / "nowhere"))
    assert_tried_once(place, place.index(), "source_not_found")


def test_a_group_without_a_manifest_is_tried_once_and_its_neighbours_are_read(place: Place) -> None:
    place.index()
    place.instance.add_dynamic_partitions("pdfocr", ["no-such-group"])
    assert_tried_once(place, place.read(), "manifest_missing")
    (good,) = place.workspace.group_keys()
    assert place.instance.get_materialized_partitions(dg.AssetKey("markdown_export")) == {good}


def test_an_outage_is_tried_again_within_bounds_and_repeats_nothing(place: Place, server: FaultServer) -> None:
    place.index()
    server.plan = Plan({Fault.ERROR: 1.0}, times=EVER_FAILING)
    ended = place.read()
    tags = place.tags(ended)
    assert (ended.success, retries_of_the_op(ended), tags[WILL_RETRY_TAG]) == (False, PATIENT.max_retries, "true")
    assert STOPPED_TAG not in tags
    server.plan = Plan()
    before = server.asked.copy()
    assert place.read().success
    assert list((server.asked - before).values()) == [1] * 4


def test_documents_that_cannot_be_read_end_their_run_well_and_nobody_asks_again(
    place: Place, server: FaultServer
) -> None:
    whole = (place.folder / "sources" / "document000.pdf").read_bytes()
    (place.folder / "sources" / "cut.pdf").write_bytes(whole[: len(whole) // 4])
    (place.folder / "sources" / "locked.pdf").write_bytes(user_password())
    place.index()
    with dg.DagsterInstance.ephemeral():
        seen = dg.evaluate_automation_conditions(defs=place.defs, instance=place.instance)
    read = place.read()
    assert read.success
    asked = server.asked.copy()
    # Neither automation nor an ordinary run takes such a document up again.
    after = dg.evaluate_automation_conditions(defs=place.defs, instance=place.instance, cursor=seen.cursor)
    assert after.total_requested == 0
    assert place.index().success
    assert place.read().success
    assert server.asked == asked
    (key,) = place.workspace.group_keys()
    reasons = {row.url.rpartition("/")[2]: row.reason for row in place.workspace.read_status(key) or ()}
    assert reasons["locked.pdf"] == "password_required"
    assert reasons["cut.pdf"] is not None


def test_the_job_reads_again_what_failed_and_only_that(
    place: Place, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.folder / "sources" / "locked.pdf").write_bytes(user_password())
    place.index()
    write_pdf(place.folder / "sources" / "later.pdf", ["in a group of its own"])
    place.index()
    first, _second = place.workspace.group_keys()
    place.read()
    asked = server.asked.copy()
    monkeypatch.setenv("PDFOCR_PASSWORDS", "lantern")
    config = {"ops": {"retry_failed_groups": {"config": {"reasons": ["password_required"]}}}}
    again = place.retry_job.execute_in_process(instance=place.instance, run_config=config)
    events = [event for event in again.all_events if event.event_type is dg.DagsterEventType.ASSET_MATERIALIZATION]
    materialized = [event.partition for event in events if event.asset_key in ASSETS]
    assert materialized == [first] * 3
    assert not (set(asked) & set(server.asked - asked))
    assert {
        row.status.value for key in place.workspace.group_keys() for row in place.workspace.read_status(key) or ()
    } == {"ok"}
    # Nothing is left to read again.
    asked = server.asked.copy()
    again = place.retry_job.execute_in_process(instance=place.instance)
    assert server.asked == asked


def test_the_job_knows_its_words(place: Place) -> None:
    place.index()
    for config in ({"reasons": ["renderer_time_out"]}, {"statuses": ["partially"]}):
        run = place.retry_job.execute_in_process(
            instance=place.instance,
            run_config={"ops": {"retry_failed_groups": {"config": config}}},
            raise_on_error=False,
        )
        (failed,) = [event for event in run.all_events if event.event_type is dg.DagsterEventType.STEP_FAILURE]
        assert "Known are" in str(failed.event_specific_data)
        assert_tried_once(place, run, "configuration")


RUNS = """query($tags: [ExecutionTag!]) { runsOrError(filter: {tags: $tags}) {
  ... on Runs { results { runId status tags { key value } } } } }"""


@pytest.mark.nightly
def test_the_daemon_retries_runs_within_bounds_and_never_for_nothing(pdfocr: Command) -> None:
    write_collection(pdfocr.folder / "sources", documents=2, pages=2)
    with fault_server() as server:
        deployment = Deployment(pdfocr, server, pdfocr.folder / "sources")  # type: ignore[arg-type]
        retries = "run_retries: {enabled: true, max_retries: 2}\n"
        (deployment.home / "dagster.yaml").write_text(f"telemetry: {{enabled: false}}\n{retries}")
        deployment.environment["PDFOCR_SERVER_PATIENCE_S"] = "1"
        deployment.dagster("asset", "materialize", "--select", "work_index", "-m", "pdfocr_dagster.definitions")
        with dg.DagsterInstance.from_config(str(deployment.home)) as instance:
            (key,) = instance.get_dynamic_partitions("pdfocr")
        with deployment.running():

            def launch(name: str) -> None:
                tags = {"case": name, ASSET_PARTITION_RANGE_START_TAG: key, ASSET_PARTITION_RANGE_END_TAG: key}
                run = {
                    "selector": {
                        "repositoryLocationName": "pdfocr",
                        "repositoryName": "__repository__",
                        "jobName": "pdfocr_all",
                        "assetSelection": [{"path": asset.path} for asset in ASSETS],
                    },
                    "runConfigData": {},
                    "executionMetadata": {"tags": [{"key": name, "value": value} for name, value in tags.items()]},
                }
                answer = deployment.ask(LAUNCH_RUN, run=run)["launchRun"]
                assert answer["__typename"] == "LaunchRunSuccess", answer

            def ended(name: str) -> list[str]:
                """The statuses of all runs of a case, once the daemon has had the time for one more."""
                deadline, quiet = time.monotonic() + 300, 0
                while quiet < 15:
                    assert time.monotonic() < deadline, f"{name} goes on"
                    time.sleep(1)
                    runs = deployment.ask(RUNS, tags=[{"key": "case", "value": name}])["runsOrError"]["results"]
                    statuses = [run["status"] for run in runs]
                    quiet = quiet + 1 if set(statuses) <= {"SUCCESS", "FAILURE"} else 0
                return statuses

            server.key = "another"
            launch("a wrong key")
            assert ended("a wrong key") == ["FAILURE"]
            assert server.asked.total() == 0
            server.key, server.plan = None, Plan({Fault.ERROR: 1.0}, times=EVER_FAILING)
            launch("an outage")
            assert ended("an outage") == ["FAILURE"] * 3
            server.plan = Plan()
            launch("in order")
            assert ended("in order") == ["SUCCESS"]
            assert set(server.answered.values()) == {1}
