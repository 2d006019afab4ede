"""Definitions: what Dagster loads. Importing this module defines things and does nothing else."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from pdfocr_dagster.assets import build_groups, build_report, build_work_index
from pdfocr_dagster.bench_scores import bench_settings, build_bench_scores
from pdfocr_dagster.history import build_prune_history_job, build_prune_history_schedule
from pdfocr_dagster.liveness import build_dead_runs_sensor
from pdfocr_dagster.partitions import DEFAULT_COLLECTION
from pdfocr_dagster.quality import QualityThresholds
from pdfocr_dagster.resources import InferenceServer, PageSettings
from pdfocr_dagster.retrying import build_retry_job
from pdfocr_dagster.schedules import build_nightly_ingestion, build_nightly_reading
from pdfocr_dagster.sensors import build_new_documents_sensor, build_new_groups_sensor, named_for
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource


def job_name(collection: str) -> str:
    """The name of the job that holds a collection's whole graph."""
    return f"{collection}_all"


def build_definitions(
    collection: str = DEFAULT_COLLECTION, *, resources: Mapping[str, Any] | None = None, owners: Sequence[str] = ()
) -> dg.Definitions:
    """Everything of one collection.

    Args:
        collection: a name of letters, digits and underscores; it names the partitions and, for any but the default,
            prefixes the asset keys, so that several collections can live in one deployment.
        resources: replacements for `workspace`, `sources`, `inference`, `pages` and `quality`.
        owners: who is asked about the assets: mail addresses, or teams as `team:name`; else the team of the
            collection's name.
    """
    assets = [
        build_work_index(collection, collection),
        build_groups(collection, collection),
        build_report(collection, collection),
    ]
    bench = bench_settings()
    if bench.bench_data:
        assets.append(build_bench_scores(collection, bench))
    pruning = build_prune_history_job(named_for(collection, "prune_history"))
    return dg.Definitions(
        assets=_presented(assets, owners or [f"team:{collection}"]),
        jobs=[
            dg.define_asset_job(job_name(collection), selection=dg.AssetSelection.groups(collection)),
            build_retry_job(collection, named_for(collection, "retry_failed")),
            pruning,
        ],
        sensors=[
            build_new_documents_sensor(collection),
            build_new_groups_sensor(collection),
            build_nightly_reading(collection),
            build_dead_runs_sensor(named_for(collection, "dead_runs_sensor")),
        ],
        schedules=[build_nightly_ingestion(collection), build_prune_history_schedule(pruning)],
        resources={
            "workspace": WorkspaceResource(),
            "sources": SourcesResource(),
            "inference": InferenceServer(),
            "pages": PageSettings(),
            "quality": QualityThresholds(),
            **(resources or {}),
        },
        # One process per run: the inference server lives as long as the run, not as long as a step.
        executor=dg.in_process_executor,
    )


def _presented(assets: Sequence[dg.AssetsDefinition], owners: Sequence[str]) -> list[Any]:
    """The assets with their owners and with links to their code."""
    owned = [asset.map_asset_specs(lambda spec: spec.replace_attributes(owners=list(owners))) for asset in assets]
    with warnings.catch_warnings():
        # That these links are a beta of Dagster is no news for whoever loads the definitions.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return list(dg.with_source_code_references(owned))


defs = build_definitions()
