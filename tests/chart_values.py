"""The part of Dagster's Helm chart (1.13) that our values use: unknown keys are refused, Kubernetes' own are its schema's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import kubernetes_validate
from psycopg2 import ProgrammingError
from psycopg2.extensions import make_dsn
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

KUBERNETES = "1.34"


def pod(spec: dict[str, Any], container: dict[str, Any]) -> dict[str, Any]:
    """A pod that has these fields."""
    container = {"name": "run", "image": "pdfocr", **container}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "run"}, "spec": {**spec, "containers": [container]}}


def _in_pod(field: str) -> AfterValidator:
    def check(value: dict[str, Any]) -> dict[str, Any]:
        kubernetes_validate.validate(pod({}, {field: value}), KUBERNETES, strict=True)
        return value

    return AfterValidator(check)


Resources = Annotated[dict[str, Any], _in_pod("resources")]
SecurityContext = Annotated[dict[str, Any], _in_pod("securityContext")]


def _taken_by_the_driver(parameters: dict[str, int]) -> dict[str, int]:
    try:
        make_dsn(**parameters)
    except ProgrammingError as error:
        raise ValueError(str(error)) from error
    return parameters


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True)


class Image(_Strict):
    repository: str
    tag: str
    pull_policy: Literal["Always", "IfNotPresent", "Never"]


class Name(_Strict):
    name: str


class FromEnvironment(_Strict):
    env: str


class Global(_Strict):
    postgresql_secret_name: str
    service_account_name: str


class ServiceAccount(_Strict):
    create: bool
    name: str
    annotations: dict[str, str]


class Port(_Strict):
    port: int


class PostgreSQL(_Strict):
    enabled: bool
    postgresql_scheme: str
    postgresql_host: str
    postgresql_username: str
    postgresql_database: str
    postgresql_params: Annotated[dict[str, int], AfterValidator(_taken_by_the_driver)]
    service: Port


class Service(_Strict):
    image: Image
    env_secrets: list[Name]
    security_context: SecurityContext
    resources: Resources


class Webserver(Service):
    replica_count: int


class Monitoring(_Strict):
    enabled: bool
    start_timeout_seconds: int
    cancel_timeout_seconds: int
    max_resume_run_attempts: int
    poll_interval_seconds: int


class Retries(_Strict):
    enabled: bool
    max_retries: int
    retry_on_asset_or_op_failure: bool


class Workers(_Strict):
    use_threads: bool
    num_workers: int


class Daemon(Service):
    enabled: bool
    run_monitoring: Monitoring
    run_retries: Retries
    sensors: Workers
    schedules: Workers


class Pools(_Strict):
    default_limit: int
    granularity: Literal["run", "op"]


class Runs(_Strict):
    max_concurrent_runs: int


class Concurrency(_Strict):
    enabled: bool
    pools: Pools
    runs: Runs


class Enabled(_Strict):
    enabled: bool


class Deployment(Service):
    name: str
    port: int
    code_server_args: list[str]
    include_config_in_launched_runs: Enabled


class Deployments(_Strict):
    enabled: bool
    deployments: list[Deployment]


class RunConfig(_Strict):
    container_config: dict[str, Any]
    pod_spec_config: dict[str, Any]
    pod_template_spec_metadata: dict[str, Any]
    job_spec_config: dict[str, Any]


class K8sRunLauncher(_Strict):
    image: Image
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"]
    load_incluster_config: bool
    env_secrets: list[Name]
    run_k8s_config: RunConfig = Field(alias="runK8sConfig")


class RunLauncherConfig(_Strict):
    k8s_run_launcher: K8sRunLauncher = Field(alias="k8sRunLauncher")


class RunLauncher(_Strict):
    type: Literal["K8sRunLauncher"]
    config: RunLauncherConfig


class S3Logs(_Strict):
    bucket: FromEnvironment
    prefix: str
    upload_interval: int
    skip_empty_files: bool


class LogsConfig(_Strict):
    s3_compute_log_manager: S3Logs = Field(alias="s3ComputeLogManager")


class Logs(_Strict):
    type: Literal["S3ComputeLogManager"]
    config: LogsConfig


class SchedulePurge(_Strict):
    purge_after_days: int


class SensorDays(_Strict):
    skipped: int
    success: int
    failure: int
    started: int


class SensorPurge(_Strict):
    purge_after_days: SensorDays


class Retention(_Strict):
    enabled: bool
    schedule: SchedulePurge
    sensor: SensorPurge


class Values(_Strict):
    """The whole file."""

    global_: Global = Field(alias="global")
    generate_postgresql_password_secret: bool
    service_account: ServiceAccount
    postgresql: PostgreSQL
    dagster_webserver: Webserver
    dagster_daemon: Daemon
    concurrency: Concurrency
    user_deployments: Deployments = Field(alias="dagster-user-deployments")
    run_launcher: RunLauncher
    compute_log_manager: Logs
    retention: Retention
    telemetry: Enabled
