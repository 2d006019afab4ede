"""Partitions: one dynamic partition per page group, in a set named after the collection."""

from collections.abc import Iterable, Sequence

import dagster as dg
from pydantic import BaseModel, Field
from sqlalchemy.exc import IntegrityError

from pdfocr_dagster.environment import settings_from

DEFAULT_COLLECTION = "pdfocr"
POOL = "inference"
"""Runs that hold an inference server."""

_BATCH = 10_000  # partition keys added in one statement


class BatchSettings(BaseModel):
    """How many groups share a run, and with it one start of the inference server."""

    groups_per_run: int = Field(default=50, ge=1)


def groups_per_run() -> int:
    """`PDFOCR_GROUPS_PER_RUN`, else 50; the backfills' share of it is read when the code location is loaded."""
    return settings_from(BatchSettings, {}).groups_per_run


def group_partitions(collection: str) -> dg.DynamicPartitionsDefinition:
    """The partitions of a collection. Their names are global in a Dagster instance, hence the collection's name."""
    return dg.DynamicPartitionsDefinition(name=collection)


def asset_key(collection: str, name: str) -> dg.AssetKey:
    """Asset keys of any but the default collection carry its name, so that several live in one deployment."""
    return dg.AssetKey([name] if collection == DEFAULT_COLLECTION else [collection, name])


def register_groups(instance: dg.DagsterInstance, collection: str, keys: Iterable[str]) -> list[str]:
    """Add the keys that are not there yet, in order; returns the new ones."""
    known = set(instance.get_dynamic_partitions(collection))
    new = [key for key in dict.fromkeys(keys) if key not in known]
    for start in range(0, len(new), _BATCH):
        batch = new[start : start + _BATCH]
        try:
            instance.add_dynamic_partitions(collection, batch)
        except IntegrityError:
            # Another indexing has added some of them between Dagster's look and its insertion.
            instance.add_dynamic_partitions(collection, batch)
    return new


def register_pool(instance: dg.DagsterInstance) -> None:
    """Make the instance's default limit hold for the pool of inference servers.

    Dagster notes a pool when its first runs are launched, and launches all of those at once.
    """
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits or not instance.global_op_concurrency_default_limit:
        return
    if POOL not in {limit.name for limit in storage.get_pool_limits()}:
        storage.initialize_concurrency_limit_to_default(POOL)


def ranges(order: Sequence[str], wanted: Iterable[str], longest: int) -> list[tuple[str, str]]:
    """The wanted keys as ranges (first, last) of at most `longest` keys that are neighbours in `order`."""
    chosen = set(wanted)
    found: list[list[str]] = []
    previous_wanted = False
    for key in order:
        if key in chosen:
            if previous_wanted and len(found[-1]) < longest:
                found[-1].append(key)
            else:
                found.append([key])
        previous_wanted = key in chosen
    return [(run[0], run[-1]) for run in found]
