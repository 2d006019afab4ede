"""Pruning the history in a real PostgreSQL: what was said goes, what is done stays done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import psycopg2
import pytest

from pdfocr_core.testing.server import MODEL, fault_server
from pdfocr_dagster.definitions import build_definitions, job_name
from pdfocr_dagster.history import prune_history
from tests.documents import write_collection
from tests.postgres import Postgres, programs

ASSETS = ("page_groups", "dolma_documents", "markdown_export")
GROUPS = 3


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip("no PostgreSQL: install the package postgresql")
    server = Postgres()
    yield server
    server.end()


def events(postgres: Postgres) -> int:
    with psycopg2.connect(postgres.url.replace("+psycopg2", "")) as connection, connection.cursor() as cursor:
        cursor.execute("select count(*) from event_logs")
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def test_what_is_done_stays_done_when_the_history_is_pruned(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dagster.yaml").write_text(f"storage:\n  postgres:\n    postgres_url: {postgres.url}\n")
    definitions = build_definitions()
    job = definitions.resolve_job_def(job_name("pdfocr"))
    with fault_server() as server, dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        for name, value in {
            "WORKSPACE": tmp_path / "workspace",
            "SOURCES": write_collection(tmp_path / "sources", GROUPS, 1),
            "ENGINE": "remote",
            "MODEL": MODEL,
            "SERVER_URLS": server.url,
            "PAGES_PER_GROUP": 1,
            "REPORT_PAGES": 0,
            "THUMBNAILS": 0,
        }.items():
            monkeypatch.setenv(f"PDFOCR_{name}", str(value))

        def execute(*names: str, partition: str | None = None) -> bool:
            keys = [dg.AssetKey(name) for name in names]
            return job.execute_in_process(
                instance=instance, asset_selection=keys, partition_key=partition, raise_on_error=False
            ).success

        def standing() -> dict[str, object]:
            check = dg.AssetCheckKey(dg.AssetKey("page_groups"), "pages_add_up")
            partitions = instance.event_log_storage.get_asset_check_partition_info([check])
            return {
                "done": {name: instance.get_materialized_partitions(dg.AssetKey(name)) for name in ASSETS},
                "checks": {(one.partition_key, one.latest_execution_status) for one in partitions},
                "statuses": {
                    name: instance.get_status_by_partition(
                        dg.AssetKey(name), list(keys), dg.DynamicPartitionsDefinition(name="pdfocr")
                    )
                    for name in ASSETS
                },
                "runs": {(run.run_id, run.status) for run in instance.get_runs()},
            }

        assert execute("work_index")
        keys = instance.get_dynamic_partitions("pdfocr")
        assert len(keys) == GROUPS
        for key in keys[:-1]:
            assert execute(*ASSETS, partition=key)
        (tmp_path / "workspace" / "groups" / f"{keys[-1]}.json").unlink()
        assert not execute(*ASSETS, partition=keys[-1])
        before, all_events = standing(), events(postgres)
        assert prune_history(instance, older_than_days=1) == 0
        pruning = definitions.resolve_job_def("prune_history")
        config = {"ops": {"prune_history_op": {"config": {"older_than_days": 0}}}}
        assert pruning.execute_in_process(instance=instance, run_config=config).success
        after = standing()
        del before["runs"], after["runs"]
        assert after == before
        left = events(postgres)
        assert left < all_events / 2
        assert prune_history(instance, older_than_days=0) > 0  # what the pruning itself said
        assert events(postgres) < left


def test_a_history_in_files_is_left_alone(tmp_path: Path) -> None:
    with dg.instance_for_test(temp_dir=str(tmp_path)) as instance, pytest.raises(dg.Failure, match="PostgreSQL"):
        prune_history(instance, older_than_days=0)
