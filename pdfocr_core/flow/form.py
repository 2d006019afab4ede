"""How requests are written for the server at hand: what it does not know is left out from then on."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from pdfocr_core.engines.engine import Engine
from pdfocr_core.engines.postprocess.front_matter import FRONT_MATTER_REGEX
from pdfocr_core.rendering.model import RenderedPage
from pdfocr_core.serving.abilities import delivery, request_fields
from pdfocr_core.serving.endpoint import Endpoint
from pdfocr_core.serving.server import InferenceServer

__all__ = ["RequestForm", "form_for"]

logger = logging.getLogger("pdfocr.client")

# The words by which servers name, in a refusal, what a page's request can do without.
_STRUCTURE = re.compile(r"structured[ _]?output|guided[ _]|response_format|grammar|regex", re.IGNORECASE)
_STREAM = re.compile(r"stream_|include_usage|usage_stats|\bstreaming\b|[\"'`]stream[\"'`]", re.IGNORECASE)
_FORM = re.compile(FRONT_MATTER_REGEX)
_HEADER_CHARACTERS = 400


class RequestForm:
    """Shared by all pages of a run.

    Args:
        engine: whose requests are written.

    Attributes:
        engine: the same with what the server has refused left out. It has the same identity: both ask for the same text.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def body(self, picture: RenderedPage, *, temperature: float, served_model: str) -> bytes:
        """The finished request for one page."""
        return self.engine.request(picture.image, picture.format, temperature=temperature, served_model=served_model)

    def gives_up(self, sent: Engine, said: str) -> bool:
        """Whether a refusal is of something that no request needs: that is left out from now on, so ask again.

        Args:
            sent: the engine by which the refused request was written.
            said: the server's words.
        """
        if sent.structured and _STRUCTURE.search(said):
            if self.engine.structured:
                self.engine = self.engine.without_structure()
                logger.warning("The server refuses structured output, so it is read without. It said: %s", said)
            return True
        if sent.delivery and _STREAM.search(said):
            if self.engine.delivery:
                self.engine = self.engine.delivered({})
                logger.warning("The server refuses to stream, so answers are waited for whole. It said: %s", said)
            return True
        return False

    def look_at(self, sent: Engine, text: str, finish_reason: str | None) -> None:
        """Notice a server that takes the wish for structured output and does not fulfil it."""
        if not (sent.structured and self.engine.structured and finish_reason == "stop"):
            return
        if not _FORM.match(text[:_HEADER_CHARACTERS]):
            self.engine = self.engine.without_structure()
            logger.warning("The server ignores structured output: answers may lack their front matter.")


def form_for(
    engine: Engine,
    server: InferenceServer,
    endpoints: Sequence[Endpoint],
    *,
    stream: bool | None,
    verify: bool | str = True,
) -> RequestForm:
    """The form for a server, by what it says that it knows; asks it, so not for the event loop.

    Args:
        engine: that reads.
        server: whose endpoints they are.
        endpoints: where it answers.
        stream: as the user set it; see `delivery`.
        verify: TLS verification.
    """
    fields = request_fields(endpoints, verify)
    # Our own server is a vLLM, whatever it tells; of others nothing is asked that they may not know.
    unknown = not server.restartable if fields is None else "structured_outputs" not in fields
    if engine.structured and unknown:
        engine = engine.without_structure()
        logger.info("The server does not offer structured output; answers are read as they come.")
    return RequestForm(engine.delivered(delivery(stream, managed=server.streams_in_parts, fields=fields)))
