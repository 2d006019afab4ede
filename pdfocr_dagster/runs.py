"""Runs executed in this process, as `pdfocr run` does: the same job on the same instance, no daemon needed."""

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from pdfocr_core.errors import ConfigurationError
from pdfocr_core.store import is_url
from pdfocr_dagster.definitions import build_definitions, job_name
from pdfocr_dagster.group_events import DOLMA, MARKDOWN, PAGES
from pdfocr_dagster.liveness import PROCESS_TAG, this_process
from pdfocr_dagster.partitions import DEFAULT_COLLECTION, asset_key, groups_per_run, ranges, register_groups
from pdfocr_dagster.pending import in_progress


@contextmanager
def open_instance(workspace_url: str) -> Iterator[tuple[dg.DagsterInstance, str]]:
    """The Dagster instance under DAGSTER_HOME, or one beside the workspace when that is not set.

    Yields the instance and where it is kept.
    """
    home = os.environ.get("DAGSTER_HOME")
    if not home:
        home = str(instance_home(workspace_url))
        os.environ["DAGSTER_HOME"] = home
    folder = Path(home)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder):
            if not any((folder / name).exists() for name in ("dagster.yaml", "dagster.yml")):
                (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
            opened = dg.DagsterInstance.get()
    except OSError as error:
        raise ConfigurationError(
            f"The history of runs cannot be written to {home}: {error.strerror}.",
            remedy="Set DAGSTER_HOME to a folder that this user can write.",
        ) from error
    with opened as instance:
        yield instance, home


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Have other commands wait: two that create Dagster's tables in the same instant stumble over each other.

    The lock is on the folder itself and goes with the process. Where a file system has none, nobody waits.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def instance_home(workspace_url: str) -> Path:
    """Where the history of a workspace's runs is kept when the user names no DAGSTER_HOME."""
    if is_url(workspace_url):
        name = workspace_url.replace("://", "-").replace("/", "-").strip("-")
        return Path.home() / ".local" / "share" / "pdfocr" / name
    return Path(workspace_url + ".dagster")


class CollectionRuns:
    """Executes parts of a collection's graph in this process.

    Attributes:
        errors: what ended runs that failed, one line each.
        left_to_others: groups that were wanted and that other runs read, each with the run's id.
    """

    def __init__(
        self, instance: dg.DagsterInstance, collection: str, resources: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._instance, self._collection, self._resources = instance, collection, resources
        self.errors: list[str] = []
        self.left_to_others: dict[str, str] = {}
        self._job = dg.reconstructable(_job) if collection == DEFAULT_COLLECTION else None

    def check_owner(self, workspace_url: str) -> None:
        """Refuse to mix two workspaces in one collection of an instance.

        Raises:
            ConfigurationError: the collection was indexed into another workspace.
        """
        event = self._instance.get_latest_materialization_event(self._key("work_index"))
        materialization = event.asset_materialization if event is not None else None
        recorded = materialization.metadata.get("workspace") if materialization is not None else None
        owner = None if recorded is None else str(recorded.value)
        if owner is not None and owner != workspace_url:
            raise ConfigurationError(
                f"Collection {self._collection!r} of this Dagster instance belongs to the workspace {owner}.",
                remedy="Name another collection with --collection, or set another DAGSTER_HOME.",
            )

    def index(self, config: Mapping[str, Any]) -> bool:
        """Materialize `work_index`."""
        return self._execute([self._key("work_index")], {"work_index": {"config": dict(config)}})

    def todo(
        self, keys: Sequence[str], names: Sequence[str], *, again: bool, not_done: Collection[str] = ()
    ) -> list[str]:
        """The groups that lack one of the named assets; all of them when they shall be read again.

        `not_done` are groups whose materializations stand for nothing any more.
        """
        register_groups(self._instance, self._collection, keys)
        if again:
            return list(keys)
        done = [set(self._instance.get_materialized_partitions(self._key(name))) for name in names]
        return [key for key in keys if key in not_done or not all(key in of_asset for of_asset in done)]

    def groups(self, todo: Sequence[str], names: Sequence[str]) -> bool:
        """Materialize the named assets of these groups in as few runs as the order of partitions allows.

        What another run works on at that moment is left to it.
        """
        order = self._instance.get_dynamic_partitions(self._collection)
        success, left = True, list(todo)
        while left:
            busy = in_progress(self._instance, order)
            self.left_to_others.update({key: busy[key] for key in left if key in busy})
            left = [key for key in left if key not in busy]
            for first, last in ranges(order, left, groups_per_run())[:1]:
                tags = {ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last}
                success &= self._execute([self._key(name) for name in names], {}, tags)
                taken = set(order[order.index(first) : order.index(last) + 1])
                left = [key for key in left if key not in taken]
        return success

    def report(self) -> bool:
        """Materialize `collection_report`."""
        return self._execute([self._key("collection_report")], {})

    def reported_since(self, names: Sequence[str]) -> bool:
        """Whether `collection_report` was materialized after the last group of any of these assets."""
        report, *groups = (self._last(name) for name in ("collection_report", *names))
        return report > max(groups, default=0)

    def _last(self, name: str) -> int:
        """Where the asset's last materialization stands in the order of all events; 0 when there is none."""
        records = self._instance.fetch_materializations(self._key(name), limit=1).records
        return records[0].storage_id if records else 0

    def _key(self, name: str) -> dg.AssetKey:
        return asset_key(self._collection, name)

    def _execute(
        self, selection: Sequence[dg.AssetKey], ops: Mapping[str, Any], tags: Mapping[str, str] | None = None
    ) -> bool:
        config = {
            "ops": {self._op(name): value for name, value in ops.items()},
            "resources": {name: {"config": dict(value)} for name, value in self._resources.items()},
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        }
        tags = {PROCESS_TAG: this_process(), **(tags or {})}
        job = self._job or dg.build_reconstructable_job(
            "pdfocr_dagster.runs", "collection_job", reconstructable_args=(self._collection,)
        )
        result = dg.execute_job(
            job, self._instance, run_config=config, tags=tags, asset_selection=list(selection), raise_on_error=False
        )
        if not result.success:
            errors = _errors(result.all_events)
            if any(name in _INTERRUPTIONS for name, _message in errors):
                raise KeyboardInterrupt
            self.errors += [message for _name, message in errors]
        return bool(result.success)

    def _op(self, name: str) -> str:
        return name if self._collection == DEFAULT_COLLECTION else f"{self._collection}__{name}"


# Dagster turns Ctrl-C and SIGTERM into an exception of its own.
_INTERRUPTIONS = ("DagsterExecutionInterruptedError", "KeyboardInterrupt")


def _errors(events: Sequence[dg.DagsterEvent]) -> list[tuple[str, str]]:
    """The class and first line of every error in a run's events, causes first."""
    found: list[tuple[str, str]] = []
    for event in events:
        error = getattr(event.event_specific_data, "error", None)
        while error is not None:
            found.insert(0, (str(error.cls_name), str(error.message).strip().split("\n", 1)[0]))
            error = error.cause
    return found


def group_assets(*, markdown: bool) -> list[str]:
    """The names of the assets that a group has."""
    return [PAGES, DOLMA, MARKDOWN] if markdown else [PAGES, DOLMA]


def _job() -> dg.JobDefinition:
    return collection_job(DEFAULT_COLLECTION)


@cache
def collection_job(collection: str) -> dg.JobDefinition:
    """The job with a collection's whole graph."""
    return build_definitions(collection).resolve_job_def(job_name(collection))
