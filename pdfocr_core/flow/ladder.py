"""One page from its picture to its record: ask, judge, and climb the retry ladder by reason.

the server's own trouble     waited out by the client; costs no attempt
refused (400)                a smaller picture
wrong way up                 turned counter-clockwise by what the answer says, added up
bad form, length, repetition the next temperature
all spent                    the PDF's text layer when it is sound, else a failed page in its place
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from pdfocr_core.engines.engine import Engine
from pdfocr_core.engines.judge import judge
from pdfocr_core.engines.page import ParsedPage
from pdfocr_core.engines.repetition import LOOP_SEEN
from pdfocr_core.errors import PageError, Reason
from pdfocr_core.flow.form import RequestForm
from pdfocr_core.layout.placed import mean_score, placed, turned
from pdfocr_core.records import Attempt, Box, Method, PageRecord, PageStatus, TextLine
from pdfocr_core.rendering.model import RenderedPage, TextLayerText
from pdfocr_core.serving.answers import Answer
from pdfocr_core.settings import ReadSettings

__all__ = ["Asker", "PageToRead", "figures_of", "lines_of_layer", "now", "read_page"]

_SMALLER = 0.7  # of the longest side, after a refusal
_SMALLEST_PX = 400
# White added to very thin pages has moved everything on them.
_PADDED = "padded"
_EMPTY_ANSWERS = 2  # after this many, a page is believed to hold no text


class Asker(Protocol):
    """Sends a request body; waits out the server's own trouble."""

    async def ask(self, body: bytes) -> Answer:
        """One answer, or PageError(REFUSED_BY_SERVER), or ServerUnavailable."""
        ...


@dataclass(slots=True)
class PageToRead:
    """A page on its way to the model.

    Attributes:
        render: draws the page again: (degrees counter-clockwise, longest side in pixels) to a picture.
        text_layer: reads the PDF's own text of the page, which costs, so only when the model has failed; None where
            there is none that may be used.
        parse_s: what it took to find out what its answers mean.
    """

    document_id: str
    content_id: str
    picture: RenderedPage
    longest_side_px: int
    render: Callable[[int, int], Awaitable[RenderedPage]]
    text_layer: Callable[[], Awaitable[TextLayerText | None]]
    started_at: str
    attempts: list[Attempt] = field(default_factory=list)
    parse_s: float = 0.0


def figures_of(picture: RenderedPage) -> list[Box]:
    """The pictures that lie on the page by themselves, where they were asked for."""
    boxes = (tuple(round(value, 5) for value in figure) for figure in picture.figures)
    return [Box(label="image", x0=x0, y0=y0, x1=x1, y1=y1) for x0, y0, x1, y1 in boxes]


def lines_of_layer(layer: TextLayerText, picture: RenderedPage, rotation: int = 0) -> list[TextLine] | None:
    """A text layer's lines where they stand on the picture, turned by `rotation`; None where that cannot be said."""
    if _PADDED in picture.flags:
        return None
    return [turned(line, rotation) for line in placed(layer.lines, 1.0, 1.0)]


def now() -> str:
    """UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


async def read_page(
    page: PageToRead,
    *,
    asker: Asker,
    served_model: str,
    engine: Engine,
    settings: ReadSettings,
    on_first: Callable[[Reason | None, str], None] | None = None,
    form: RequestForm | None = None,
) -> PageRecord:
    """Read one page. Always returns a record, unless the server is gone or the configuration is wrong.

    `on_first` is told what the first answer is worth, with its words; what it raises ends the reading. Pages that are
    read by the same server share a `form`, so that each of them knows what it has refused.

    Raises:
        ServerUnavailable: see `Asker`.
        ConfigurationError: see `Asker`.
    """
    form = form or RequestForm(engine)
    climb = _Climb(page, engine, settings, on_first)
    started = time.monotonic()
    deadline = started + settings.page_deadline_s
    while climb.record is None and len(page.attempts) < climb.max_attempts and time.monotonic() < deadline:
        sent = form.engine
        body = form.body(climb.picture, temperature=climb.temperature, served_model=served_model)
        try:
            answer = await asker.ask(body)
        except PageError as error:
            if form.gives_up(sent, error.detail):
                continue
            climb.tell(error.reason, error.detail)
            climb.note(error.reason, None, error.detail)
        else:
            form.look_at(sent, answer.text, answer.finish_reason)
            await climb.take(answer)
        await climb.draw_again()
    if climb.record is None and time.monotonic() >= deadline:
        allows = f"page_deadline_s allows the page {settings.page_deadline_s:g} s"
        climb.last_reason = Reason.PAGE_DEADLINE
        climb.detail = f"{allows}; {time.monotonic() - started:.1f} s were used."
    return climb.record or await climb.give_up()


class _Climb:
    """The state of one page on the ladder."""

    def __init__(
        self,
        page: PageToRead,
        engine: Engine,
        settings: ReadSettings,
        on_first: Callable[[Reason | None, str], None] | None,
    ) -> None:
        self.page, self.engine, self.settings = page, engine, settings
        self._on_first = on_first
        self.picture = page.picture
        self.record: PageRecord | None = None
        self.last_reason: Reason = Reason.INTERNAL_ERROR
        self.detail = ""
        self._temperatures = engine.temperatures
        self._step = 0  # answers that were bad by themselves; a turn of the page is not one
        self._rotation = 0
        self._seen = {0}
        self._empty = 0
        self._longest_side_px = page.longest_side_px
        self._drawn = (0, page.longest_side_px)
        self._doubtful: tuple[Answer, ParsedPage] | None = None

    @property
    def temperature(self) -> float:
        return self._temperatures[min(self._step, len(self._temperatures) - 1)]

    @property
    def max_attempts(self) -> int:
        """An engine without randomness gives the same bad answer again: only turns and refusals are worth a repeat."""
        if self.engine.deterministic and self._step:
            return len(self.page.attempts)
        return self.settings.max_attempts

    async def take(self, answer: Answer) -> None:
        """Judge one answer: accept it, or note why not."""
        started = time.perf_counter()
        try:
            parsed = self.engine.parse(answer.text, width=self.picture.width, height=self.picture.height)
        except PageError as error:
            # A loop may leave the form unfinished; the loop is what is wrong with it.
            fault = Reason.REPETITION if answer.finish_reason == LOOP_SEEN else error.reason
            self.tell(fault, answer.text)
            self.note(fault, answer, error.detail)
            return
        finally:
            self.page.parse_s += time.perf_counter() - started
        turn = 0 if parsed.is_rotation_valid else parsed.rotation_correction % 360
        if turn:
            if parsed.text and answer.finish_reason != LOOP_SEEN:
                self._doubtful = (answer, parsed)
            target = (self._rotation + turn) % 360
            if target not in self._seen:
                self._seen.add(target)
                self.note(Reason.WRONG_ROTATION, answer, f"asks for a turn of {turn} degrees", step=0)
                self._rotation = target
                return
            if not parsed.text:
                self.note(Reason.WRONG_ROTATION, answer, "asks for a turn that was tried")
                return
        reason = judge(answer.text, parsed, answer.finish_reason)
        self.tell(reason, answer.text)
        if reason is Reason.EMPTY_ANSWER:
            self._empty += 1
            if await self._no_text_believed():
                self._accept(answer, parsed, ["no_text_found"])
                return
        if reason is not None:
            self.note(reason, answer)
            return
        self._accept(answer, parsed, ["rotation_unsettled"] if turn else [])

    def tell(self, reason: Reason | None, words: str) -> None:
        """Tell of the first answer, once."""
        if self._on_first is not None:
            on_first, self._on_first = self._on_first, None
            on_first(reason, words)

    async def _no_text_believed(self) -> bool:
        """An empty answer is usually right: believed once it is repeated, unless the PDF itself has letters there."""
        if not self.engine.deterministic and self._empty < _EMPTY_ANSWERS:
            return False
        return await self._sound_layer() is None

    async def _sound_layer(self) -> TextLayerText | None:
        layer = await self.page.text_layer()
        return layer if layer is not None and layer.sound and layer.characters else None

    def note(self, reason: Reason, answer: Answer | None, detail: str = "", *, step: int = 1) -> None:
        """Write down an attempt that did not serve, and where it leads."""
        self.last_reason, self.detail = reason, detail
        self.page.attempts.append(self._attempt(reason, answer, detail))
        self._step += step
        if reason is Reason.REFUSED_BY_SERVER:
            self._longest_side_px = max(_SMALLEST_PX, int(self._longest_side_px * _SMALLER))

    async def draw_again(self) -> None:
        """Draw the page anew if the last answer asked for another picture."""
        wanted = (self._rotation, self._longest_side_px)
        if self.record is None and wanted != self._drawn:
            try:
                picture = await self.page.render(*wanted)
            except PageError as error:
                self.note(error.reason, None, error.detail)
                return
            self.picture, self._drawn = picture, wanted

    async def give_up(self) -> PageRecord:
        """The end of the ladder: a doubtful answer, the text layer, or a failed page."""
        if self._doubtful is not None:
            self._accept(*self._doubtful, flags=["rotation_unsettled"], count=False)
        if self.record is not None:
            return self.record
        layer = await self._sound_layer()
        if layer is not None:
            record = self._finish(PageStatus.FALLBACK, Method.TEXT_LAYER, reason=self.last_reason, text=layer.markdown)
            if not self.settings.keep_lines:
                return record
            return record.model_copy(update={"lines": lines_of_layer(layer, self.picture, self._drawn[0])})
        return self._finish(PageStatus.FAILED, Method.NONE, reason=self.last_reason)

    def _accept(self, answer: Answer, parsed: ParsedPage, flags: list[str], *, count: bool = True) -> None:
        if count:
            self.page.attempts.append(self._attempt(None, answer, ""))
        record = self._finish(PageStatus.OK, Method.MODEL, text=parsed.text)
        self.record = record.model_copy(
            update={
                "raw": answer.text,
                "finish_reason": answer.finish_reason,
                "language": parsed.language,
                "is_rotation_valid": parsed.is_rotation_valid,
                "rotation_asked": parsed.rotation_correction,
                "is_table": parsed.is_table,
                "is_diagram": parsed.is_diagram,
                "boxes": [*parsed.boxes, *(figures_of(self.picture) if self.engine.deterministic else ())],
                "lines": self._lines_of(answer),
                "confidence": mean_score(answer.lines),
                "flags": sorted({*record.flags, *flags, *parsed.flags}),
            }
        )

    def _lines_of(self, answer: Answer) -> list[TextLine] | None:
        wanted = self.settings.keep_lines and answer.lines and _PADDED not in self.picture.flags
        return list(answer.lines) if wanted else None

    def _attempt(self, reason: Reason | None, answer: Answer | None, detail: str) -> Attempt:
        return Attempt(
            reason=reason,
            temperature=self.temperature,
            rotation=self._drawn[0],
            prompt_tokens=answer.prompt_tokens if answer else 0,
            completion_tokens=answer.completion_tokens if answer else 0,
            seconds=round(answer.seconds, 3) if answer else 0.0,
            detail=detail[:500],
        )

    def _finish(
        self, status: PageStatus, method: Method, *, reason: Reason | None = None, text: str = ""
    ) -> PageRecord:
        page, picture = self.page, self.picture
        return PageRecord(
            document_id=page.document_id,
            content_id=page.content_id,
            page=picture.page,
            status=status,
            reason=reason,
            detail=self.detail[:500] if reason else "",
            flags=sorted(picture.flags),
            text=text,
            method=method,
            attempts=page.attempts,
            rotation_applied=self._drawn[0],
            image_width=picture.width,
            image_height=picture.height,
            image_format=picture.format,
            model=self.engine.model,
            engine_id=self.engine.engine_id,
            started_at=page.started_at,
            finished_at=now(),
        )
