"""How Dagster is told of our errors, so that its three ways to try again leave alone what cannot get better.

| who tries again | what stops it after a permanent error |
|---|---|
| a retry policy of the op | the failure says `allow_retries=False` |
| run retries of the instance (`dagster/max_retries`) | the run is tagged `dagster/retry_on_asset_or_op_failure: false` |
| sensors and automation | `new_documents_sensor` passes by what `STOPPED_TAG` marks; a new group is asked for once |

A document or a page that cannot be read is no error here: it gets its status row, and its group is done.
"""

from collections.abc import Mapping

import dagster as dg
from dagster._core.storage.tags import RETRY_ON_ASSET_OR_OP_FAILURE_TAG

from pdfocr_core.errors import PdfocrError
from pdfocr_dagster import local_run

__all__ = ["STOPPED_TAG", "failure", "failure_of_groups"]

STOPPED_TAG = "pdfocr/stopped_by"
"""On runs that failed for good: the error's code."""

_Context = dg.AssetExecutionContext | dg.OpExecutionContext


def failure(context: _Context, error: PdfocrError) -> dg.Failure:
    """The failure of a run that one error ended."""
    _remember(error)
    if not error.retryable:
        _stop_retries(context, error)
    return dg.Failure(
        description=str(error), metadata={"code": error.code, "remedy": error.remedy}, allow_retries=error.retryable
    )


def failure_of_groups(context: _Context, failed: Mapping[str, PdfocrError], groups: int) -> dg.Failure:
    """The failure of a run that read its groups, but for some."""
    for error in failed.values():
        _remember(error)
    retryable = any(error.retryable for error in failed.values())
    if not retryable:
        _stop_retries(context, next(iter(failed.values())))
    return dg.Failure(
        f"{len(failed)} of {groups} groups failed",
        metadata={"groups": {key: str(error) for key, error in failed.items()}},
        allow_retries=retryable,
    )


def _stop_retries(context: _Context, error: PdfocrError) -> None:
    # Before the failure is raised: Dagster decides about another run in the moment in which this one fails.
    context.instance.add_run_tags(
        context.run.run_id, {RETRY_ON_ASSET_OR_OP_FAILURE_TAG: "false", STOPPED_TAG: error.code}
    )


def _remember(error: PdfocrError) -> None:
    current = local_run.current()
    if current is not None:
        current.failures.append(error)
