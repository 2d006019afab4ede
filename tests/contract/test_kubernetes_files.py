"""The Kubernetes files of docker/: the chart's values, the job of a run that comes of them, the policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes
import kubernetes_validate
import pytest
import yaml
from dagster_k8s.container_context import K8sContainerContext
from dagster_k8s.job import DagsterK8sJobConfig, UserDefinedDagsterK8sConfig, construct_dagster_k8s_job
from kubernetes_validate.utils import ValidationError as KubernetesError
from pydantic import ValidationError

from tests.chart_values import KUBERNETES, Values
from tests.contract.test_deployment_files import _keys, _misspelt

FOLDER = Path(__file__).parents[2] / "docker" / "kubernetes"


def _values() -> Any:
    return yaml.safe_load((FOLDER / "values.yaml").read_text(encoding="utf-8"))


def _run_config() -> dict[str, Any]:
    config = _values()["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]
    names = {
        "containerConfig": "container_config",
        "podSpecConfig": "pod_spec_config",
        "podTemplateSpecMetadata": "pod_template_spec_metadata",
        "jobSpecConfig": "job_spec_config",
    }
    return {name: config[key] for key, name in names.items()}


def _job(config: dict[str, Any], tag: dict[str, Any] | None = None) -> dict[str, Any]:
    """The job that Dagster would give Kubernetes for a run, with what a tag of the run asks for laid over it."""
    merged = K8sContainerContext(run_k8s_config=UserDefinedDagsterK8sConfig.from_dict(config)).merge(
        K8sContainerContext(run_k8s_config=UserDefinedDagsterK8sConfig.from_dict(tag or {}))
    )
    launcher = _values()["runLauncher"]["config"]["k8sRunLauncher"]
    image = f"{launcher['image']['repository']}:{launcher['image']['tag']}"
    job = construct_dagster_k8s_job(
        DagsterK8sJobConfig(job_image=image, dagster_home="/opt/dagster", image_pull_policy="IfNotPresent"),
        args=["dagster", "api", "execute_run"],
        job_name="pdfocr-run",
        user_defined_k8s_config=merged.run_k8s_config,
    )
    found: dict[str, Any] = kubernetes.client.ApiClient().sanitize_for_serialization(job)
    return found


def test_the_values_are_the_charts_and_every_misspelt_key_is_found() -> None:
    values = _values()
    Values.model_validate(values)
    free = {"labels", "annotations", "nodeSelector", "requests", "limits"}
    kubernetes_own = {"containerConfig", "podSpecConfig", "podTemplateSpecMetadata", "jobSpecConfig"}
    tried = 0
    for path in _keys(values):
        if free & set(path[:-1]) or kubernetes_own & set(path[:-1]):
            continue
        tried += 1
        with pytest.raises((ValidationError, KubernetesError)):
            Values.model_validate(_misspelt(values, path))
    assert tried > 100


def test_the_job_of_a_run_is_one_that_kubernetes_takes() -> None:
    job = _job(_run_config())
    kubernetes_validate.validate(job, KUBERNETES, strict=True)
    pod = job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert container["securityContext"]["runAsNonRoot"]
    assert pod["terminationGracePeriodSeconds"] == 120
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_a_misspelt_key_of_a_runs_pod_is_found() -> None:
    config = _run_config()
    for part, inside in (("pod_spec_config", "volumes"), ("container_config", "resources")):
        with pytest.raises(Exception, match=f"{inside}x|{inside}X|additional|nexpected"):
            kubernetes_validate.validate(_job(_misspelt(config, (part, inside))), KUBERNETES, strict=True)


def test_the_tag_of_the_documentation_gives_a_run_another_gpu() -> None:
    """docs/deploy.md shows a tag for a backfill; Dagster lays it over the launcher's configuration."""
    text = (FOLDER.parents[1] / "docs" / "deploy.md").read_text(encoding="utf-8")
    start = text.index('{"pod_spec_config"')
    tag = json.loads(text[start : text.index("\n", start)].rstrip("'` "))
    job = _job(_run_config(), tag)
    kubernetes_validate.validate(job, KUBERNETES, strict=True)
    pod = job["spec"]["template"]["spec"]
    assert tag["pod_spec_config"]["node_selector"].items() <= pod["nodeSelector"].items()
    assert pod["terminationGracePeriodSeconds"] == 120


def _policies() -> list[Any]:
    return list(yaml.safe_load_all((FOLDER / "network-policy.yaml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("number", range(3))
def test_policies_and_claims_are_ones_that_kubernetes_takes(number: int) -> None:
    content = _policies()[number]
    kubernetes_validate.validate(content, KUBERNETES, strict=True)
    for path in _keys(content):
        if "matchLabels" in path[:-1] or "labels" in path[:-1] or "requests" in path[:-1]:
            continue
        with pytest.raises(Exception, match=r"."):  # which one depends on the key
            kubernetes_validate.validate(_misspelt(content, path), KUBERNETES, strict=True)


def test_the_policy_is_about_the_pods_of_runs() -> None:
    labels = _values()["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]["podTemplateSpecMetadata"]["labels"]
    policy = _policies()[0]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["spec"]["ingress"] == []
