"""A backfill from the Dagster UI with a real vLLM: one run, one start, nothing left."""

from __future__ import annotations

import json
import time

import dagster as dg

from tests.counting_server import counting_server
from tests.documents import write_collection
from tests.integration.test_dagster import ASSETS, BACKFILL, LAUNCH, Deployment
from tests.vllm.conftest import VllmCommand
from tests.vllm.test_run import assert_all_were_read


def test_a_backfill_starts_the_server_once_for_all_groups(vllm_run: VllmCommand) -> None:
    sources = write_collection(vllm_run.folder / "sources", documents=20, pages=5)
    with counting_server() as unused:
        deployment = Deployment(vllm_run, unused, sources)
        deployment.environment.update(vllm_run.environment)
        del deployment.environment["PDFOCR_SERVER_URLS"]
    index = json.dumps({"ops": {"work_index": {"config": {"pages_per_group": 25}}}})
    module = ("-m", "pdfocr_dagster.definitions")
    deployment.dagster("asset", "materialize", "--select", "work_index", *module, "--config-json", index)
    with dg.DagsterInstance.from_config(str(deployment.home)) as instance, deployment.running():
        keys = instance.get_dynamic_partitions("pdfocr")
        selection = [{"path": [name]} for name in ASSETS]
        launched = deployment.ask(LAUNCH, backfill={"partitionNames": keys, "assetSelection": selection})
        backfill_id = launched["launchPartitionBackfill"]["backfillId"]
        deadline = time.monotonic() + 600
        while True:
            backfill = deployment.ask(BACKFILL, id=backfill_id)["partitionBackfillOrError"]
            if backfill["status"] not in ("REQUESTED", "IN_PROGRESS"):
                break
            assert time.monotonic() < deadline, backfill
            time.sleep(1)
        assert backfill["status"] == "COMPLETED_SUCCESS", backfill
        assert [run["status"] for run in backfill["runs"]] == ["SUCCESS"]
        event = instance.get_latest_materialization_event(dg.AssetKey("page_groups"))
        assert event is not None
        assert event.asset_materialization is not None
        window = str(event.asset_materialization.metadata["window"].value)
        # From the server's own metrics.
        for row in ("running in the engine", "waiting in the engine", "token cache used", "tokens per second"):
            assert row in window
    assert len(keys) == 4
    assert_all_were_read(vllm_run.pages(), 100)
    assert vllm_run.starts == 1
    vllm_run.assert_nothing_is_left()
