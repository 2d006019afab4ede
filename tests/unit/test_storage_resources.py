"""From resources, their variables and `S3Resource` to how a store is reached."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from dagster_aws.s3 import S3Resource

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.settings import StorageSettings
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource, _storage


def test_fields_go_before_variables_and_the_two_places_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDFOCR_SOURCES_PROFILE", "archive")
    monkeypatch.setenv("PDFOCR_SOURCES_ENDPOINT", "http://sources:9000")
    monkeypatch.setenv("PDFOCR_WORKSPACE_REGION", "eu-west-1")
    assert SourcesResource(profile="mine").storage() == StorageSettings(profile="mine", endpoint="http://sources:9000")
    assert _storage(WorkspaceResource(), "workspace_") == StorageSettings(region="eu-west-1")


def test_an_s3_resource_says_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "the secret")
    s3 = S3Resource(
        endpoint_url="https://store",
        region_name="eu",
        aws_access_key_id="key",
        aws_secret_access_key=dg.EnvVar("SECRET"),
        use_unsigned_session=False,
    )
    seen: list[StorageSettings] = []

    @dg.asset
    def look(sources: SourcesResource) -> None:
        seen.append(sources.storage())

    assert dg.materialize([look], resources={"sources": SourcesResource(s3=s3)}).success
    assert seen == [
        StorageSettings(
            endpoint="https://store", region="eu", access_key_id="key", secret_access_key="the secret", unsigned=False
        )
    ]


def test_a_wrong_endpoint_names_its_variable() -> None:
    with pytest.raises(ConfigurationError, match="endpoint"):
        SourcesResource(endpoint="store:9000").storage()


def test_sources_come_from_the_field_or_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PDFOCR_SOURCES", f"s3://a/b\n\n{tmp_path}\n")
    assert SourcesResource().named() == ["s3://a/b", str(tmp_path)]
    assert SourcesResource(urls=["s3://c"]).named() == ["s3://c"]
