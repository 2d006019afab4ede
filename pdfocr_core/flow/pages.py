"""From an open document to pages that are ready for the model, or to records of pages that need none."""

from __future__ import annotations

from collections.abc import Sequence

from pdfocr_core.engines.engine import Engine
from pdfocr_core.errors import PageError
from pdfocr_core.flow.documents import OpenDocument
from pdfocr_core.flow.ladder import PageToRead, figures_of, lines_of_layer, now
from pdfocr_core.records import Attempt, Method, PageRecord, PageStatus
from pdfocr_core.rendering.model import RenderedPage, TextLayerText
from pdfocr_core.rendering.pool import RenderPool
from pdfocr_core.settings import ReadSettings, TextLayer

__all__ = ["PageMaker"]


class PageMaker:
    """Draws pages in the worker processes and decides which of them the model has to see."""

    def __init__(self, pool: RenderPool, engine: Engine, settings: ReadSettings) -> None:
        self._pool, self._engine, self._settings = pool, engine, settings
        self._longest_side = settings.render.longest_side_px
        # Models mark figures themselves; of what reads letters alone, the page's own pictures say where they are.
        self._want_figures = engine.deterministic or settings.text_layer is TextLayer.PREFER

    async def make(self, opened: OpenDocument, numbers: Sequence[int]) -> list[PageRecord | PageToRead]:
        """Draw some pages of one document; for each its record when no model is needed, else the page to be read."""
        started_at = now()
        want_text = self._settings.text_layer is TextLayer.PREFER
        try:
            async with opened.clock.limit():
                pages = await self._draw(
                    opened,
                    numbers,
                    0,
                    self._longest_side,
                    want_text=want_text,
                    want_figures=self._want_figures,
                )
        except PageError as error:
            return [self.failed(opened, number, error, started_at) for number in numbers]
        made: list[PageRecord | PageToRead] = []
        for number, page in zip(numbers, pages, strict=True):
            if isinstance(page, PageError):
                made.append(self.failed(opened, number, page, started_at))
            else:
                made.append(self._without_model(opened, page, started_at) or self._to_read(opened, page, started_at))
        return made

    def failed(
        self, opened: OpenDocument, number: int, error: PageError, started_at: str, attempts: Sequence[Attempt] = ()
    ) -> PageRecord:
        """The record of a page that could not be drawn or read."""
        return PageRecord(
            document_id=opened.document.document_id,
            content_id=opened.content_id,
            page=number,
            status=PageStatus.FAILED,
            reason=error.reason.value,
            detail=error.detail[:500],
            method=Method.NONE,
            attempts=list(attempts),
            engine_id=self._engine.engine_id,
            model=self._engine.model,
            started_at=started_at,
            finished_at=now(),
        )

    async def _draw(
        self,
        opened: OpenDocument,
        numbers: Sequence[int],
        rotation: int,
        longest_side: int,
        *,
        want_text: bool,
        want_figures: bool = False,
    ) -> list[RenderedPage | PageError]:
        return await self._pool.render(
            opened.path,
            opened.kind,
            numbers,
            rotation=rotation,
            longest_side=longest_side,
            want_text=want_text,
            want_figures=want_figures,
            want_lines=self._settings.keep_lines,
            keep_margins=self._settings.keep_margins,
            password=opened.password,
        )

    def _without_model(self, opened: OpenDocument, page: RenderedPage, started_at: str) -> PageRecord | None:
        """The record of a page that is blank or has a text layer that is preferred; None for any other."""
        layer = page.text
        usable = layer is not None and layer.sound and layer.characters > 0
        # A page without ink but with letters has fonts that this machine lacks: its letters are all there is.
        drawn_in_vain = "blank_render" in page.flags and self._settings.text_layer is not TextLayer.OFF
        text, status, method, lines = "", PageStatus.BLANK, Method.BLANK, None
        if layer is not None and usable and (drawn_in_vain if page.blank else self._prefers(layer)):
            text, status, method = layer.markdown, PageStatus.OK, Method.TEXT_LAYER
            lines = lines_of_layer(layer, page) if self._settings.keep_lines else None
        elif not page.blank:
            return None
        return PageRecord(
            document_id=opened.document.document_id,
            content_id=opened.content_id,
            page=page.page,
            status=status,
            flags=sorted(page.flags),
            text=text,
            boxes=figures_of(page),
            lines=lines,
            method=method,
            image_width=page.width,
            image_height=page.height,
            image_format=page.format,
            engine_id=self._engine.engine_id,
            model=self._engine.model,
            started_at=started_at,
            finished_at=now(),
        )

    def _prefers(self, layer: TextLayerText) -> bool:
        return self._settings.text_layer is TextLayer.PREFER and not layer.over_image

    def _to_read(self, opened: OpenDocument, page: RenderedPage, started_at: str) -> PageToRead:
        async def render(rotation: int, longest_side: int) -> RenderedPage:
            (drawn,) = await self._draw(opened, [page.page], rotation, longest_side, want_text=False)
            if isinstance(drawn, PageError):
                raise drawn
            return drawn

        async def text_layer() -> TextLayerText | None:
            if self._settings.text_layer is TextLayer.OFF or opened.kind != "pdf":
                return None
            if page.text is not None:
                return page.text
            (drawn,) = await self._draw(opened, [page.page], 0, self._longest_side, want_text=True)
            return None if isinstance(drawn, PageError) else drawn.text

        return PageToRead(
            document_id=opened.document.document_id,
            content_id=opened.content_id,
            picture=page,
            longest_side_px=self._longest_side,
            render=render,
            text_layer=text_layer,
            started_at=started_at,
        )
