"""The files of docker/: each is held against its schema, and a misspelt key in it is found."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._config import process_config
from dagster._core.instance.config import dagster_instance_config, dagster_instance_config_schema
from dagster._serdes import ConfigurableClassData
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from psycopg2 import ProgrammingError
from psycopg2.extensions import make_dsn

from pdfocr_core.settings import ReadSettings
from pdfocr_dagster.resources import PageSettings
from tests.dockerfile_rules import problems

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE = ["compose.yaml", "compose.gpu.yaml"]


def _loaded(name: str) -> Any:
    return yaml.safe_load((DOCKER / name).read_text(encoding="utf-8"))


def _compose_schema() -> Draft202012Validator:
    from importlib.resources import files

    text = (files("check_jsonschema.builtin_schemas") / "vendor" / "compose-spec.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    return validator_for(schema)(schema)


def _keys(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all keys of mappings."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from _keys(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _keys(inner, (*path, number))


def _misspelt(value: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[f"{path[-1]}x"] = inner.pop(path[-1])
    return changed


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_follow_the_specification(name: str) -> None:
    assert [error.message for error in _compose_schema().iter_errors(_loaded(name))] == []


@pytest.mark.parametrize("name", COMPOSE)
def test_a_misspelt_key_of_a_compose_file_is_found(name: str) -> None:
    """Names of services, volumes and variables, and extensions, may be anything; all other keys may not."""
    schema, content = _compose_schema(), _loaded(name)
    free = {"services", "volumes", "environment", "depends_on"}
    tried = 0
    for path in _keys(content):
        if (len(path) > 1 and path[-2] in free) or path[0].startswith("x-") or path[-1] == "<<":
            continue
        tried += 1
        assert not schema.is_valid(_misspelt(content, path)), f"{path} may be misspelt"
    assert tried >= 9


def test_services_wait_for_services_that_are_there() -> None:
    services = _loaded("compose.yaml")["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name
        assert "healthcheck" in service or name == "code", "the image of the code location has its own"


def test_what_compose_asks_for_is_in_the_example_of_the_environment() -> None:
    text = (DOCKER / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#?(\w+)=", text, flags=re.MULTILINE))
    wanted = set(re.findall(r"\$\{(\w+)\}", (DOCKER / "compose.yaml").read_text(encoding="utf-8")))
    wanted |= {path["env"] for path in _mappings(_loaded("dagster.yaml")) if set(path) == {"env"}}
    assert wanted <= named


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _mappings(inner)


@pytest.fixture
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for line in (DOCKER / ".env.example").read_text(encoding="utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            monkeypatch.setenv(name, value)
    for name in ("PDFOCR_TASK_DEFINITION", "PDFOCR_ECS_CLUSTER", "PDFOCR_CAPACITY_PROVIDER"):
        monkeypatch.setenv(name, "given")


def _instance_problems(content: dict[str, Any]) -> list[str]:
    """What Dagster says of an instance's configuration, also of that of its classes."""
    found = process_config(dg.Shape(dagster_instance_config_schema()), content)
    messages = [error.message for error in found.errors or []]
    for value in content.values():
        if isinstance(value, dict) and {"module", "class"} <= set(value):
            config = yaml.safe_dump(value.get("config", {}))
            loaded = ConfigurableClassData(value["module"], value["class"], config)
            checked = process_config(_class_of(loaded).config_type(), yaml.safe_load(config))
            messages += [error.message for error in checked.errors or []]
    try:
        # Dagster hands these to the driver as they are.
        make_dsn(**content.get("storage", {}).get("postgres", {}).get("postgres_db", {}).get("params", {}))
    except ProgrammingError as error:
        messages.append(str(error))
    return messages


def _class_of(data: ConfigurableClassData) -> Any:
    import importlib

    return getattr(importlib.import_module(data.module_name), data.class_name)


INSTANCES = ["dagster.yaml", "ecs/dagster.yaml"]


@pytest.mark.usefixtures("_environment")
@pytest.mark.parametrize("name", INSTANCES)
def test_the_instance_is_one_that_dagster_takes(name: str, tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text((DOCKER / name).read_text(encoding="utf-8"), encoding="utf-8")
    config, _custom = dagster_instance_config(str(tmp_path))
    assert _instance_problems(_loaded(name)) == []
    assert config["concurrency"]["pools"]["granularity"] == "run"


@pytest.mark.usefixtures("_environment")
@pytest.mark.parametrize("name", INSTANCES)
def test_a_misspelt_key_of_the_instance_is_found(name: str) -> None:
    content = _loaded(name)
    may_be_missed = {("run_coordinator", "class"), ("run_launcher", "class"), ("compute_logs", "class")}
    for path in _keys(content):
        # What `run_task` takes is for AWS to judge.
        if path in may_be_missed or path[-1] == "module" or "run_task_kwargs" in path[:-1]:
            continue
        try:
            found = _instance_problems(_misspelt(content, path))
        except (ImportError, AttributeError, KeyError):
            continue
        assert found, f"{path} may be misspelt"


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.vllm"])
def test_dockerfiles_keep_the_rules(name: str) -> None:
    assert problems((DOCKER / name).read_text(encoding="utf-8")) == []


_GOOD = 'FROM debian:12.1\nRUN true\nUSER 10001\nHEALTHCHECK CMD ["true"]\nCMD ["true"]\n'


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("debian:12.1", "debian"),
        ("debian:12.1", "debian:latest"),
        ("RUN true", "RUN apt-get install --yes --no-install-recommends tini"),
        ("RUN true", "RUN apt-get install --yes tini && rm -rf /var/lib/apt/lists/*"),
        ("RUN true", "RUN apt install tini"),
        ("RUN true", "RUN pip install pdfocr"),
        ("RUN true", "ADD https://example.org/x /x"),
        ("RUN true", "ENV PDFOCR_API_KEY=abc"),
        ("RUN true", "WORKDIR data"),
        ("USER 10001", "USER root"),
        ("USER 10001", ""),
        ('HEALTHCHECK CMD ["true"]', ""),
        ('\nCMD ["true"]', "\nCMD true"),
    ],
)
def test_each_rule_finds_what_it_is_for(good: str, bad: str) -> None:
    assert problems(_GOOD) == []
    assert len(problems(_GOOD.replace(good, bad))) == 1


def _graces() -> dict[str, tuple[float, str | None]]:
    """How long each deployment gives a run between SIGTERM and SIGKILL, and what it tells the run of that."""
    code = _loaded("compose.yaml")["services"]["code"]
    minutes = re.fullmatch(r"(\d+)m", code["stop_grace_period"])
    assert minutes is not None
    run = _loaded("kubernetes/values.yaml")["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]
    (task,) = json.loads((DOCKER / "ecs" / "task-definition.json").read_text(encoding="utf-8"))["containerDefinitions"]

    def told(variables: list[dict[str, str]]) -> str | None:
        return next((one["value"] for one in variables if one["name"] == "PDFOCR_STOP_GRACE_S"), None)

    return {
        "compose": (60.0 * int(minutes[1]), code["environment"].get("PDFOCR_STOP_GRACE_S")),
        "kubernetes": (run["podSpecConfig"]["terminationGracePeriodSeconds"], told(run["containerConfig"]["env"])),
        "ecs": (task["stopTimeout"], told(task["environment"])),
    }


def test_a_run_has_time_to_end_after_its_last_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (killed_after_s, told) in _graces().items():
        assert told is not None, f"{name} does not set PDFOCR_STOP_GRACE_S"
        monkeypatch.setenv("PDFOCR_STOP_GRACE_S", told)
        waits_s = PageSettings().settings().stop_grace_s
        assert 30 <= waits_s <= killed_after_s - 20, name  # docs/deploy.md: what comes after the wait takes up to 20 s
    assert ReadSettings().stop_grace_s <= 30 - 20  # the shortest notice of the clouds


def _task_definition_problems(content: dict[str, Any]) -> str:
    import botocore.session
    from botocore.validate import ParamValidator

    service = botocore.session.get_session().get_service_model("ecs")
    shape = service.operation_model("RegisterTaskDefinition").input_shape
    report: str = ParamValidator().validate(content, shape).generate_report()
    return report


def test_the_task_of_a_run_is_one_that_ecs_takes() -> None:
    content = json.loads((DOCKER / "ecs" / "task-definition.json").read_text(encoding="utf-8"))
    assert _task_definition_problems(content) == ""
    for path in _keys(content):
        if "options" not in path[:-1]:
            assert _task_definition_problems(_misspelt(content, path)), f"{path} may be misspelt"
    launcher = _loaded("ecs/dagster.yaml")["run_launcher"]["config"]
    assert [container["name"] for container in content["containerDefinitions"]] == [launcher["container_name"]]
