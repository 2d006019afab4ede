"""Markdown files written anew, with other settings, for groups that were read before: runs of `markdown_export` alone."""

from collections.abc import Mapping
from typing import Any

from pdfocr_core.errors import ConfigurationError, PdfocrError
from pdfocr_dagster import local_run, runs
from pdfocr_dagster.group_events import MARKDOWN
from pdfocr_dagster.liveness import repair_runs
from pdfocr_dagster.storage import WorkspaceResource

__all__ = ["rewrite_markdown_files"]


def rewrite_markdown_files(root: str, collection: str, resources: Mapping[str, Mapping[str, Any]]) -> int:
    """Materialize `markdown_export` for every group that has documents; no model is asked. Returns how many groups.

    Raises:
        PdfocrError: it did not work.
    """
    workspace = WorkspaceResource(**resources["workspace"]).open()
    with runs.open_instance(root) as (instance, _home), local_run.sharing() as shared:
        repair_runs(instance)
        of_collection = runs.CollectionRuns(instance, collection, resources)
        of_collection.check_owner(workspace.url)
        done = [key for key in workspace.group_keys() if workspace.has_results(key)]
        if not done:
            raise ConfigurationError(f"Nothing has been read in {root} yet.", remedy="Run `pdfocr run` first.")
        todo = of_collection.todo(done, [MARKDOWN], again=True)
        success = of_collection.groups(todo, [MARKDOWN])
        if shared.failures:
            raise shared.failures[0]
        if not success:
            raise PdfocrError("; ".join(of_collection.errors) or "The run failed.", code="run_failed")
        return len(todo) - len(of_collection.left_to_others)
