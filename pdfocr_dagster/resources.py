"""Resources: the settings for reading pages, the inference server. `storage` has the workspace and the sources.

Each is an adapter that turns configuration into objects of `pdfocr_core`. A field that is left out comes from its
`PDFOCR_*` environment variable when the run starts, and from the default of `pdfocr_core.settings` after that.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from pdfocr_core.session import Session
from pdfocr_core.settings import ReadSettings, RenderSettings, ServerSettings, StorageSettings
from pdfocr_core.telemetry import Telemetry
from pdfocr_dagster import local_run
from pdfocr_dagster.choices import ChoiceFields
from pdfocr_dagster.environment import settings_from, variable


def _given(resource: dg.ConfigurableResource[Any]) -> dict[str, Any]:
    return {name: getattr(resource, name) for name in type(resource).model_fields}


class PageSettings(ChoiceFields):
    """How pages are drawn and read. Every field has a variable PDFOCR_<FIELD>."""

    text_layer: str | None = Field(
        default=None,
        description="What a PDF's own text is used for: off, fallback (when the model fails) or prefer. Default: fallback.",
    )
    keep_margins: bool | None = Field(
        default=None, description="Keep page numbers and running heads (CPU engine, text layers). Default: false."
    )
    max_attempts: int | None = Field(
        default=None, description="Answers asked for one page before giving up. Default: 8."
    )
    max_page_error_rate: float | None = Field(
        default=None,
        description="Share (0 to 1) of failed and fallback pages that makes a document `failed`. Default: never.",
    )
    in_flight: int | None = Field(default=None, description="Pages in flight. Default: 0, the engine decides.")
    max_in_flight: int | None = Field(
        default=None, description="Pages in flight at most, where the engine decides. Default: 1024."
    )
    judge_first_pages: int | None = Field(
        default=None, description="First answers that are judged before more pages are sent; 0: none. Default: 20."
    )
    in_flight_bytes: int | None = Field(default=None, description="Bytes of pictures in flight. Default: 1 GiB.")
    temporary_bytes: int | None = Field(
        default=None, description="Bytes of disk for copies from archives and stores. Default: 8 GiB."
    )
    request_timeout_s: float | None = Field(default=None, description="Seconds for one answer. Default: 900.")
    page_deadline_s: float | None = Field(
        default=None, description="Seconds for all attempts of a page. Default: 7200."
    )
    document_deadline_s: float | None = Field(
        default=None, description="Seconds of work on one document. Default: 86400 (a day)."
    )
    server_patience_s: float | None = Field(
        default=None, description="Seconds that a run waits for a server that does not answer. Default: 900."
    )
    stop_grace_s: float | None = Field(
        default=None,
        description="Seconds that pages in flight have left when the machine is taken away (SIGTERM). Default: 10.",
    )
    checkpoint_interval_s: float | None = Field(
        default=None, description="Finished pages are on disk after this many seconds. Default: 5."
    )
    reuse: bool | None = Field(
        default=None, description="Take results committed under the same engine. Default: true; false reads again."
    )
    retry: list[str] | None = Field(
        default=None, description="Reasons whose documents and pages are read again in a done group."
    )
    render_workers: int | None = Field(default=None, description="Drawing processes. Default: 0, one per core.")
    longest_side_px: int | None = Field(
        default=None, description="Longest side of a page's picture, pixels. Default: 1288."
    )
    image_format: str | None = Field(default=None, description="jpeg or png. Default: jpeg.")
    page_render_timeout_s: float | None = Field(default=None, description="Seconds to draw one page. Default: 60.")
    render_memory_mb: int | None = Field(
        default=None, description="MiB that one drawing process may use. Default: 3072."
    )

    def settings(self) -> ReadSettings:
        """The settings with variables and defaults filled in."""
        given = _given(self)
        render = settings_from(
            RenderSettings, {**given, "workers": given["render_workers"] or variable("render_workers")}
        )
        return settings_from(ReadSettings, {**given, **self.chosen(), "render": render})


class InferenceServer(dg.ConfigurableResource["InferenceServer"]):
    """Which model reads and where it runs. It starts when the first page needs it and ends with the run.

    Every field has a variable PDFOCR_<FIELD>.
    """

    engine: str | None = Field(
        default=None,
        description="auto, vllm (this run starts it), cpu (this run starts it) or remote (server_urls). Default: auto.",
    )
    model: str | None = Field(default=None, description="A profile's name, a hub id or a local directory.")
    revision: str | None = Field(default=None, description="Revision of the weights at the hub.")
    server_urls: list[str] | None = Field(default=None, description="Base URLs, with /v1, of servers that run already.")
    api_key: str | None = Field(default=None, description="Bearer token for server_urls; give it as an EnvVar.")
    key_header: str | None = Field(
        default=None, description="The header that carries the key, bare unless it is Authorization (the default)."
    )
    headers: list[str] | None = Field(default=None, description="More headers for server_urls, as `Name: value`.")
    ca_bundle: str | None = Field(default=None, description="A PEM file with certificates to trust.")
    requests_per_minute: int | None = Field(
        default=None, description="Requests sent at most in a minute. Default: no limit."
    )
    tokens_per_minute: int | None = Field(
        default=None, description="Tokens, in and out, at most in a minute. Default: no limit."
    )
    vllm_args: list[str] | None = Field(default=None, description="More arguments for `vllm serve`.")
    vllm_program: str | None = Field(
        default=None, description="Path of the vllm program. Default: beside this Python, or on PATH."
    )
    cpu_model: str | None = Field(
        default=None, description="Of the CPU server: accurate, balanced, fast or a directory. Default: balanced."
    )
    cpu_workers: int | None = Field(default=None, description="Processes of the CPU server. Default: 0, one per core.")
    ready_timeout_s: float | None = Field(
        default=None, description="Seconds a starting server may load. Default: 1800."
    )
    restarts: int | None = Field(default=None, description="Starts of a dead server in one run. Default: 5.")
    stream: bool | None = Field(
        default=None,
        description="Stream answers and break off those that loop. Default: where many tokens come in one part.",
    )
    recycle_pages: int | None = Field(
        default=None, description="Start vLLM anew between groups after so many pages. Default: 0, never."
    )
    recycle_memory_mb: int | None = Field(
        default=None,
        description="Start vLLM anew between groups when it holds so many MiB of the host's memory. Default: 0, never.",
    )
    cache_dir: str | None = Field(
        default=None,
        description="Where weights from object stores are kept. Default: `pdfocr` in the user's cache folder.",
    )
    prompt_file: str | None = Field(
        default=None, description="A text file with a prompt to use instead of the profile's."
    )
    profiles_dir: str | None = Field(default=None, description="A folder with model profiles of your own.")
    accept_license: bool | None = Field(default=None, description="Needed for models whose licence restricts use.")
    price_in: float | None = Field(default=None, description="Price of a million tokens in. Default: 0.")
    price_out: float | None = Field(default=None, description="Price of a million tokens out. Default: 0.")
    price_gpu_hour: float | None = Field(default=None, description="Price of one GPU for an hour. Default: 0.")
    gpus: int | None = Field(default=None, description="GPUs that work at once, for the cost alone. Default: 1.")

    _stack: ExitStack | None = PrivateAttr(default=None)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["InferenceServer"]:  # noqa: ARG002
        """Ends whatever the run started, however the run ends."""
        with ExitStack() as stack:
            self._stack = stack
            yield self

    def settings(self) -> ServerSettings:
        """The settings with variables and defaults filled in."""
        return settings_from(ServerSettings, _given(self))

    def session(self, read: ReadSettings, sources: StorageSettings | None = None) -> Session:
        """Everything that reads pages. Inside `pdfocr run` the server is shared by all of its runs."""
        current = local_run.current()
        telemetry = Telemetry() if current is None else current.telemetry
        server = self.settings()
        if current is not None:
            return current.stack.enter_context(
                Session(read, server, telemetry, servers=current.servers, sources=sources)
            )
        if self._stack is None:
            raise RuntimeError("a session needs the resource to be entered by Dagster")
        return self._stack.enter_context(Session(read, server, telemetry, sources=sources))
