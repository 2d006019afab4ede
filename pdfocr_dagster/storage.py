"""Resources for where things are: the workspace and the sources, each with its own way to S3.

They may be in different accounts: each takes a `dagster_aws.s3.S3Resource`, or a profile, keys, region and endpoint. What
is left out comes from `PDFOCR_WORKSPACE_<FIELD>` and `PDFOCR_SOURCES_<FIELD>`, then from the usual AWS environment.
"""

from typing import Any, ClassVar, Optional

import dagster as dg
from dagster_aws.s3 import S3Resource
from pydantic import Field

from pdfocr_core.settings import StorageSettings
from pdfocr_core.workspace import Workspace, open_workspace
from pdfocr_dagster.environment import settings_from, variable

__all__ = ["SourcesResource", "WorkspaceResource"]


def _storage(resource: Any, prefix: str) -> StorageSettings:
    given = {name: getattr(resource, name) for name in StorageSettings.model_fields}
    if resource.s3 is not None:
        of_s3: S3Resource = resource.s3
        given |= {
            "endpoint": of_s3.endpoint_url,
            "region": of_s3.region_name,
            "profile": of_s3.profile_name,
            "access_key_id": of_s3.aws_access_key_id,
            "secret_access_key": of_s3.aws_secret_access_key,
            "session_token": of_s3.aws_session_token,
            "unsigned": of_s3.use_unsigned_session,
        }
    return settings_from(StorageSettings, given, prefix=prefix)


class WorkspaceResource(dg.ConfigurableResource["WorkspaceResource"]):
    """Where everything that the collection becomes is kept."""

    variables: ClassVar[str] = "workspace_"

    root: str | None = Field(
        default=None, description="Local folder or s3:// URL. Variable: PDFOCR_WORKSPACE. Default: ./workspace."
    )
    s3: Optional[S3Resource] = Field(default=None, description="In place of the fields below.")  # noqa: UP045
    endpoint: str | None = Field(default=None, description="URL of an S3-compatible store.")
    region: str | None = Field(default=None, description="The bucket's region.")
    profile: str | None = Field(default=None, description="A profile of ~/.aws/config.")
    access_key_id: str | None = Field(default=None, description="Give it as an EnvVar.")
    secret_access_key: str | None = Field(default=None, description="Give it as an EnvVar.")
    session_token: str | None = Field(default=None, description="Of temporary credentials; give it as an EnvVar.")
    unsigned: bool | None = Field(default=None, description="Send no credentials. Default: false.")

    def open(self) -> Workspace:
        """The workspace itself."""
        return open_workspace(self.root or variable("workspace") or "workspace", self.storage())

    def storage(self) -> StorageSettings:
        """How the workspace's store is reached."""
        return _storage(self, self.variables)


class SourcesResource(dg.ConfigurableResource["SourcesResource"]):
    """What is read, and how S3 is reached for it."""

    variables: ClassVar[str] = "sources_"

    urls: list[str] | None = Field(
        default=None,
        description="What to index when a run names nothing else: files, folders, globs, lists, s3:// URLs. "
        "Variable: PDFOCR_SOURCES, one a line.",
    )
    s3: Optional[S3Resource] = Field(default=None, description="In place of the fields below.")  # noqa: UP045
    endpoint: str | None = Field(default=None, description="URL of an S3-compatible store.")
    region: str | None = Field(default=None, description="The buckets' region.")
    profile: str | None = Field(default=None, description="A profile of ~/.aws/config.")
    access_key_id: str | None = Field(default=None, description="Give it as an EnvVar.")
    secret_access_key: str | None = Field(default=None, description="Give it as an EnvVar.")
    session_token: str | None = Field(default=None, description="Of temporary credentials; give it as an EnvVar.")
    unsigned: bool | None = Field(default=None, description="Public buckets: send no credentials. Default: false.")

    def named(self) -> list[str]:
        """The sources of this resource or its variable; none when neither is set."""
        return self.urls or [line for line in (variable("sources") or "").splitlines() if line.strip()]

    def storage(self) -> StorageSettings:
        """How the sources' stores are reached."""
        return _storage(self, self.variables)
