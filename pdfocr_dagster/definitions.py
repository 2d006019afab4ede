"""Definitions: what Dagster loads. Importing this module defines things and does nothing else."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from pdfocr_dagster.assets import build_groups, build_report, build_work_index
from pdfocr_dagster.partitions import DEFAULT_COLLECTION
from pdfocr_dagster.resources import InferenceServer, PageSettings
from pdfocr_dagster.schedules import build_nightly_ingestion, build_nightly_reading
from pdfocr_dagster.sensors import build_new_documents_sensor, build_new_groups_sensor
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource


def job_name(collection: str) -> str:
    """The name of the job that holds a collection's whole graph."""
    return f"{collection}_all"


def build_definitions(
    collection: str = DEFAULT_COLLECTION, *, resources: Mapping[str, Any] | None = None
) -> dg.Definitions:
    """Everything of one collection.

    Args:
        collection: a name of letters, digits and underscores; it names the partitions and, for any but the default,
            prefixes the asset keys, so that several collections can live in one deployment.
        resources: replacements for `workspace`, `sources`, `inference` and `pages`.
    """
    return dg.Definitions(
        assets=[
            build_work_index(collection, collection),
            build_groups(collection, collection),
            build_report(collection, collection),
        ],
        jobs=[dg.define_asset_job(job_name(collection), selection=dg.AssetSelection.groups(collection))],
        sensors=[
            build_new_documents_sensor(collection),
            build_new_groups_sensor(collection),
            build_nightly_reading(collection),
        ],
        schedules=[build_nightly_ingestion(collection)],
        resources={
            "workspace": WorkspaceResource(),
            "sources": SourcesResource(),
            "inference": InferenceServer(),
            "pages": PageSettings(),
            **(resources or {}),
        },
        # One process per run: the inference server lives as long as the run, not as long as a step.
        executor=dg.in_process_executor,
    )


defs = build_definitions()
