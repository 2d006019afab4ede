"""What the sensors and the schedule ask for, without a daemon, on real folders and a real Dagster instance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from pdfocr_core.settings import IndexSettings
from pdfocr_core.sources.index import update_index
from pdfocr_core.workspace import Workspace, open_workspace
from pdfocr_dagster.definitions import build_definitions, defs
from pdfocr_dagster.failing import STOPPED_TAG
from pdfocr_dagster.liveness import PROCESS_TAG, this_process
from pdfocr_dagster.partitions import register_groups
from pdfocr_dagster.sensors import COLLECTION_TAG, FOUND_TAG
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource
from tests.documents import write_pdf

REPOSITORY = defs.get_repository_def()
NEW = REPOSITORY.get_sensor_def("new_documents_sensor")
NIGHTLY = REPOSITORY.get_schedule_def("nightly_ingestion")
READING = REPOSITORY.get_sensor_def("nightly_reading")


class Place:
    """A folder that is watched, with an instance."""

    def __init__(self, folder: Path, instance: dg.DagsterInstance) -> None:
        self.sources, self.instance, self.cursor = folder / "inbox", instance, None
        self.sources.mkdir()
        self.root = str(folder / "workspace")

    @property
    def workspace(self) -> Workspace:
        return open_workspace(self.root)

    def add(self, name: str) -> None:
        write_pdf(self.sources / name, [name])

    def index(self) -> None:
        update_index(self.workspace, [str(self.sources)], IndexSettings(), lambda paths: [1] * len(paths))

    def tick(self, sensor: dg.SensorDefinition = NEW, *, keep: bool = True) -> dg.SensorResult:
        with dg.build_sensor_context(
            instance=self.instance,
            cursor=self.cursor,
            resources={
                "workspace": WorkspaceResource(root=self.root),
                "sources": SourcesResource(urls=[str(self.sources)]),
            },
        ) as context:
            result = sensor(context)
        assert isinstance(result, dg.SensorResult)
        if keep:
            self.cursor = result.cursor
        return result

    def finish(self, request: dg.RunRequest, status: dg.DagsterRunStatus) -> dg.DagsterRun:
        job = defs.resolve_job_def("pdfocr_all")
        run = self.instance.create_run_for_job(job, tags=dict(request.tags), status=dg.DagsterRunStatus.STARTED)
        if status is dg.DagsterRunStatus.SUCCESS:
            self.instance.report_dagster_event(
                dg.DagsterEvent("PIPELINE_SUCCESS", job_name=job.name, message="done"), run.run_id
            )
        elif status is dg.DagsterRunStatus.FAILURE:
            self.instance.report_run_failed(run)
        return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("PDFOCR_WATCH_MAX_WAIT_S", "0")
    with dg.instance_for_test() as instance:
        yield Place(tmp_path, instance)


def requests(result: dg.SensorResult) -> list[dg.RunRequest]:
    return list(result.run_requests or ())


def test_nothing_new_asks_nothing(place: Place) -> None:
    assert not requests(place.tick())
    place.add("a.pdf")
    place.index()
    assert "Nothing new" in str(place.tick().skip_reason)


def test_new_and_changed_documents_ask_for_one_indexing_each(place: Place) -> None:
    place.add("a.pdf")
    (request,) = requests(place.tick())
    assert [key.path for key in request.asset_selection or ()] == [["work_index"]]
    place.index()
    assert not requests(place.tick())
    write_pdf(place.sources / "a.pdf", ["another edition"])
    (changed,) = requests(place.tick())
    assert changed.run_key != request.run_key


def test_a_tick_evaluated_twice_has_one_key_and_a_lost_cursor_loses_nothing(place: Place) -> None:
    place.add("a.pdf")
    (first,) = requests(place.tick(keep=False))
    (again,) = requests(place.tick(keep=False))
    assert first.run_key == again.run_key
    place.cursor = "not json"
    (lost,) = requests(place.tick())
    assert lost.run_key == first.run_key


def test_nothing_is_asked_while_an_indexing_runs(place: Place) -> None:
    place.add("a.pdf")
    (request,) = requests(place.tick())
    place.finish(request, dg.DagsterRunStatus.STARTED)
    assert "on its way" in str(place.tick().skip_reason)


def test_a_failed_indexing_is_asked_for_again_later(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.add("a.pdf")
    (request,) = requests(place.tick())
    place.finish(request, dg.DagsterRunStatus.FAILURE)
    assert "failed" in str(place.tick().skip_reason)
    monkeypatch.setenv("PDFOCR_WATCH_RETRY_S", "0")
    (second,) = requests(place.tick())
    assert second.run_key != request.run_key
    assert second.tags[FOUND_TAG] == request.tags[FOUND_TAG]


def test_an_indexing_that_failed_for_good_is_not_asked_for_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_WATCH_RETRY_S", "0")
    place.add("a.pdf")
    (request,) = requests(place.tick())
    run = place.finish(request, dg.DagsterRunStatus.FAILURE)
    place.instance.add_run_tags(run.run_id, {STOPPED_TAG: "access_denied"})
    for _ in range(3):
        assert "access_denied" in str(place.tick().skip_reason)
    # Something else that is new may work.
    place.add("b.pdf")
    assert len(requests(place.tick())) == 1


def test_after_each_failure_the_next_indexing_waits_longer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_WATCH_RETRY_S", "0")
    place.add("a.pdf")
    for _ in range(4):
        (request,) = requests(place.tick())
        place.finish(request, dg.DagsterRunStatus.FAILURE)
    monkeypatch.setenv("PDFOCR_WATCH_RETRY_S", "100")
    waits = str(place.tick().skip_reason)
    seconds = int(waits.rpartition(" in ")[2].split()[0])
    assert 700 < seconds <= 800


def test_an_indexing_whose_process_was_killed_does_not_block(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_WATCH_RETRY_S", "0")
    place.add("a.pdf")
    (request,) = requests(place.tick())
    run = place.finish(request, dg.DagsterRunStatus.STARTED)
    place.instance.add_run_tags(run.run_id, {PROCESS_TAG: this_process().rpartition(":")[0] + ":1"})
    (again,) = requests(place.tick())
    assert again.run_key != request.run_key
    killed = place.instance.get_run_by_id(run.run_id)
    assert killed is not None
    assert killed.status is dg.DagsterRunStatus.FAILURE


def test_an_indexing_that_was_killed_before_its_first_step_does_not_block_for_ever(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PDFOCR_WATCH_RETRY_S", "0")
    place.add("a.pdf")
    (request,) = requests(place.tick())
    job = defs.resolve_job_def("pdfocr_all")
    place.instance.create_run_for_job(job, tags=dict(request.tags), status=dg.DagsterRunStatus.STARTING)
    assert "on its way" in str(place.tick().skip_reason)
    monkeypatch.setattr("pdfocr_dagster.liveness._LONGEST_START_S", -1.0)
    (again,) = requests(place.tick())
    assert again.run_key != request.run_key


def test_what_holds_no_document_is_looked_at_once(place: Place) -> None:
    place.add("a.pdf")
    (request,) = requests(place.tick())
    place.finish(request, dg.DagsterRunStatus.SUCCESS)
    assert "holds no document" in str(place.tick().skip_reason)


def test_a_trickle_waits_for_a_group_or_for_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_WATCH_MAX_WAIT_S", "3600")
    monkeypatch.setenv("PDFOCR_PAGES_PER_GROUP", "3")
    place.add("a.pdf")
    assert "wait for more" in str(place.tick().skip_reason)
    place.add("b.pdf")
    place.add("c.pdf")
    assert len(requests(place.tick())) == 1

    place.index()
    place.cursor = None
    place.add("d.pdf")
    assert "wait for more" in str(place.tick().skip_reason)
    remembered = json.loads(str(place.cursor))
    remembered["since"] -= 3601
    place.cursor = json.dumps(remembered)
    assert len(requests(place.tick())) == 1


def test_an_inbox_that_is_not_there_yet_is_no_error(place: Place) -> None:
    place.sources.rmdir()
    assert "Nothing new" in str(place.tick().skip_reason)


def test_the_nightly_schedule_asks_for_one_indexing(place: Place) -> None:
    night = datetime(2030, 1, 1, 2, tzinfo=UTC)
    with dg.build_schedule_context(place.instance, night) as context:
        request = NIGHTLY(context)
    assert isinstance(request, dg.RunRequest)
    assert request.tags[COLLECTION_TAG] == "pdfocr"
    assert request.run_key == "nightly-20300101T0200"


def test_after_the_night_everything_not_done_is_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdfocr_dagster.schedules._SETTLE_S", 0)
    assert not requests(place.tick(READING))
    place.add("a.pdf")
    place.index()
    place.add("b.pdf")
    place.index()
    first, second = place.workspace.group_keys()
    register_groups(place.instance, "pdfocr", [first, second])
    for name in ("page_groups", "dolma_documents", "markdown_export"):
        place.instance.report_runless_asset_event(dg.AssetMaterialization(name, partition=first))
    night = dg.RunRequest(run_key="n", tags={COLLECTION_TAG: "pdfocr", "pdfocr/nightly": "n"})
    place.finish(night, dg.DagsterRunStatus.SUCCESS)
    (request,) = requests(place.tick(READING))
    assert request.tags["dagster/asset_partition_range_start"] == second
    assert request.tags["dagster/asset_partition_range_end"] == second
    assert not requests(place.tick(READING))


def test_new_groups_are_requested_once_and_an_indexing_asks_for_none_again(place: Place) -> None:
    built = build_definitions()
    cursor = dg.evaluate_automation_conditions(built, place.instance).cursor
    register_groups(place.instance, "pdfocr", ["g1", "g2"])
    place.instance.report_runless_asset_event(dg.AssetMaterialization("work_index"))
    first = dg.evaluate_automation_conditions(built, place.instance, cursor=cursor)
    assert first.get_num_requested(dg.AssetKey("page_groups")) == 2
    for name in ("page_groups", "dolma_documents", "markdown_export"):
        for key in ("g1", "g2"):
            place.instance.report_runless_asset_event(dg.AssetMaterialization(name, partition=key))
    place.instance.report_runless_asset_event(dg.AssetMaterialization("work_index"))
    again = dg.evaluate_automation_conditions(built, place.instance, cursor=first.cursor)
    assert again.total_requested == 0
