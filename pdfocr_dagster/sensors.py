"""New documents are found, indexed and read without anyone asking.

`new_documents_sensor` sees that there is something new and requests one run of `work_index`, which registers the groups;
`new_groups_sensor` then requests the assets of each group once. What the sensors remember is a hint only: what is new is
told by the index, what is being indexed by Dagster's runs. So a death at any moment loses no document and reads none twice.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from typing import Any

import dagster as dg

from pdfocr_core.errors import PdfocrError
from pdfocr_core.settings import IndexSettings, WatchSettings
from pdfocr_core.sources.known import Known
from pdfocr_core.sources.watch import Look, look_for_new
from pdfocr_core.store import store_opener
from pdfocr_dagster.environment import settings_from
from pdfocr_dagster.failing import STOPPED_TAG
from pdfocr_dagster.group_events import DOLMA, MARKDOWN, PAGES
from pdfocr_dagster.partitions import DEFAULT_COLLECTION, asset_key
from pdfocr_dagster.pending import unfinished_runs
from pdfocr_dagster.storage import SourcesResource, WorkspaceResource

__all__ = ["build_new_documents_sensor", "build_new_groups_sensor", "index_request", "named_for"]

COLLECTION_TAG, FOUND_TAG = "pdfocr/index_of", "pdfocr/found"
_LONGEST_PAUSE_S = 6 * 3600.0  # between two attempts at the same find

_known: dict[str, Known] = {}  # by workspace: the index is read once in the life of the code server


def named_for(collection: str, name: str) -> str:
    """Names of sensors and schedules of any but the default collection carry its name."""
    return name if collection == DEFAULT_COLLECTION else f"{collection}_{name}"


def index_request(collection: str, run_key: str, **tags: str) -> dg.RunRequest:
    """One run of `work_index` over everything that is configured; an inbox that is empty now is no error."""
    op = "work_index" if collection == DEFAULT_COLLECTION else f"{collection}__work_index"
    return dg.RunRequest(
        run_key=run_key,
        asset_selection=[asset_key(collection, "work_index")],
        run_config={"ops": {op: {"config": {"require_sources": False}}}},
        tags={COLLECTION_TAG: collection, **tags},
    )


def build_new_groups_sensor(collection: str) -> dg.SensorDefinition:
    """Requests pages, results and Markdown of every group that is registered after it was switched on."""
    names = [asset_key(collection, name) for name in (PAGES, DOLMA, MARKDOWN)]
    return dg.AutomationConditionSensorDefinition(
        named_for(collection, "new_groups_sensor"),
        target=dg.AssetSelection.assets(*names),
        minimum_interval_seconds=max(1, _interval_s() // 2),
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Reads every group once, as soon as it is indexed.",
    )


def build_new_documents_sensor(collection: str) -> dg.SensorDefinition:
    """Requests an indexing when there are new or changed documents under the sources."""

    @dg.sensor(
        name=named_for(collection, "new_documents_sensor"),
        target=dg.AssetSelection.assets(asset_key(collection, "work_index")),
        minimum_interval_seconds=_interval_s(),
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Lists the sources and requests work_index when there is something new.",
    )
    def new_documents_sensor(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource, sources: SourcesResource
    ) -> dg.SensorResult:
        settings = settings_from(WatchSettings, {}, prefix="watch_")
        named = sources.named()
        if not named:
            return dg.SensorResult(skip_reason="No source is named: set PDFOCR_SOURCES, one a line.")
        if unfinished_runs(context.instance, {COLLECTION_TAG: collection}):
            return dg.SensorResult(skip_reason="An indexing is on its way.", cursor=context.cursor)
        try:
            opened = workspace.open()
            memory = _Memory.load(context.cursor, named)
            known = _known.setdefault(opened.url, Known())
            if not known.refresh(opened, deadline=time.monotonic() + settings.max_seconds):
                return dg.SensorResult(skip_reason="Still reading the index.", cursor=context.cursor)
            look = look_for_new(
                known,
                named,
                memory.look,
                settings,
                opener=store_opener(sources.storage()),
                exclude=opened.url,
            )
        except PdfocrError as error:
            raise dg.Failure(str(error)) from error
        return _decide(context, collection, memory, look, len(named), settings)

    return new_documents_sensor


def _interval_s() -> int:
    return settings_from(WatchSettings, {}, prefix="watch_").interval_s


class _Memory:
    """What the cursor holds: how far the look has come, and since when there has been something new."""

    def __init__(self, sources: str, look: Look, since: float | None) -> None:
        self.sources, self.look, self.since = sources, look, since

    @classmethod
    def load(cls, cursor: str | None, named: list[str]) -> "_Memory":
        """Start anew where the cursor is missing, unreadable, or of other sources."""
        sources = hashlib.sha256("\n".join(named).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        try:
            data: dict[str, Any] = json.loads(cursor or "{}")
            if data.get("sources") == sources:
                return cls(sources, Look(**data["look"]), data["since"])
        except (ValueError, TypeError, KeyError):
            pass
        return cls(sources, Look(), None)

    def dump(self, look: Look, since: float | None) -> str:
        return json.dumps({"sources": self.sources, "look": look.to_json(), "since": since})


def _decide(
    context: dg.SensorEvaluationContext,
    collection: str,
    memory: _Memory,
    look: Look,
    sources: int,
    settings: WatchSettings,
) -> dg.SensorResult:
    now = time.time()
    since = (memory.since or now) if look.documents else memory.since
    if look.source < sources:
        return dg.SensorResult(skip_reason=f"Listing goes on after {look.after!r}.", cursor=memory.dump(look, since))
    if not look.documents:
        return dg.SensorResult(skip_reason="Nothing new.", cursor=memory.dump(Look(), None))
    wanted = settings_from(IndexSettings, {}).pages_per_group
    waited = now - (since or now)
    if look.pages < wanted and waited < settings.max_wait_s:
        return dg.SensorResult(
            skip_reason=f"{look.documents} new documents (about {look.pages} pages) wait for more, "
            f"for {settings.max_wait_s - waited:.0f} s at most.",
            cursor=memory.dump(Look(), since),
        )
    attempts = context.instance.get_run_records(
        dg.RunsFilter(tags={COLLECTION_TAG: collection, FOUND_TAG: look.digest}), limit=1000
    )
    if attempts and (reason := _no_more(attempts, now, settings)):
        return dg.SensorResult(skip_reason=reason, cursor=memory.dump(Look(), since))
    # The same find gives the same key, so that a tick that is evaluated twice requests one run.
    request = index_request(collection, f"{look.digest}-{len(attempts)}", **{FOUND_TAG: look.digest})
    context.log.info("%d new documents, the first is %s", look.documents, look.first)
    return dg.SensorResult(run_requests=[request], cursor=memory.dump(Look(), None))


def _no_more(attempts: Sequence[dg.RunRecord], now: float, settings: WatchSettings) -> str | None:
    """Why the same find is not indexed again, after the runs over it, the latest first."""
    last = attempts[0]
    if last.dagster_run.is_success:
        return "What is new was looked at and holds no document."
    if stopped_by := last.dagster_run.tags.get(STOPPED_TAG):
        return (
            f"The last indexing failed ({stopped_by}) and would fail again: see its run for the remedy, then "
            "materialize work_index."
        )
    ended = last.end_time or last.update_timestamp.timestamp()
    # Twice as long after each failure, so that a store that is away for days is not asked for days on end.
    pause = min(settings.retry_s * 2 ** min(len(attempts) - 1, 20), max(settings.retry_s, _LONGEST_PAUSE_S))
    if now - ended < pause:
        return f"The last indexing failed; the next one is tried in {pause - (now - ended):.0f} s."
    return None
