"""What the Dagster UI shows, by real materializations in this process: metadata, checks, partitions after failures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from pdfocr_dagster import runs
from pdfocr_dagster.definitions import build_definitions, job_name
from tests.counting_server import counting_server
from tests.documents import write_collection, write_pdf

ASSETS = ("page_groups", "dolma_documents", "markdown_export")
NUMBERS = {
    *("documents", "pages", "failed_pages", "fallback_pages", "fallback_rate", "empty_text_rate", "repetition_rate"),
    *("tokens_in", "tokens_out", "pages_per_second", "cost"),
}


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collection]:
    with counting_server() as server, dg.instance_for_test(temp_dir=str(_folder(tmp_path / "home"))) as instance:
        for name, value in {
            "WORKSPACE": tmp_path / "w",
            "SOURCES": tmp_path / "sources",
            "ENGINE": "remote",
            "MODEL": "pdfocr-cpu",
            "SERVER_URLS": server.url,
            "PRICE_OUT": "2",
            "REPORT_PAGES": "1",
        }.items():
            monkeypatch.setenv(f"PDFOCR_{name}", str(value))
        write_collection(tmp_path / "sources", documents=5, pages=2)
        (tmp_path / "sources" / "broken.pdf").write_bytes(b"%PDF-1.4\n")
        yield Collection(instance, tmp_path / "w")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


class Collection:
    def __init__(self, instance: dg.DagsterInstance, workspace: Path) -> None:
        self.instance, self.workspace = instance, workspace
        self.job = build_definitions().resolve_job_def(job_name("pdfocr"))

    def execute(self, *assets: str, config: dict[str, Any] | None = None, **tags: str) -> dg.ExecuteInProcessResult:
        return self.job.execute_in_process(
            instance=self.instance,
            asset_selection=[dg.AssetKey(name) for name in assets],
            run_config=config or {},
            tags=tags,
            raise_on_error=False,
        )

    def index(self) -> list[str]:
        config = {"ops": {"work_index": {"config": {"pages_per_group": 4}}}}
        assert self.execute("work_index", config=config).success
        return list(self.instance.get_dynamic_partitions("pdfocr"))

    def read(self, first: str, last: str) -> dg.ExecuteInProcessResult:
        tags = {ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last}
        return self.execute(*ASSETS, **tags)

    def metadata(self, name: str) -> dict[str, dg.MetadataValue[Any]]:
        event = self.instance.get_latest_materialization_event(dg.AssetKey(name))
        assert event is not None
        assert event.asset_materialization is not None
        return dict(event.asset_materialization.metadata)


def test_the_ui_has_numbers_tables_pictures_and_checks(collection: Collection) -> None:
    keys = collection.index()
    assert collection.read(keys[0], keys[-1]).success
    result = collection.execute("collection_report")
    assert result.success
    for name in ("page_groups", "collection_report"):
        metadata = collection.metadata(name)
        assert set(metadata) >= NUMBERS
        assert all(isinstance(metadata[key].value, int | float) for key in NUMBERS)
        assert "data:image/svg+xml;base64," in str(metadata["status"].value)
    report = collection.metadata("collection_report")
    assert (report["documents"].value, report["pages"].value, report["tokens_out"].value) == (6, 10, 200)
    assert report["cost"].value == pytest.approx(200 * 2 / 1e6)
    reasons = report["document_reasons"]
    assert isinstance(reasons, dg.TableMetadataValue)
    assert [(column.name, column.type) for column in reasons.schema.columns][:2] == [
        ("reason", "string"),
        ("count", "int"),
    ]
    assert Path(str(report["report"].value)).is_file()
    group = collection.metadata("page_groups")
    assert "![page](data:image/jpeg;base64," in str(group["sampled_page"].value)
    assert len(str(group["sampled_page"].value)) < 50_000
    # The picture is stored once, not with each of the three assets.
    assert "sampled_page" not in collection.metadata("markdown_export")
    assert Path(str(collection.metadata("dolma_documents")["status_rows"].value)).is_file()
    checks = {(one.asset_key.to_user_string(), one.check_name): one for one in result.get_asset_check_evaluations()}
    assert set(checks) == {
        ("collection_report", name)
        for name in (
            *("books_balance", "failed_document_rate", "fallback_rate", "empty_text_rate", "repetition_rate"),
            *("language_mix_shift", "text_layer_coverage"),
        )
    }
    # One document of six is broken, and the stand-in server does not read the pages: their text layers tell.
    warned = {name for (_asset, name), check in checks.items() if not check.passed}
    assert warned == {"failed_document_rate", "text_layer_coverage"}
    assert checks["collection_report", "text_layer_coverage"].severity is dg.AssetCheckSeverity.WARN

    # A status row that is lost is an error, and it stops what would come after the report.
    status = collection.workspace / "status" / f"{keys[0]}.jsonl"
    status.write_text("".join(status.read_text().splitlines(keepends=True)[:-1]))
    result = collection.execute("collection_report")
    (check,) = (one for one in result.get_asset_check_evaluations() if one.check_name == "books_balance")
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert check.metadata["missing"].value == 1
    assert not result.success


def test_partitions_tell_the_truth_after_a_group_failed(collection: Collection) -> None:
    keys = collection.index()
    assert len(keys) == 3
    (collection.workspace / "groups" / f"{keys[1]}.json").unlink()
    assert not collection.read(keys[0], keys[-1]).success
    partitions = dg.DynamicPartitionsDefinition(name="pdfocr")
    for name in ASSETS:
        statuses = collection.instance.get_status_by_partition(dg.AssetKey(name), keys, partitions)
        assert statuses is not None
        assert [statuses[key].name for key in keys if statuses[key] is not None] == [
            "MATERIALIZED",
            "FAILED",
            "MATERIALIZED",
        ]


def test_each_group_is_judged_by_thresholds_of_the_configuration(collection: Collection) -> None:
    write_pdf(collection.workspace.parent / "sources" / "a_long_one.pdf", [f"page {number}" for number in range(30)])
    keys = collection.index()
    tags = {ASSET_PARTITION_RANGE_START_TAG: keys[0], ASSET_PARTITION_RANGE_END_TAG: keys[0]}
    config = {"resources": {"quality": {"config": {"judged_from_pages": 1, "max_repetition_rate": 0.0}}}}
    result = collection.execute(*ASSETS, config=config, **tags)
    found = {one.check_name: one for one in result.get_asset_check_evaluations()}
    assert set(found) == {"pages_add_up", "statuses_add_up", "fallback_rate", "empty_text_rate", "repetition_rate"}
    assert all(one.passed and one.partition == keys[0] for one in found.values())
    assert found["repetition_rate"].metadata["threshold"].value == 0.0
    # And the run's log has a line for the group, none for each page.
    ours = [
        entry.user_message
        for entry in collection.instance.all_logs(result.run_id)
        if not entry.is_dagster_event and entry.level >= logging.INFO
    ]
    assert 1 <= len(ours) < 15, ours  # 30 pages, and what a slow run says of its progress


def test_assets_have_owners_kinds_descriptions_and_code() -> None:
    specs = {
        spec.key.to_user_string(): spec for spec in build_definitions(owners=["a@b.org"]).resolve_all_asset_specs()
    }
    assert set(specs) == {*ASSETS, "work_index", "collection_report"}
    for spec in specs.values():
        assert spec.owners == ["a@b.org"]
        assert spec.description
        assert spec.kinds
        assert spec.group_name == "pdfocr"
        references = spec.metadata["dagster/code_references"].code_references
        assert Path(references[0].file_path).is_file()
    assert runs.collection_job("letters").name == "letters_all"
